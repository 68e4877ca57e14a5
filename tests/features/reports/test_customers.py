"""Customer report: who counts, their segments, and their expected next order."""

from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.report import ReportQuery, ReportQueryError
from productrecs.features.reports.customer_segments_report import (
    compute_and_store_segments,
    customer_list_report,
    customer_segments_report,
    stores_due_for_segments,
)
from productrecs.features.reports.rfm_segments import (
    CustomerSegment,
    choose_customer_segment,
    compute_purchase_histories,
    expected_days_between_orders,
    expected_next_order_day,
    segment_customers,
)
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from tests.features.reports.shop import NOON, ReportedStore, buy

TODAY = date(2026, 3, 1)


def ago(days: int) -> date:
    return TODAY - timedelta(days=days)


@pytest.mark.parametrize(
    ("occasions", "span", "gone", "segment"),
    [
        (1, 0, 5, CustomerSegment.NEW),
        (1, 0, 31, CustomerSegment.ONCE),
        (2, 30, 29, CustomerSegment.ACTIVE),
        (2, 30, 30, CustomerSegment.DUE),
        (2, 30, 41, CustomerSegment.DUE),
        (2, 30, 60, CustomerSegment.SLIPPING),
        (2, 30, 120, CustomerSegment.LOST),
    ],
)
def test_a_customers_segment_depends_on_their_own_rhythm(
    occasions: int, span: int, gone: int, segment: CustomerSegment
) -> None:
    rhythm = expected_days_between_orders(occasions, span, usual_gap=30.0)

    assert choose_customer_segment(occasions, ago(gone), rhythm, TODAY) is segment


@pytest.mark.parametrize("rhythm", [0.4, 7.4, 7.6, 18.5])
def test_an_active_customers_next_order_is_expected_after_today(rhythm: float) -> None:
    for gone in range(30):
        expected = expected_next_order_day(ago(gone), rhythm, TODAY)
        is_active = (
            choose_customer_segment(3, ago(gone), rhythm, TODAY) is CustomerSegment.ACTIVE
        )
        assert is_active == (expected is not None and expected > TODAY)


def test_a_rhythm_is_the_shops_first_and_then_their_own() -> None:
    assert expected_days_between_orders(1, 0, 30.0) == 30.0
    assert expected_days_between_orders(2, 10, 30.0) == pytest.approx(70 / 3)
    assert expected_days_between_orders(100, 99 * 7, 30.0) == pytest.approx(7, abs=0.5)
    assert expected_days_between_orders(1, 0, None) is None


def test_the_usual_gap_is_the_median_between_days_of_one_customer() -> None:
    rows = [line(n, "anna", gone, 10.0) for n, gone in enumerate((9, 5, 5, 1))]

    pasts = compute_purchase_histories(
        [rows[:2], rows[2:], [line(9, "ben", 40, 10.0)]], "EUR", UTC, TODAY
    )

    assert pasts.usual_gap == 4.0
    assert dict(zip(pasts.names, pasts.purchase_days.tolist(), strict=True)) == {
        "anna": 3,
        "ben": 1,
    }
    assert compute_purchase_histories([], "EUR", UTC, TODAY).usual_gap is None


def test_the_next_order_is_expected_today_at_the_earliest_and_not_of_the_late() -> None:
    assert expected_next_order_day(ago(10), 30.0, TODAY) == TODAY + timedelta(days=20)
    assert expected_next_order_day(ago(40), 30.0, TODAY) == TODAY
    assert expected_next_order_day(ago(60), 30.0, TODAY) is None
    assert expected_next_order_day(ago(5), None, TODAY) is None


def line(
    seq: int, name: str, gone: int, total: float, quantity: int = 1, currency: str = "EUR"
) -> tuple[Any, ...]:
    return (seq, name, NOON - gone * DAY_MS, None, quantity, total, currency)


def test_fifths_and_values_are_by_rank() -> None:
    rows = [line(n, f"c-{n:02}", gone=n, total=100.0 - n) for n in range(10)]

    found = segment_customers([rows], "EUR", UTC, TODAY)

    assert [one.name for one in found] == [f"c-{n:02}" for n in range(10)]
    assert [one.money for one in found] == [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]
    assert [one.recency for one in found] == [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]
    assert {one.frequency for one in found} == {1}
    assert [one.value for one in found] == ["high"] + ["middle"] * 4 + ["low"] * 5


