"""Results of tests: few false alarms at any look, true differences, and plain advice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.report import ReportQuery
from productrecs.features.experiments.experiment_measurement import (
    ExperimentDesign,
    VisitorOutcomes,
    compute_result_fields,
    find_tests_to_measure,
    measure_and_store_test,
    stores_with_tests_to_measure,
)
from productrecs.features.experiments.experiment_report import advice, experiment_report
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.experiments.arm_assignment import Exposure
from productrecs.records.experiments.experiment import (
    CONTROL,
    PLACEMENT,
    ExperimentContent,
    Goal,
    Treatment,
)
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from tests.features.reports.shop import NOON, ReportedStore

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.records.experiments.experiment import Experiment
    from productrecs.storage.sql.database import Database

METRICS: Final = tuple(goal.value for goal in Goal)
SHARES: Final = {CONTROL: 0.5, "b": 0.3, "c": 0.2}
VISITORS: Final = 6_000
SURE: Final = {"more", "less"}
MOST_ALARMS: Final = 0.05
LATER: Final = NOON + DAY_MS


def visitors_of_a_run(rng: np.random.Generator, lift: float = 0.0) -> VisitorOutcomes:
    """Return visitors of three arms; `b` buys so much more often than the others."""
    arms = rng.choice(3, VISITORS, p=list(SHARES.values()))
    bought = rng.random(VISITORS) < 0.05 * np.where(arms == 1, 1 + lift, 1.0)
    spent = bought * np.minimum(rng.lognormal(3.8, 1.0, VISITORS), 450.0)
    values: dict[str, Floats] = {
        "conversion": bought.astype(np.float64),
        "clicks": (rng.random(VISITORS) < 0.1).astype(np.float64),
        "carts": (bought | (rng.random(VISITORS) < 0.05)).astype(np.float64),
        "orders": (bought * rng.integers(1, 3, VISITORS)).astype(np.float64),
        "revenue": spent.astype(np.float64),
        "margin": (spent * rng.uniform(-0.1, 0.6, VISITORS)).astype(np.float64),
    }
    return VisitorOutcomes(arms, values, np.zeros((VISITORS, 2)), NOON, costed=1)


def first(found: VisitorOutcomes, count: int) -> VisitorOutcomes:
    """Return what is known of the first visitors."""
    values = {name: one[:count] for name, one in found.values.items()}
    return VisitorOutcomes(found.arms[:count], values, found.before[:count], NOON, costed=1)


def conclusive_metrics(found: VisitorOutcomes, step: int) -> set[str]:
    """Return the metrics in which any look shows a difference; one every `step`."""
    test, conclusive = (ExperimentDesign("test:1", SHARES, METRICS, Goal.REVENUE), set())
    for count in range(200, VISITORS + 1, step):
        for metrics in compute_result_fields(test, first(found, count), LATER)[
            "metrics"
        ].values():
            conclusive |= {name for name, one in metrics.items() if one["verdict"] in SURE}
    return conclusive


@pytest.mark.parametrize(
    ("runs", "step"), [(20, 400), pytest.param(300, 100, marks=pytest.mark.trust)]
)
def test_equal_arms_show_a_difference_in_few_tests_however_often_one_looks(
    runs: int, step: int
) -> None:
    rng = np.random.default_rng(11)
    found = [conclusive_metrics(visitors_of_a_run(rng), step) for _ in range(runs)]

    for metric in METRICS:
        assert sum(metric in conclusive for conclusive in found) <= MOST_ALARMS * runs


def test_a_true_difference_is_found_and_recommended() -> None:
    run = visitors_of_a_run(np.random.default_rng(5), lift=1.0)
    test = ExperimentDesign("test:1", SHARES, METRICS, Goal.ORDERS)

    result = compute_result_fields(test, run, LATER)

    assert result["metrics"]["b"]["orders"]["verdict"] == "more"
    assert result["metrics"]["c"]["orders"]["verdict"] != "more"
    assert advice(result).startswith("Stop and choose b: it brings more orders (+")


def outcome(verdict: str, low: float = -0.5, high: float = 0.5) -> dict[str, Any]:
    middle = (low + high) / 2
    return {
        "verdict": verdict,
        "difference": middle,
        "lift": middle,
        "lift_low": low,
        "lift_high": high,
    }


OPEN: Final = "no significant difference yet"


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, "too few visitors"),
        ({"b": {"revenue": outcome("collecting data")}}, "Go on: there is too little"),
        ({"b": {"revenue": outcome(OPEN)}}, "Go on: a difference in revenue of 10 %"),
        ({"b": {"revenue": outcome(OPEN, -0.05, 0.04)}}, "Choose what is simpler"),
        ({"b": {"revenue": outcome("less")}}, "Stop and keep the control"),
        ({"b": {"revenue": outcome("more")}, "c": {"revenue": outcome(OPEN)}}, "choose b"),
        (
            {"b": {"revenue": outcome("more"), "margin": outcome("less")}},
            "But it brings less margin.",
        ),
        (
            {
                "b": {"revenue": outcome("more", 0.1, 0.2)},
                "c": {"revenue": outcome("more", 0.2, 0.4)},
            },
            "Stop and choose c: it brings more revenue (+30.0%)",
        ),
        ({"shown": {"revenue": outcome("more")}}, "Stop: recommendations bring more"),
    ],
)
def test_the_advice_follows_from_the_goal(metrics: dict[str, Any], said: str) -> None:
    result = {"is_mismatched": False, "goal": "revenue", "metrics": metrics}

    assert said in advice(result)


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    found = ReportedStore(database, tmp_path)
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, found.store.store_id)
        patches = [ItemPatch("tent", {"title": "Tent", "price": 30.0, "cost": 20.0})]
        upsert_items(log, patches, NOON, None)
    return found


def started(shop: ReportedStore) -> Experiment:
    PlacementEditor(shop.database, shop.store, lambda: NOON).add("c", PlacementContent())
    editor = ExperimentEditor(shop.database, shop.store, lambda: NOON, "")
    content = ExperimentContent(f"{PLACEMENT}c", (Treatment("b", 50, {"num": 2}),))
    editor.add("size", content)
    return editor.act("size", "start")


def meet(shop: ReportedStore, experiment: Experiment, **arms: str) -> None:
    store_id, name = shop.store.store_id, experiment.split.name
    found = [Exposure(store_id, one, name, arm, one, NOON) for one, arm in arms.items()]
    with shop.database.transaction() as transaction:
        store_exposures(transaction, found)


def arms_of(shop: ReportedStore, now_ms: int = LATER) -> dict[str, dict[str, Any]]:
    (test,) = find_tests_to_measure(shop.database, shop.store, now_ms)
    result = measure_and_store_test(shop.database, shop.store, test, now_ms).result
    return {arm["name"]: arm for arm in result["arms"]}


def test_what_exposed_shoppers_did_since_then_counts_by_variant(
    shop: ReportedStore,
) -> None:
    arms = {f"s_{n}": "b" if n % 2 else CONTROL for n in range(8)}
    shop.send(NewEvent(EventKind.ADD_TO_CART, "tent", session_id="s_1"), at=NOON - 1)
    experiment = started(shop)
    meet(shop, experiment, **arms)
    for kind in (EventKind.REC_CLICK, EventKind.SEARCH_CLICK, EventKind.ADD_TO_CART):
        for who in ("s_3", "s_3", "s_5", "stranger"):
            shop.send(NewEvent(kind, "tent", session_id=who), at=LATER)
    shop.order("A-1", NewOrderLine("tent", 2, 30.0), session="s_3", at=LATER)
    shop.order("A-2", NewOrderLine("rope", 1, 5.0), session="s_3", at=LATER)
    shop.order("A-3", NewOrderLine("tent", 1, 30.0), session="stranger", at=LATER)

    found = arms_of(shop)

    one = found["b"]
    assert (one["visitors"], one["clicks"], one["carts"]) == (4, 2, 2)
    assert (one["conversion"], one["orders"]) == (1, 2)
    assert (one["revenue"], one["margin"]) == (65, 20)
    assert {found[CONTROL][name] for name in ("clicks", "carts", "orders")} == {0}
    query = ReportQuery("2026-01-01", "2026-12-31", test="size")
    notes = " ".join(experiment_report(shop.database, shop.store, query).notes)
    assert "The margin is that of 50% of sold lines" in notes


def test_the_stores_with_results_to_compute_are_those_with_started_tests(
    shop: ReportedStore,
) -> None:
    def is_computed(now_ms: int, holdout_percent: int = 0) -> bool:
        settings = replace(shop.store.settings, holdout_percent=holdout_percent)
        store = replace(shop.store, settings=settings)
        chosen = stores_with_tests_to_measure(shop.database, [store], now_ms)
        assert bool(chosen) is bool(find_tests_to_measure(shop.database, store, now_ms))
        return chosen == [store.store_id]

    assert not is_computed(NOON)
    assert is_computed(NOON, 10)
    started(shop)
    editor = ExperimentEditor(shop.database, shop.store, lambda: NOON, "")
    for action in ("pause", "start", "stop"):
        assert is_computed(NOON)
        editor.act("size", action)
    assert is_computed(NOON)
    assert not is_computed(LATER)


def test_bots_are_left_out_and_what_follows_the_end_does_not_count(
    shop: ReportedStore,
) -> None:
    experiment = started(shop)
    meet(shop, experiment, s_1="b", s_2=CONTROL, s_3="b", s_4=CONTROL, bot="b")
    shop.send(NewEvent(EventKind.DETAIL_PAGE_VIEW, "tent", session_id="bot"))
    with shop.database.transaction() as transaction:
        EventRepository(transaction, shop.store.store_id).move_bot_sessions(
            ["bot"], [], NOON - 1
        )
    shop.order("A-1", NewOrderLine("tent", 1, 30.0), session="s_1", at=NOON + 5)
    ended = ExperimentEditor(shop.database, shop.store, lambda: NOON + 9, "")
    ended.act("size", "stop")
    shop.order("A-2", NewOrderLine("tent", 1, 30.0), session="s_1", at=NOON + 10)
    shop.send(NewEvent(EventKind.REC_CLICK, "tent", session_id="s_1"), at=NOON + 10)

    one = arms_of(shop, NOON + 1_000)["b"]

    assert (one["visitors"], one["orders"], one["clicks"]) == (2, 1, 0)
    assert find_tests_to_measure(shop.database, shop.store, LATER) == []
