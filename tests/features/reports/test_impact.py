"""Impact reports: sales after recommendations, and the change from before."""

from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.report import Report, ReportQuery
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.reports.impact.attribution_report import attribution_report
from productrecs.features.reports.impact.sales_reports import (
    attributed_items_report,
    read_look_spot_sums,
    widget_funnel_report,
)
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from tests.features.reports.shop import NOON, ReportedStore, cart, click, impression


def test_a_period_is_compared_with_as_many_days_before(
    database: Database, tmp_path: Path
) -> None:
    shop = ReportedStore(database, tmp_path)
    for number, (days, price) in enumerate(((9, 20.0), (1, 30.0), (0, 50.0))):
        at, shopper = NOON - days * DAY_MS, f"s_{number}"
        shop.send(impression("tent", shopper), click("tent", shopper), at=at)
        shop.send(click("mug", shopper), at=at)
        shop.order(str(number), NewOrderLine("tent", 1, price), session=shopper, at=at + 1)
        shop.order(f"{number}+", NewOrderLine("sack", 1, 10.0), session="s_9", at=at + 1)
    Attributor(database, tmp_path).catch_up(shop.store)

    made = attribution_report(database, shop.store, ReportQuery("2026-02-24", "2026-03-01"))

    figures = {one.definition.name: one.value for one in made.figures}
    assert (figures["revenue"], figures["revenue_before"]) == (80.0, 20.0)
    assert (figures["conversion"], figures["conversion_before"]) == (0.5, 0.5)
    assert figures["order_value"] == 25.0
    assert "clicked_before" not in figures


def test_a_shopper_who_comes_again_counts_once_in_each_list_and_in_all(
    database: Database, tmp_path: Path
) -> None:
    shop = ReportedStore(database, tmp_path)
    for days, shopper in ((2, "s_1"), (1, "s_1"), (0, "s_2")):
        at = NOON - days * DAY_MS
        shop.send(impression("tent", shopper), impression("mug", shopper), at=at)
    shop.send(impression("tent", "s_1", widget="fbt"), click("tent", "s_1", widget="fbt"))
    Attributor(database, tmp_path).catch_up(shop.store)

    period = ReportQuery("2026-02-24", "2026-03-01", by=("widget",))
    made = widget_funnel_report(database, shop.store, period)

    names = [column.name for column in made.columns]
    rows = [dict(zip(names, row, strict=True)) for row in made.rows]
    assert [(row["widget"], row["shoppers"], row["shopper_rate"]) for row in rows] == [
        ("recs", 2, 0.0),
        ("fbt", 1, 1.0),
    ]
    assert [one.value for one in made.figures] == [2, 1, 0.5]
    by_position = widget_funnel_report(
        database, shop.store, ReportQuery("2026-02-24", "2026-03-01")
    )
    assert "shoppers" not in {column.name for column in by_position.columns}
    assert [one.value for one in by_position.figures] == [2, 1, 0.5]


def test_positions_are_listed_in_their_order(database: Database, tmp_path: Path) -> None:
    shop = ReportedStore(database, tmp_path)
    for place, price in ((2, 50.0), (10, 30.0), (1, 10.0)):
        shop.send(click(f"item-{place}", position=place))
        line = NewOrderLine(f"item-{place}", 1, price)
        shop.order(str(place), line, session="s_1", at=NOON + 1)
    Attributor(database, tmp_path).catch_up(shop.store)

    query = ReportQuery("2026-02-24", "2026-03-01", by=("position",))
    made = attribution_report(database, shop.store, query)

    assert [row[0] for row in made.rows] == [1, 2, 10]


PERIOD = ReportQuery("2026-02-24", "2026-03-01", by=("widget",))


def table(made: Report) -> list[dict[str, object]]:
    """Return the rows of a report by the names of its columns."""
    names = [column.name for column in made.columns]
    return [dict(zip(names, row, strict=True)) for row in made.rows]


