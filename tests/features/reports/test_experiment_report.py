"""Holdout report: each visitor once, in their arm, with later purchases."""

import re
from pathlib import Path
from typing import Any

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.report import Report, ReportQuery, ReportQueryError
from productrecs.features.experiments.experiment_measurement import (
    holdout_design,
    measure_and_store_test,
)
from productrecs.features.experiments.experiment_report import advice, experiment_report
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.experiments.arm_assignment import Exposure, HoldoutArm
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store_management import (
    change_settings,
    delete_store,
    find_store,
)
from tests.features.reports.shop import NOON, ReportedStore

TEST = "holdout"
LATER = NOON + DAY_MS


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    found = ReportedStore(database, tmp_path)
    change_settings(database, found.store, {"holdout_percent": "50"})
    return found


def meet(
    shop: ReportedStore, name: str, arm: HoldoutArm, unit: str | None = None, at: int = NOON
) -> None:
    exposure = Exposure(shop.store.store_id, name, TEST, arm, unit or name, at)
    with shop.database.transaction() as transaction:
        store_exposures(transaction, [exposure])


def sign_in(shop: ReportedStore, session: str, customer: str) -> None:
    shop.send(
        NewEvent(EventKind.DETAIL_PAGE_VIEW, "tent", user_id=customer, session_id=session)
    )


def spend(
    shop: ReportedStore, order: str, price: float, at: int = LATER, **who: Any
) -> None:
    shop.order(order, NewOrderLine("tent", 1, price), at=at, **who)


def result(shop: ReportedStore) -> dict[str, Any]:
    return measured(shop, LATER + DAY_MS)


def measured(shop: ReportedStore, now_ms: int) -> dict[str, Any]:
    """Return the result, with the figures of the arms by name."""
    store = shop.store
    made = measure_and_store_test(
        shop.database, store, holdout_design(store, TEST), now_ms
    ).result
    arms = {
        f"{name}_{arm['name']}": arm[name]
        for arm in made["arms"]
        for name in ("visitors", "conversion", "share")
    }
    return made | arms | {"metrics": made["metrics"].get("shown", {})}


def both(shop: ReportedStore) -> None:
    """Let two more be met on each side: an arm of one has no variance."""
    for number in range(4):
        meet(
            shop, f"s_more{number}", HoldoutArm.SHOWN if number % 2 else HoldoutArm.HELD_OUT
        )


def test_visitors_and_buyers_are_counted_in_their_arms(shop: ReportedStore) -> None:
    both(shop)
    meet(shop, "s_1", HoldoutArm.SHOWN)
    meet(shop, "s_2", HoldoutArm.HELD_OUT)
    spend(shop, "A-1", 30.0, session="s_1")
    spend(shop, "A-2", 10.0, session="s_1")

    outcome = result(shop)

    assert (outcome["visitors_shown"], outcome["visitors_held_out"]) == (3, 3)
    assert (outcome["conversion_shown"], outcome["conversion_held_out"]) == (1, 0)
    assert outcome["metrics"]["revenue"]["mean"] == pytest.approx(40 / 3)
    assert outcome["metrics"]["revenue"]["verdict"] == "collecting data"
    assert outcome["metrics"]["revenue"]["lift"] is None


def test_what_was_bought_before_or_by_strangers_does_not_count(shop: ReportedStore) -> None:
    both(shop)
    meet(shop, "anna", HoldoutArm.SHOWN, at=LATER)
    spend(shop, "A-1", 30.0, at=NOON, user="anna")
    spend(shop, "A-2", 30.0, user="nobody")

    assert result(shop)["conversion_shown"] == 0


def test_a_customer_is_the_session_that_was_met(shop: ReportedStore) -> None:
    both(shop)
    meet(shop, "s_1", HoldoutArm.HELD_OUT)
    sign_in(shop, "s_1", "anna")
    spend(shop, "A-1", 30.0, user="anna")

    assert result(shop)["conversion_held_out"] == 1


def test_a_customer_who_was_met_first_keeps_their_arm_on_every_device(
    shop: ReportedStore,
) -> None:
    both(shop)
    meet(shop, "anna", HoldoutArm.SHOWN, at=NOON)
    meet(shop, "s_1", HoldoutArm.HELD_OUT, at=NOON + 1)
    sign_in(shop, "s_1", "anna")
    meet(shop, "s_1", HoldoutArm.SHOWN, unit="anna", at=NOON + 2)
    spend(shop, "A-1", 30.0, session="s_1")

    outcome = result(shop)

    assert (outcome["conversion_shown"], outcome["conversion_held_out"]) == (1, 0)
    assert outcome["crossed"] == 0


def test_visitors_seen_in_both_arms_are_excluded_and_noted(shop: ReportedStore) -> None:
    both(shop)
    meet(shop, "s_1", HoldoutArm.SHOWN)
    meet(shop, "s_1", HoldoutArm.HELD_OUT, at=NOON + 1)
    spend(shop, "A-1", 30.0, session="s_1")

    outcome = result(shop)

    assert outcome["crossed"] == 1
    assert outcome["visitors_shown"] + outcome["visitors_held_out"] == 4
    assert "1 visitors seen in both arms are excluded" in " ".join(report(shop).notes)


