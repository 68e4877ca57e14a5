"""Backtest: separates good from bad and skill from chance, without future data."""

from typing import Final

import numpy as np
import pytest

from productrecs.features.recommendations.backtest import (
    BacktestTask,
    BacktestTaskResult,
    EvaluationCase,
    MethodMetrics,
    MetricsByCase,
    RankingVerdict,
    method_metrics,
    recall_difference_with_interval,
    run_backtest,
)
from productrecs.records.events.event import EventKind
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.partitioned_shopper_events import ShopperEventArrays
from productrecs.training.training_inputs import OrderLineArrays, TrainingInputs

HOUR: Final = 3_600_000
N_ITEMS: Final = 60


GROUPS = np.arange(100)


def store_with(
    orders: list[list[int]], visits: list[list[int]] | None = None
) -> TrainingInputs:
    """Return a store with an order and a visit every hour."""
    inputs = TrainingInputs()
    codes = np.repeat(np.arange(len(orders)), [len(one) for one in orders])
    items = np.array([item for one in orders for item in one], np.int32)
    inputs.purchases = OrderLineArrays(
        line_seqs=np.arange(len(items)),
        baskets=codes,
        items=items,
        quantities=np.ones(len(items), np.int64),
        totals=np.ones(len(items)),
        times=codes * HOUR,
        is_active=np.ones(len(items), np.bool_),
        buyers=np.zeros(len(items), np.int64),
        visitors=np.zeros(len(items), np.int64),
    )
    seen = visits or []
    codes = np.repeat(np.arange(len(seen)), [len(one) for one in seen]).astype(np.int64)
    steps = [step for one in seen for step in range(len(one))]
    items = np.array([item for one in seen for item in one], np.int32)
    inputs.behaviour = ShopperEventArrays(
        times=codes * HOUR + np.array(steps, np.int64) * 1_000,
        kinds=np.full(len(items), EventKind.DETAIL_PAGE_VIEW, np.int8),
        items=items,
        visitors=codes + 1,
    )
    return inputs