def test_sales_after_a_click_are_separate_from_sales_after_an_impression(
    database: Database, tmp_path: Path
) -> None:
    shop = ReportedStore(database, tmp_path)
    shop.send(*(impression("tent", who) for who in ("s_1", "s_2")), click("tent", "s_1"))
    shop.send(cart("tent", "s_1"), cart("tent", "s_2"), cart("tent", "s_2"), at=NOON + 1)
    shop.order("1", NewOrderLine("tent", 1, 30.0), session="s_1", at=NOON + 2)
    shop.order("2", NewOrderLine("tent", 2, 20.0), session="s_2", at=NOON + 2)
    shop.order("3", NewOrderLine("mug", 1, 10.0), session="s_2", at=NOON + 2)
    Attributor(database, tmp_path).catch_up(shop.store)

    made = attribution_report(database, shop.store, PERIOD)
    figures = {one.definition.name: one.value for one in made.figures}
    parts = ("", "_clicked", "_seen")
    assert [figures[f"carts{part}"] for part in parts] == [3, 1, 2]
    assert [figures[f"orders{part}"] for part in parts] == [2, 1, 1]
    assert [figures[f"revenue{part}"] for part in parts] == [70.0, 30.0, 40.0]
    assert [figures[f"revenue_share{part}"] for part in parts] == [0.875, 0.375, 0.5]

    totals = {"attribution": ("carts", "sales"), "widgets": ("carted", "bought")}
    widgets = widget_funnel_report(database, shop.store, PERIOD)
    items = attributed_items_report(database, shop.store, PERIOD)
    in_one_widget = replace(PERIOD, where=(("widget", "recs"),))
    filtered_items = attributed_items_report(database, shop.store, in_one_widget)
    for report in (made, widgets, items, filtered_items):
        (row,) = table(report)
        carts, lines = totals.get(report.name, ("carts", "sales"))
        assert [row[f"{carts}{part}"] for part in parts] == [3, 1, 2]
        assert [row[f"{lines}{part}"] for part in parts] == [2, 1, 1]
        assert [row[f"revenue{part}"] for part in parts] == [70.0, 30.0, 40.0]


@pytest.mark.parametrize(
    ("seen", "widget", "credited"),
    [
        (["mug", "tent"], "look", False),  # the tent's own page, and a look of it
        (["tent", "mug"], "look", True),  # the tent in the look of another product's page
        ([], "look", True),
        (["tent"], "recs", True),  # the interface's rule, to the letter
    ],
)
def test_the_product_of_the_page_that_a_look_shows_is_no_recommendation(
    database: Database, tmp_path: Path, seen: list[str], widget: str, *, credited: bool
) -> None:
    shop = ReportedStore(database, tmp_path)
    for item in seen:
        shop.send(NewEvent(EventKind.DETAIL_PAGE_VIEW, item, session_id="s_1"), at=NOON)
    shop.send(impression("tent", widget=widget), at=NOON + 1)
    shop.order("1", NewOrderLine("tent", 1, 30.0), session="s_1", at=NOON + 2)
    Attributor(database, tmp_path).catch_up(shop.store)

    figures = attribution_report(database, shop.store, PERIOD).figures
    values = {one.definition.name: one.value for one in figures}
    assert (values["shown"], values["orders"]) == (int(credited), int(credited))


def test_what_products_do_is_counted_in_the_look_that_showed_them_only(
    database: Database, tmp_path: Path
) -> None:
    shop, at = ReportedStore(database, tmp_path), {"widget": "look", "source": "look"}
    seen = [impression("tent", f"s_{n}", **at, term="7") for n in range(3)]
    shop.send(*seen, impression("mug", "s_1", **at, term="7"), at=NOON)
    shop.send(click("tent", "s_1", **at, term="7"), at=NOON + 1)
    shop.send(impression("tent", "s_4", **at, term="8"), at=NOON + 1)
    shop.send(impression("tent", "s_5", **at), at=NOON + 1)  # an older script names none
    shop.send(click("tent", "s_2", widget="recs"), at=NOON + 1)
    shop.send(impression("mug", "s_1", **at, term="8"), at=NOON - 9 * DAY_MS)
    for number, session in enumerate(("s_1", "s_2", "s_4", "s_5")):
        sold = NewOrderLine("tent", 1, 30.0 + number)
        shop.order(f"{number}", sold, session=session, at=NOON + 2)
    Attributor(database, tmp_path).catch_up(shop.store)
    period = ReportQuery("2026-02-24", "2026-03-01")

    found = read_look_spot_sums(database, shop.store, period)
    assert found == {
        ("7", "tent"): (3, 1, 0, 1, 30.0, 30.0),
        ("7", "mug"): (1, 0, 0, 0, 0.0, 0.0),
        ("8", "tent"): (1, 0, 0, 1, 32.0, 0.0),
    }