def test_returns_other_currencies_and_the_future() -> None:
    rows = [
        line(1, "anna", 10, 50.0),
        line(2, "anna", 5, -20.0, quantity=-1),
        line(3, "anna", 3, 80.0, currency="USD"),
        line(4, "anna", -9, 500.0),
        line(5, "ben", 3, -5.0, quantity=-1),
    ]

    (anna,) = segment_customers([rows], "EUR", UTC, TODAY)

    assert (anna.orders, anna.revenue) == (2, 30.0)
    assert anna.last_day == ago(3)


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    return ReportedStore(database, tmp_path)


def test_only_orders_that_carry_a_customer_count(shop: ReportedStore) -> None:
    shop.order("A-1", NewOrderLine("tent", 1, 30.0), user="anna", session="s_1")
    shop.order("A-2", NewOrderLine("tent", 1, 30.0), session="s_2")
    shop.send(buy("tent", "s_3", order_id="A-3"), buy("tent", "s_3", user_id="ben"))
    shop.history(
        "order_id,item_id,customer_id,quantity,price,timestamp\n"
        "B-1,tent,anna,1,10,2026-02-01\nB-2,tent,,1,10,2026-02-01\n"
    )
    compute_and_store_segments(shop.database, shop.store, NOON)

    people = customer_list_report(shop.database, shop.store, report_query())

    assert [row[0] for row in people.rows] == ["anna", "ben"]
    assert [row[3] for row in people.rows] == [2, 1]
    assert [row[4] for row in people.rows] == [40.0, 10.0]


def test_segments_sum_to_all_customers(shop: ReportedStore) -> None:
    for number in range(12):
        for gone in (59, 29) if number % 2 else (5,):
            shop.order(
                f"A-{number}-{gone}",
                NewOrderLine("tent", 1, 10.0 + number),
                user=f"c-{number}",
                at=NOON - gone * DAY_MS,
            )
    compute_and_store_segments(shop.database, shop.store, NOON)

    made = customer_segments_report(
        shop.database, shop.store, report_query("segment", "value")
    )
    by_segment = customer_segments_report(shop.database, shop.store, report_query())

    assert sum(int(row[2] or 0) for row in made.rows) == 12
    assert [row[:2] for row in by_segment.rows] == [("new", 6), ("active", 6)]
    assert sum(float(row[5] or 0) for row in by_segment.rows) == pytest.approx(1.0)


def test_who_is_due_next_comes_first(shop: ReportedStore) -> None:
    for name, last in (("late", 10), ("soon", 28)):
        for gone in (last + 30, last):
            shop.order(
                f"{name}-{gone}",
                NewOrderLine("tent", 1, 10.0),
                user=name,
                at=NOON - gone * DAY_MS,
            )
    compute_and_store_segments(shop.database, shop.store, NOON)

    made = customer_list_report(shop.database, shop.store, report_query("next"))

    assert [(row[0], row[7]) for row in made.rows] == [
        ("soon", "2026-03-03"),
        ("late", "2026-03-21"),
    ]


def test_before_the_first_night_it_says_so(shop: ReportedStore) -> None:
    for make in (customer_segments_report, customer_list_report):
        made = make(shop.database, shop.store, report_query())
        assert made.rows == ()
        assert "Not computed yet" in made.notes[-1]


def test_customers_are_worked_out_at_night_and_when_a_shop_has_grown(
    shop: ReportedStore,
) -> None:
    def is_due(hours: float) -> bool:
        return bool(
            stores_due_for_segments(
                shop.database, [shop.store], NOON + round(hours * 60 * MINUTE_MS)
            )
        )

    assert is_due(0)
    compute_and_store_segments(shop.database, shop.store, NOON)
    assert not is_due(5)
    shop.order("A-1", NewOrderLine("tent", 1, 30.0), user="anna")
    assert is_due(5)
    compute_and_store_segments(shop.database, shop.store, NOON)
    assert not is_due(13.9)  # 01:54, their time
    assert is_due(14)


def test_other_groups_are_refused(shop: ReportedStore) -> None:
    for make in (customer_segments_report, customer_list_report):
        with pytest.raises(ReportQueryError):
            make(shop.database, shop.store, report_query("colour"))


def report_query(*by: str) -> ReportQuery:
    return ReportQuery("2026-02-01", "2026-03-01", by)