def test_other_currencies_and_returns_bring_no_revenue(shop: ReportedStore) -> None:
    both(shop)
    meet(shop, "anna", HoldoutArm.SHOWN)
    shop.order("A-1", NewOrderLine("tent", 1, 30.0), user="anna", currency="USD", at=LATER)
    shop.history(
        "order_id,item_id,customer_id,quantity,price,timestamp\n"
        "A-2,tent,anna,-1,10,2026-03-02T13:00:00\n"
    )

    outcome = result(shop)

    assert outcome["foreign_orders"] == 1
    assert outcome["conversion_shown"] == 1
    assert outcome["metrics"]["revenue"]["mean"] == pytest.approx(-10 / 3)


def test_arms_that_do_not_fit_are_an_alarm_and_no_result(shop: ReportedStore) -> None:
    both(shop)
    for number in range(40):
        meet(shop, f"s_{number}", HoldoutArm.SHOWN)

    outcome = result(shop)

    assert outcome["is_mismatched"]
    assert outcome["metrics"]["conversion"]["verdict"] == "suppressed"
    assert outcome["metrics"]["conversion"]["mean"] is None
    assert any(note.startswith("ALARM") for note in report(shop).notes)
    assert advice(outcome).startswith("Stop: the result is not valid")


def test_a_result_says_how_many_more_visitors_are_needed(shop: ReportedStore) -> None:
    for number in range(40):
        meet(shop, f"s_{number}", HoldoutArm.SHOWN if number % 2 else HoldoutArm.HELD_OUT)
    for number in range(8):
        spend(shop, f"A-{number}", 30.0, session=f"s_{number}")
    result(shop)

    notes = " ".join(report(shop).notes)

    assert "each arm needs 50 visitors who bought" in notes
    assert "more visitors to show a lift of 10 %" in notes


def test_the_most_that_one_order_counts_has_its_currency(shop: ReportedStore) -> None:
    for number in range(100):
        meet(shop, f"s_{number}", HoldoutArm.SHOWN if number % 2 else HoldoutArm.HELD_OUT)
        spend(shop, f"A-{number}", 30.0, session=f"s_{number}")
    result(shop)

    assert "One order counts 30.00 EUR at most" in " ".join(report(shop).notes)


def test_a_test_that_is_off_says_since_when_and_estimates_nothing(
    shop: ReportedStore,
) -> None:
    for number in range(40):
        meet(shop, f"s_{number}", HoldoutArm.SHOWN if number % 2 else HoldoutArm.HELD_OUT)
    for number in range(8):
        spend(shop, f"A-{number}", 30.0, session=f"s_{number}")
    result(shop)
    assert "ended" not in {one.definition.name for one in report(shop).figures}
    change_settings(shop.database, shop.store, {"holdout_percent": "0"})
    store = find_store(shop.database, shop.store.domain)

    made = experiment_report(shop.database, store, ReportQuery("2026-01-01", "2026-12-31"))

    figures = {one.definition.name: one.value for one in made.figures}
    assert figures["ended"] == figures["worked_out"]
    assert str(figures["advice"]).startswith("The test ended before it could decide")
    assert not re.search("days, at|Collecting data|more visitors", " ".join(made.notes))


def test_a_day_has_one_result_and_a_deleted_store_none(shop: ReportedStore) -> None:
    both(shop)
    result(shop)
    meet(shop, "anna", HoldoutArm.SHOWN)
    result(shop)

    figures = {one.definition.name: one.value for one in report(shop).figures}
    assert figures["visitors_shown"] == 3
    delete_store(shop.database, shop.store)


def test_each_day_keeps_its_result_and_an_ended_test_its_share(shop: ReportedStore) -> None:
    both(shop)
    measured(shop, NOON)
    change_settings(shop.database, shop.store, {"holdout_percent": "0"})
    measured(shop, LATER)

    query = ReportQuery("2026-01-01", "2026-12-31", ("day",))
    made = experiment_report(shop.database, shop.store, query)

    assert [row[:2] for row in made.rows] == [
        ("2026-03-02", "conversion"),
        ("2026-03-02", "revenue"),
        ("2026-03-01", "conversion"),
        ("2026-03-01", "revenue"),
    ]
    assert result(shop)["share_held_out"] == 0.5
    with pytest.raises(ReportQueryError):
        experiment_report(shop.database, shop.store, ReportQuery("", "", ("arm",)))


def test_a_test_that_did_not_begin_says_how(shop: ReportedStore) -> None:
    change_settings(shop.database, shop.store, {"holdout_percent": "0"})

    assert "holdout_percent=10" in report(shop).notes[0]


def report(shop: ReportedStore) -> Report:
    return experiment_report(
        shop.database, shop.store, ReportQuery("2026-01-01", "2026-12-31")
    )
