"""What did recommendations bring, and more or less than before?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.core.clock import DAY_MS
from productrecs.core.report import Asked
from productrecs.features.insights.attribution.attributor import Attributor
from productrecs.features.insights.impact.attribution import attribution_report
from productrecs.features.insights.impact.widgets import widgets_report
from productrecs.records.orders.order import NewLine
from tests.features.insights.shop import NOON, Shop, click, impression

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.storage.database import Database


def test_a_period_stands_beside_as_many_days_before(
    database: Database, tmp_path: Path
) -> None:
    shop = Shop(database, tmp_path)
    for number, (days, price) in enumerate(((9, 20.0), (1, 30.0), (0, 50.0))):
        at, shopper = NOON - days * DAY_MS, f"s_{number}"
        shop.send(impression("tent", shopper), click("tent", shopper), at=at)
        shop.send(click("mug", shopper), at=at)
        shop.order(str(number), NewLine("tent", 1, price), session=shopper, at=at + 1)
        shop.order(f"{number}+", NewLine("sack", 1, 10.0), session="s_9", at=at + 1)
    Attributor(database, tmp_path).catch_up(shop.store)

    made = attribution_report(database, shop.store, Asked("2026-02-24", "2026-03-01"))

    told = {one.definition.name: one.value for one in made.figures}
    assert (told["revenue"], told["revenue_before"]) == (80.0, 20.0)
    assert (told["conversion"], told["conversion_before"]) == (0.5, 0.5)
    assert told["order_value"] == 25.0
    assert "clicked_before" not in told


def test_a_shopper_who_comes_again_counts_once_in_each_list_and_in_all(
    database: Database, tmp_path: Path
) -> None:
    shop = Shop(database, tmp_path)
    for days, shopper in ((2, "s_1"), (1, "s_1"), (0, "s_2")):
        at = NOON - days * DAY_MS
        shop.send(impression("tent", shopper), impression("mug", shopper), at=at)
    shop.send(impression("tent", "s_1", widget="fbt"), click("tent", "s_1", widget="fbt"))
    Attributor(database, tmp_path).catch_up(shop.store)

    period = Asked("2026-02-24", "2026-03-01", by=("widget",))
    made = widgets_report(database, shop.store, period)

    names = [column.name for column in made.columns]
    rows = [dict(zip(names, row, strict=True)) for row in made.rows]
    assert [(row["widget"], row["shoppers"], row["shopper_rate"]) for row in rows] == [
        ("recs", 2, 0.0),
        ("fbt", 1, 1.0),
    ]
    assert [one.value for one in made.figures] == [2, 1, 0.5]
    by_position = widgets_report(database, shop.store, Asked("2026-02-24", "2026-03-01"))
    assert "shoppers" not in {column.name for column in by_position.columns}
    assert [one.value for one in by_position.figures] == [2, 1, 0.5]
