"""What did recommendations bring, and more or less than before?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.core.clock import DAY_MS
from productrecs.core.report import Asked
from productrecs.features.insights.attribution.attributor import Attributor
from productrecs.features.insights.impact.attribution import attribution_report
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
