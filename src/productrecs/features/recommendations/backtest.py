"""Offline backtest: trains on a store's earlier data and evaluates on the later.

Each engine and their fusion are compared with the popularity baseline. Rules, stock and
what a shopper already bought are left out: the engines alone are compared.
Metrics are recall, MRR, nDCG and coverage of lists, with bootstrap intervals.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import numpy as np

from productrecs.engines.array_types_and_sorting import Floats, Ints, Items, RankedItems
from productrecs.engines.engine_protocol import ListContext, ListRequest
from productrecs.engines.registry import BY_NAME, EVALUATED
from productrecs.features.recommendations.candidates import fuse_candidates
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    Source,
)
from productrecs.features.recommendations.source_recipes import PageType, choose_recipe
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.fit_models import fit_all_models
from productrecs.training.trained_models import TrainedModels
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.visit_and_order_items import (
    MAX_GROUP_ITEMS,
    VisitOrOrderItems,
    group_orders,
    group_visits,
)

LENGTH: Final = 20  # list cutoff of recall@20, MRR@20 and coverage
HEAD: Final = 10  # of nDCG@10
MIN_ANSWERED: Final = 50  # minimum number of nonempty lists of a method, for a verdict
_RESAMPLES: Final = 1_000
_DISCOUNTS: Final = 1.0 / np.log2(np.arange(2.0, HEAD + 2.0))
_SEED: Final = 17  # fixed, so that intervals are reproducible


class EvaluationCase(NamedTuple):
    """One evaluation case: the given items and the right answers; `group` is its visit."""

    group: int
    context: tuple[int, ...]  # newest last
    answers: frozenset[int]


class RankingVerdict(StrEnum):
    """Comparison with the popularity baseline, by the interval."""

    BETTER = "better"
    WORSE = "worse"
    LEVEL = "level"
    UNKNOWN = "untold"  # too few nonempty lists


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of differences, such as those of recall@20, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> RankingVerdict:
        """The comparison; level where no difference is significant."""
        if self.low > 0:
            return RankingVerdict.BETTER
        return RankingVerdict.WORSE if self.high < 0 else RankingVerdict.LEVEL


@dataclass(frozen=True, slots=True)
class MethodMetrics:
    """Metrics of one method: means over all cases, except coverage and novelty.

    `recall_at_20` is the share of the right items among the first 20, `mrr_at_20`
    1/rank of the first of them, `ndcg_at_10` the normalised discounted gain of the
    first 10. `coverage` is the share of trained products that were in some list;
    `novelty` the mean surprise of the shown items, in bits, higher for rare ones.
    `difference` is the difference of recall@20 to popularity.
    """

    method: str
    recall_at_20: float
    mrr_at_20: float
    ndcg_at_10: float
    coverage: float
    novelty: float
    difference: PairedDifference | None = None
    verdict: RankingVerdict | None = None


@dataclass(frozen=True, slots=True)
class MetricsByCase:
    """Metrics of each list, case by case, and the shown items."""

    recalls: Floats  # shares of the answers among the first 20
    reciprocal_ranks: Floats  # 1/place of the first answer among them, 0 without any
    ndcg: Floats  # nDCG of the first 10
    shown: Ints  # of all lists, one after the other
    answered: int = 0  # number of nonempty lists

    @classmethod
    def measure(
        cls, cases: Sequence[EvaluationCase], lists: Sequence[Sequence[int]]
    ) -> "MetricsByCase":
        """Return the metrics of lists; of each the first 20 products count."""
        lists = [ranked[:LENGTH] for ranked in lists]
        metrics = np.zeros((3, len(lists)))
        for case_index, (case, ranked) in enumerate(zip(cases, lists, strict=True)):
            ranks = [rank for rank, item in enumerate(ranked) if item in case.answers]
            if ranks:
                best_gain = _DISCOUNTS[: len(case.answers)].sum()
                head_ranks = [rank for rank in ranks if rank < HEAD]
                metrics[:, case_index] = (
                    len(ranks) / len(case.answers),
                    1.0 / (ranks[0] + 1),
                    _DISCOUNTS[head_ranks].sum() / best_gain,
                )
        shown = [item for ranked in lists for item in ranked]
        nonempty_count = sum(bool(ranked) for ranked in lists)
        return cls(
            metrics[0], metrics[1], metrics[2], np.array(shown, np.int64), nonempty_count
        )


def method_metrics(
    method: str,
    metrics: MetricsByCase,
    popularity: Floats,
    difference: PairedDifference | None = None,
) -> MethodMetrics:
    """Return a method's metrics; `popularity` [n_items] is each item's earlier popularity.

    A method that answered fewer than `MIN_ANSWERED` cases is not compared with others.
    """
    is_comparable = metrics.answered >= min(MIN_ANSWERED, len(metrics.recalls))
    surprise = -np.log2((popularity + 1.0) / (popularity.sum() + len(popularity)))
    return MethodMetrics(
        method=method,
        recall_at_20=float(metrics.recalls.mean()),
        mrr_at_20=float(metrics.reciprocal_ranks.mean()),
        ndcg_at_10=float(metrics.ndcg.mean()),
        coverage=len(np.unique(metrics.shown)) / max(int((popularity > 0).sum()), 1),
        novelty=float(surprise[metrics.shown].mean()) if len(metrics.shown) else 0.0,
        difference=difference if is_comparable else None,
        verdict=(difference.verdict if is_comparable else RankingVerdict.UNKNOWN)
        if difference
        else None,
    )


def recall_difference_with_interval(
    metrics: MetricsByCase, baseline: MetricsByCase, groups: Ints
) -> PairedDifference:
    """Return the difference of recall@20, paired by case; the bootstrap draws groups.

    Cases of one visit or order form a group. The random draws are the same in every
    run.
    """
    return mean_with_bootstrap_interval(metrics.recalls - baseline.recalls, groups)


def mean_with_bootstrap_interval(differences: Floats, groups: Ints) -> PairedDifference:
    """Return the mean difference with its 95 % interval; the bootstrap draws groups."""
    group_index = np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(group_index, weights=differences)
    sizes = np.bincount(group_index).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    means = np.empty(_RESAMPLES)
    for resample in range(_RESAMPLES):
        sampled = rng.integers(len(sizes), size=len(sizes))
        means[resample] = sums[sampled].sum() / sizes[sampled].sum()
    low, high = np.quantile(means, (0.025, 0.975))
    return PairedDifference(float(sums.sum() / sizes.sum()), float(low), float(high))


MIN_GROUPS: Final = 50  # minimum number of evaluated visits or orders
POPULARITY: Final = "popularity"
MIX: Final = "mix"
_TEST_SHARES: Final = (
    0.1,
    0.2,
    0.3,
)  # test shares; the first with `_PREFERRED_CASES` cases is used
_PREFERRED_CASES: Final = 300
_VISIT_ITEMS: Final = 9
_HIDDEN_STEP: Final = 7_919  # a prime; selects the hidden product of a cart

Lists = Callable[[tuple[int, ...]], list[int]]


class BacktestTask(StrEnum):
    """What a list should have predicted."""

    VISIT = "visit"  # on a product page: the visit's next product
    ORDER = "order"  # on a product page: another product of the same later order
    CART = "cart"  # in a cart: the product of a later order that is not in it yet


_PAGE_TYPES: Final[Mapping[BacktestTask, PageType]] = MappingProxyType(
    {
        BacktestTask.VISIT: PageType.PRODUCT,
        BacktestTask.ORDER: PageType.PRODUCT,
        BacktestTask.CART: PageType.CART,
    }
)


@dataclass(frozen=True, slots=True)
class BacktestTaskResult:
    """Result of one task; without scores if there is too little data."""

    task: BacktestTask
    since_ms: int  # training ends and the test part begins here
    groups: int  # evaluated visits or orders
    questions: int
    scores: tuple[MethodMetrics, ...] = ()


def first_test_group_number(groups: VisitOrOrderItems) -> int:
    """Return the number of the first group of the test part."""
    count = len(groups.starts)
    for share in _TEST_SHARES:
        if count * share >= _PREFERRED_CASES:
            break
    return count - int(count * share)


def run_backtest(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, limit: int
) -> Iterator[BacktestTaskResult]:
    """Yield each task's result; at most `limit` cases are evaluated."""
    for groups, tasks in (
        (group_visits(inputs.behaviour), (BacktestTask.VISIT,)),
        (group_orders(inputs.purchases), (BacktestTask.ORDER, BacktestTask.CART)),
    ):
        first = first_test_group_number(groups)
        by_task = {task: _evaluation_cases(task, groups, first, limit) for task in tasks}
        if not any(_has_enough(cases) for cases in by_task.values()):
            for task, cases in by_task.items():
                yield _task_result(task, groups, first, cases)
            continue
        since_ms = int(groups.starts[first])
        earlier = inputs.events_and_orders_before(since_ms)
        models = TrainedModels.from_arrays(
            "", fit_all_models(earlier, n_items, settings, since_ms)
        )
        popularity = _item_popularity(earlier, n_items)
        for task, cases in by_task.items():
            scores: tuple[MethodMetrics, ...] = ()
            if _has_enough(cases):
                page_type = _PAGE_TYPES[task]
                lists = _list_makers_by_method(
                    _BacktestedEngines(models, settings, page_type, since_ms)
                )
                scores = _metrics_by_method(cases, lists, popularity)
            yield _task_result(task, groups, first, cases, scores)


