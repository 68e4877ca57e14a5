"""Health report: events by the hour, and the share with unknown products."""

from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.report import Report, ReportQuery, ReportValue
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.reports.impact.sales_reports import widget_funnel_report
from productrecs.features.reports.tracking_health.repository import (
    RefusedIdentityCall,
    count_refused_identities_and_delete_old,
)
from productrecs.features.reports.tracking_health.tracking_health_report import (
    recent_tracking_health_report,
)
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.shopper_identity import IdentityVerdict
from tests.features.reports.shop import NOON, ReportedStore, buy, cart, click, impression


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    return ReportedStore(database, tmp_path)


def counted(shop: ReportedStore) -> Report:
    Attributor(shop.database, shop.folder).catch_up(shop.store)
    return recent_tracking_health_report(shop.database, shop.store, ASKED.limit, NOON)


def figures(report: Report) -> dict[str, ReportValue]:
    return {one.definition.name: one.value for one in report.figures}


ASKED = ReportQuery("2026-02-01", "2026-03-01")


def test_events_are_counted_by_the_hour(shop: ReportedStore) -> None:
    shop.send(click("tent"), impression("tent"), cart("tent"), at=NOON)
    shop.send(impression("tent"), impression("stove"), at=NOON - 2 * HOUR_MS)
    shop.send(click("tent"), at=NOON - 7 * DAY_MS)
    shop.send(click("tent"), at=NOON, imported=True)

    made = counted(shop)

    names = [column.name for column in made.columns]
    rows = [dict(zip(names, row, strict=True)) for row in made.rows]
    assert len(rows) == 48
    assert rows[0]["hour"] == "2026-03-01T12:00:00.000Z"
    assert (rows[0]["events"], rows[0]["rec-click"], rows[0]["add-to-cart"]) == (3, 1, 1)
    assert [row["events"] for row in rows[1:4]] == [0, 1, 0]
    found = figures(made)
    assert (found["events_24h"], found["events_week_ago"]) == (4, 1)
    assert found["change"] == 3.0


def test_unknown_products_and_lines_without_orders_are_shares(shop: ReportedStore) -> None:
    shop.send(click("tent"), click("tent"), buy("tent"), buy("tent", order_id="A-1"))

    made = counted(shop)

    assert figures(made)["unknown_items"] == 1.0
    assert figures(made)["lines_without_order"] == 0.5
    assert figures(made)["orders"] == 2
    assert "'tent' (2)" in made.notes[0]


def test_many_refused_identities_are_an_issue_until_the_next_day(
    shop: ReportedStore,
) -> None:
    def refuse(check: IdentityVerdict, calls: int, at_ms: int) -> None:
        one = RefusedIdentityCall(shop.store.store_id, check, at_ms)
        with shop.database.transaction() as transaction:
            count_refused_identities_and_delete_old(transaction, [one] * calls)

    def issues(now_ms: int) -> list[str]:
        found = find_tracking_issues(shop.database, shop.store, now_ms)
        return [one.message for one in found if one.code == "identities_refused"]

    refuse(IdentityVerdict.WRONG, 4, NOON)
    refuse(IdentityVerdict.EXPIRED, 15, NOON - DAY_MS)
    refuse(IdentityVerdict.EXPIRED, 90, NOON - 40 * DAY_MS)
    assert (issues(NOON), figures(counted(shop))["identities_refused"]) == ([], 19)
    refuse(IdentityVerdict.WRONG, 1, NOON)

    issue = (
        "20 calls of today and yesterday carry a signed identity that is refused, mostly "
        "since it has expired: they count as unsigned"
    )
    assert issues(NOON) == [issue]
    assert issues(NOON + DAY_MS) == []


def test_buyers_before_the_first_impression_say_nothing_about_widgets(
    shop: ReportedStore,
) -> None:
    def issues() -> list[str]:
        Attributor(shop.database, shop.folder).catch_up(shop.store)
        found = find_tracking_issues(shop.database, shop.store, NOON + HOUR_MS)
        return [one.code for one in found if one.code == "identities_differ"]

    before = [buy("tent", f"c-{number}") for number in range(25)]
    shop.send(*before, at=NOON - 2 * DAY_MS)
    shop.send(*[impression("tent", f"s_{number}") for number in range(25)])
    assert issues() == []

    shop.send(*[buy("tent", f"c-{number}") for number in range(25)], at=NOON + HOUR_MS)
    assert issues() == ["identities_differ"]


def test_an_empty_store_has_a_report_without_shares(shop: ReportedStore) -> None:
    found = figures(counted(shop))

    assert found["events_24h"] == 0
    assert found["unknown_items"] is found["change"] is None


def test_the_funnel_of_a_list(shop: ReportedStore) -> None:
    shop.send(*[impression("tent", position=2)] * 4, click("tent", position=2))
    shop.send(cart("tent"), buy("tent"))
    shop.send(buy("tent", currency="USD"))
    Attributor(shop.database, shop.folder).catch_up(shop.store)

    made = widget_funnel_report(shop.database, shop.store, ASKED)

    names = [column.name for column in made.columns]
    (row,) = [dict(zip(names, row, strict=True)) for row in made.rows]
    assert row == {
        "widget": "recs",
        "source": "buy",
        "position": 2,
        "shown": 4,
        "clicked": 1,
        "click_rate": 0.25,
        "carted": 1,
        "carted_clicked": 1,
        "carted_seen": 0,
        "cart_rate": 0.25,
        "bought": 1,
        "bought_clicked": 1,
        "bought_seen": 0,
        "buy_rate": 0.25,
        "revenue": 10.0,
        "revenue_clicked": 10.0,
        "revenue_seen": 0.0,
        "currency": "EUR",
        "revenue_per_1000": 2_500.0,
    }
    assert "other currencies" in " ".join(made.notes)