def families(rng: np.random.Generator, count: int) -> list[list[int]]:
    """Return groups of three of the six of one family."""
    return [
        (6 * rng.integers(N_ITEMS // 6) + rng.permutation(6)[:3]).tolist()
        for _ in range(count)
    ]


def results_by_task(inputs: TrainingInputs) -> dict[BacktestTask, BacktestTaskResult]:
    outcomes = run_backtest(inputs, N_ITEMS, StoreSettings(), limit=2_000)
    return {outcome.task: outcome for outcome in outcomes}


def of(outcome: BacktestTaskResult) -> dict[str, MethodMetrics]:
    return {score.method: score for score in outcome.scores}


def test_where_there_is_a_pattern_engines_beat_popularity_and_show_more() -> None:
    rng = np.random.default_rng(1)
    outcomes = results_by_task(store_with(families(rng, 900), families(rng, 900)))

    for task, engine in (
        (BacktestTask.VISIT, "browse"),
        (BacktestTask.ORDER, "buy"),
        (BacktestTask.CART, "buy"),
    ):
        scores = of(outcomes[task])
        for name in (engine, "mix"):
            assert scores[name].verdict is RankingVerdict.BETTER
            assert scores[name].recall_at_20 > scores["popularity"].recall_at_20 + 0.4
            assert scores[name].coverage > scores["popularity"].coverage
    assert list(of(outcomes[BacktestTask.VISIT])) == [
        "popularity",
        "browse",
        "buy",
        "complementary",
        "mix",
    ]


def test_random_data_shows_no_difference() -> None:
    rng = np.random.default_rng(2)
    bought, seen = (
        [rng.permutation(N_ITEMS)[:3].tolist() for _ in range(600)] for _ in range(2)
    )

    scores = of(results_by_task(store_with(bought, seen))[BacktestTask.ORDER])

    assert scores["mix"].verdict is RankingVerdict.LEVEL


def test_a_small_store_gets_no_scores() -> None:
    outcomes = results_by_task(store_with(families(np.random.default_rng(3), 100)))

    assert outcomes[BacktestTask.ORDER].groups == 30
    assert outcomes[BacktestTask.VISIT].groups == 0
    assert all(not outcome.scores for outcome in outcomes.values())


def test_the_evaluated_orders_are_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # Until the cut 0 goes with 1 and 2 with 3, ever after 0 with 3 and 2 with 1.
    inputs = store_with([[0, 1], [2, 3], *[[4, 5]] * 8] * 70 + [[0, 3], [2, 1]] * 150)

    honest = of(results_by_task(inputs)[BacktestTask.ORDER])["buy"]
    monkeypatch.setattr(TrainingInputs, "events_and_orders_before", lambda self, _: self)
    leaking = of(results_by_task(inputs)[BacktestTask.ORDER])["buy"]  # the control

    assert honest.recall_at_20 == 0.0
    assert leaking.recall_at_20 == 1.0


def test_the_same_past_gives_the_same_figures() -> None:
    inputs = store_with(families(np.random.default_rng(4), 700))

    assert results_by_task(inputs) == results_by_task(inputs)


def test_a_score_is_what_its_definition_says() -> None:
    cases = [
        EvaluationCase(n, (0,), frozenset(right))
        for n, right in enumerate([{3, 8}, {4}, {9}])
    ]
    answers = MetricsByCase.measure(cases, [[1, 3], [4, 2], [1, 2]])
    known = np.array([5.0, 4.0, 3.0, 2.0, 1.0])

    found = method_metrics("ours", answers, known)

    assert found.recall_at_20 == pytest.approx((1 / 2 + 1) / 3)
    assert found.mrr_at_20 == pytest.approx((1 / 2 + 1) / 3)
    second, best = 1 / np.log2(3), 1 + 1 / np.log2(3)
    assert found.ndcg_at_10 == pytest.approx((second / best + 1) / 3)
    assert found.coverage == 4 / 5
    shares = (known + 1) / 20
    assert found.novelty == pytest.approx(-np.log2(shares[[1, 3, 4, 2, 1, 2]]).mean())


def test_twenty_places_count_and_ten_for_their_order() -> None:
    wanted = (10, 19, 20)  # each in the place of its number, from 0
    lists = [list(range(30))] * len(wanted)
    cases = [EvaluationCase(n, (), frozenset({item})) for n, item in enumerate(wanted)]

    answers = MetricsByCase.measure(cases, lists)

    assert answers.recalls.tolist() == [1.0, 1.0, 0.0]
    assert answers.reciprocal_ranks.tolist() == pytest.approx([1 / 11, 1 / 20, 0.0])
    assert answers.ndcg.tolist() == [0.0, 0.0, 0.0]
    many = MetricsByCase.measure([EvaluationCase(0, (), frozenset(range(40)))], lists[:1])
    assert many.ndcg.tolist() == [pytest.approx(1.0)]  # no order of ten is better


def test_the_interval_knows_that_a_visit_is_one_sign() -> None:
    nothing = np.zeros(200), np.zeros(200), np.zeros(0, np.int64)
    ours = MetricsByCase(np.repeat([1.0, 0.0, 1.0, 1.0], 50), *nothing)
    theirs = MetricsByCase(np.zeros(200), *nothing)

    by_step = recall_difference_with_interval(ours, theirs, np.arange(200))
    by_visit = recall_difference_with_interval(ours, theirs, np.repeat(np.arange(4), 50))

    assert by_step.mean == by_visit.mean == 0.75
    assert by_visit.high - by_visit.low > 3 * (by_step.high - by_step.low)


def test_a_method_without_training_records_gets_no_verdict() -> None:
    outcomes = results_by_task(store_with(families(np.random.default_rng(6), 900)))

    for task in (BacktestTask.ORDER, BacktestTask.CART):
        scores = of(outcomes[task])
        for unlearned in ("browse", "complementary"):  # no visit, no category
            assert scores[unlearned].verdict is RankingVerdict.UNKNOWN
            assert scores[unlearned].difference is None
        assert scores["buy"].verdict is RankingVerdict.BETTER


def test_a_method_that_is_wrong_whenever_it_speaks_is_worse() -> None:
    cases = [EvaluationCase(n, (0,), frozenset({1})) for n in range(100)]
    silent = [[2] if n < 49 else [] for n in range(100)]
    wrong = [[2] if n < 50 else [] for n in range(100)]
    gain = recall_difference_with_interval(
        MetricsByCase.measure(cases, wrong),
        MetricsByCase.measure(cases, [[1]] * 100),
        GROUPS,
    )

    verdicts = [
        method_metrics("it", MetricsByCase.measure(cases, lists), np.ones(3), gain).verdict
        for lists in (silent, wrong)
    ]

    assert verdicts == [RankingVerdict.UNKNOWN, RankingVerdict.WORSE]