def train_and_replay_mix_lists(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, limit: int
) -> tuple[list[EvaluationCase], list[list[Pick]]]:
    """Return later orders as cases, and the mix list of each from the earlier data.

    Both are empty if there are too few orders.
    """
    groups = group_orders(inputs.purchases)
    first = first_test_group_number(groups)
    cases = _evaluation_cases(BacktestTask.ORDER, groups, first, limit)
    if not _has_enough(cases):
        return [], []
    since_ms = int(groups.starts[first])
    models = TrainedModels.from_arrays(
        "",
        fit_all_models(
            inputs.events_and_orders_before(since_ms), n_items, settings, since_ms
        ),
    )
    engines = _BacktestedEngines(models, settings, PageType.PRODUCT, since_ms)
    return cases, [engines.fused_picks(case.context) for case in cases]


def _evaluation_cases(
    task: BacktestTask, groups: VisitOrOrderItems, first: int, limit: int
) -> list[EvaluationCase]:
    """Return up to `limit` evaluation cases, sampled evenly from group `first` on."""
    cases = [
        case
        for group in range(first, len(groups.starts))
        for case in _group_cases(task, group, groups.contents(group))
    ]
    return cases[:: -(-len(cases) // limit)] if cases else []


def _group_cases(
    task: BacktestTask, group: int, group_items: list[int]
) -> Iterator[EvaluationCase]:
    if task is BacktestTask.VISIT:
        for step in range(1, len(group_items)):
            yield EvaluationCase(
                group, tuple(group_items[:step]), frozenset(group_items[step : step + 1])
            )
    elif task is BacktestTask.ORDER:
        for item in group_items:
            yield EvaluationCase(group, (item,), frozenset(group_items) - {item})
    elif len(group_items) > 2:  # noqa: PLR2004 - two items remain as input
        hidden = group_items[group * _HIDDEN_STEP % len(group_items)]
        context = tuple(item for item in group_items if item != hidden)
        yield EvaluationCase(group, context, frozenset((hidden,)))


def _has_enough(cases: list[EvaluationCase]) -> bool:
    return len({case.group for case in cases}) >= MIN_GROUPS


def _task_result(
    task: BacktestTask,
    groups: VisitOrOrderItems,
    first: int,
    cases: list[EvaluationCase],
    scores: tuple[MethodMetrics, ...] = (),
) -> BacktestTaskResult:
    since_ms = int(groups.starts[first]) if first < len(groups.starts) else 0
    group_count = len({case.group for case in cases})
    return BacktestTaskResult(task, since_ms, group_count, len(cases), scores)


def _item_popularity(inputs: TrainingInputs, n_items: int) -> Floats:
    """Return how often each item was viewed, carted or bought."""
    event_counts = np.bincount(inputs.behaviour.items, minlength=n_items)
    line_counts = np.bincount(inputs.purchases.items, minlength=n_items)
    return (event_counts + line_counts).astype(np.float64)


def _metrics_by_method(
    cases: list[EvaluationCase], methods: Mapping[str, Lists], popularity: Floats
) -> tuple[MethodMetrics, ...]:
    metrics = {
        name: MetricsByCase.measure(cases, [lists(case.context) for case in cases])
        for name, lists in methods.items()
    }
    groups = np.array([case.group for case in cases], dtype=np.int64)
    baseline = metrics[POPULARITY]
    return tuple(
        method_metrics(
            name,
            own_metrics,
            popularity,
            None
            if name == POPULARITY
            else recall_difference_with_interval(own_metrics, baseline, groups),
        )
        for name, own_metrics in metrics.items()
    )


class _BacktestedEngines:
    """The engines, trained on the earlier data, for the lists of one page type."""

    def __init__(
        self,
        models: TrainedModels,
        settings: StoreSettings,
        page_type: PageType,
        now_ms: int,
    ) -> None:
        self._models = models
        self._trending = models.trending[: LENGTH + MAX_GROUP_ITEMS]
        self._recipe = choose_recipe(Source.MIX, settings)
        self._page_type = page_type
        self._now_ms = now_ms

    def popularity_list(self, items: tuple[int, ...]) -> list[int]:
        """Return the trending list."""
        return _first_allowed(self._trending, set(self._context(items).basket))

    def list_maker_of_engine(self, name: str) -> Lists:
        """Return the lists of one engine by itself."""

        def single_list(items: tuple[int, ...]) -> list[int]:
            context = replace(
                self._context(items), is_only_engine=True, pools_variants=False
            )
            ranked = self._candidates(name, context)
            return _first_allowed(ranked.items, set(context.basket))

        return single_list

    def mix_list(self, items: tuple[int, ...]) -> list[int]:
        """Return the fused list, filled up with trending products."""
        return [pick.item for pick in self.fused_picks(items)]

    def fused_picks(self, context_items: tuple[int, ...]) -> list[Pick]:
        """Return the fused list with its scores; each filled place has nine tenths."""
        recipe, context = self._recipe, self._context(context_items)
        candidates = {name: self._candidates(name, context) for name in EVALUATED}
        weights = recipe.blend[self._page_type]
        if len(candidates[EngineName.COMPLEMENTARY].items):
            weights = recipe.blend_with_complements.get(self._page_type, weights)
        fused = fuse_candidates(weights, [candidates[engine] for engine in weights])
        scores = dict(zip(fused.items.tolist(), fused.scores.tolist(), strict=True))
        excluded = set(context.basket)
        picks = [
            Pick(item, EngineName.BROWSE, scores[item])
            for item in _first_allowed(fused.items, excluded)
        ]
        score = picks[-1].score if picks else 1.0
        trending = _first_allowed(
            self._trending, excluded.union(pick.item for pick in picks)
        )
        for item in trending[: LENGTH - len(picks)]:
            score *= 0.9
            picks.append(Pick(item, EngineName.TRENDING, score))
        return picks

    def _context(self, items: tuple[int, ...]) -> ListContext:
        basket = items if self._page_type is PageType.CART else items[-1:]
        visit = items[-_VISIT_ITEMS:]
        return ListContext(anchors=basket, basket=basket, visit=visit, now_ms=self._now_ms)

    def _candidates(self, name: str, context: ListContext) -> RankedItems:
        engine = BY_NAME[name]
        return engine.candidates(self._models.of(engine), cast("ListRequest", context))


def _list_makers_by_method(engines: _BacktestedEngines) -> dict[str, Lists]:
    """Return the compared methods: popularity, each engine by itself, and their fusion."""
    by_engine = {name: engines.list_maker_of_engine(name) for name in EVALUATED}
    return {POPULARITY: engines.popularity_list, **by_engine, MIX: engines.mix_list}


def _first_allowed(items: Items, without: set[int]) -> list[int]:
    allowed = [item for item in items.tolist() if item not in without]
    return allowed[:LENGTH]
