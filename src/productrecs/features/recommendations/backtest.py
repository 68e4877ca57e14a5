"""Offline backtest: trains on a store's earlier data and evaluates on the later.

Each engine and their fusion are compared with the popularity baseline. Rules, stock and
what a shopper already bought are left out: the engines alone are compared.
Metrics are recall, MRR, nDCG and coverage of lists, with bootstrap intervals.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats, Ints, Items, Ranked
from productrecs.engines.engine_spec import CandidateRequest
from productrecs.engines.fusion import fuse
from productrecs.features.recommendations.candidates import own_candidates
from productrecs.features.recommendations.recipes import PageType, recipe_of
from productrecs.features.recommendations.recommendation_request import Engine, Pick, Source
from productrecs.features.recommendations.serving_state import BasketCandidates
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.engine_specs import EVALUATED
from productrecs.training.group_visits_and_orders import (
    MAX_GROUP_ITEMS,
    ItemGroups,
    group_orders,
    group_visits,
)
from productrecs.training.trained_models import TrainedModels
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import fit

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
    UNTOLD = "untold"  # too few nonempty lists


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference of recall@20 with its 95 % interval."""

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
    beside: Interval | None = None
    verdict: RankingVerdict | None = None


@dataclass(frozen=True, slots=True)
class CaseMetrics:
    """Metrics of each list, case by case, and the shown items."""

    recalls: Floats  # shares of the answers among the first 20
    reciprocal_ranks: Floats  # 1/place of the first answer among them, 0 without any
    ndcg: Floats  # nDCG of the first 10
    shown: Ints  # of all lists, one after the other
    answered: int = 0  # number of nonempty lists

    @classmethod
    def of(
        cls, cases: Sequence[EvaluationCase], lists: Sequence[Sequence[int]]
    ) -> "CaseMetrics":
        """Return the metrics of lists; of each the first 20 products count."""
        lists = [ranked[:LENGTH] for ranked in lists]
        metrics = np.zeros((3, len(lists)))
        for number, (case, ranked) in enumerate(zip(cases, lists, strict=True)):
            places = [rank for rank, item in enumerate(ranked) if item in case.answers]
            if places:
                best = _DISCOUNTS[: len(case.answers)].sum()
                head = [rank for rank in places if rank < HEAD]
                metrics[:, number] = (
                    len(places) / len(case.answers),
                    1.0 / (places[0] + 1),
                    _DISCOUNTS[head].sum() / best,
                )
        shown = [item for ranked in lists for item in ranked]
        answered = sum(bool(ranked) for ranked in lists)
        return cls(metrics[0], metrics[1], metrics[2], np.array(shown, np.int64), answered)


def method_metrics(
    method: str,
    metrics: CaseMetrics,
    popularity: Floats,
    difference: Interval | None = None,
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
        beside=difference if is_comparable else None,
        verdict=(difference.verdict if is_comparable else RankingVerdict.UNTOLD)
        if difference
        else None,
    )


def paired_difference(
    one_method: CaseMetrics, other_method: CaseMetrics, groups: Ints
) -> Interval:
    """Return the difference of recall@20, paired by case; the bootstrap draws groups.

    Cases of one visit or order form a group. The random draws are the same in every
    run.
    """
    return confidence_interval(one_method.recalls - other_method.recalls, groups)


def confidence_interval(values: Floats, groups: Ints, confidence: float = 0.95) -> Interval:
    """Return the mean of values with its 95 % interval; the bootstrap draws groups."""
    group_index = np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(group_index, weights=values)
    sizes = np.bincount(group_index).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    means = np.empty(_RESAMPLES)
    for sample in range(_RESAMPLES):
        chosen = rng.integers(len(sizes), size=len(sizes))
        means[sample] = sums[chosen].sum() / sizes[chosen].sum()
    low, high = np.quantile(means, (0.5 - confidence / 2, 0.5 + confidence / 2))
    return Interval(float(sums.sum() / sizes.sum()), float(low), float(high))


MIN_GROUPS: Final = 50  # minimum number of evaluated visits or orders
POPULARITY: Final = "popularity"
MIX: Final = "mix"
_SHARES: Final = (
    0.1,
    0.2,
    0.3,
)  # test shares; the first with `_PREFERRED_CASES` cases is used
_PREFERRED_CASES: Final = 300
_PREFIX: Final = 9
_CANDIDATES: Final = 60
_EVALUATED_ENGINES: Final = tuple(map(Engine, EVALUATED))
_HIDDEN_STEP: Final = 7_919  # a prime; selects the hidden product of a cart

Lists = Callable[[tuple[int, ...]], list[int]]


class Task(StrEnum):
    """What a list should have predicted."""

    VISIT = "visit"  # on a product page: the visit's next product
    ORDER = "order"  # on a product page: another product of the same later order
    CART = "cart"  # in a cart: the product of a later order that is not in it yet


_PLACES: Final[Mapping[Task, PageType]] = MappingProxyType(
    {
        Task.VISIT: PageType.PRODUCT,
        Task.ORDER: PageType.PRODUCT,
        Task.CART: PageType.CART,
    }
)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Result of one task; without scores if there is too little data."""

    task: Task
    since_ms: int  # training ends and the test part begins here
    groups: int  # evaluated visits or orders
    questions: int
    scores: tuple[MethodMetrics, ...] = ()


def first_test_group(groups: ItemGroups) -> int:
    """Return the number of the first group of the test part."""
    count = len(groups.starts)
    for share in _SHARES:
        if count * share >= _PREFERRED_CASES:
            break
    return count - int(count * share)


def backtest(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, limit: int
) -> Iterator[TaskResult]:
    """Yield each task's result; at most `limit` cases are evaluated."""
    for groups, tasks in (
        (group_visits(inputs.behaviour), (Task.VISIT,)),
        (group_orders(inputs.purchases), (Task.ORDER, Task.CART)),
    ):
        first = first_test_group(groups)
        by_task = {task: _cases(task, groups, first, limit) for task in tasks}
        if not any(_has_enough(cases) for cases in by_task.values()):
            for task, cases in by_task.items():
                yield _outcome(task, groups, first, cases)
            continue
        since_ms = int(groups.starts[first])
        before = inputs.before(since_ms)
        models = TrainedModels.of("", fit(before, n_items, settings, since_ms))
        popularity = _popularity(before, n_items)
        for task, cases in by_task.items():
            scores: tuple[MethodMetrics, ...] = ()
            if _has_enough(cases):
                place = _PLACES[task]
                lists = _methods(_Engines(models, settings, place, since_ms))
                scores = _scores(cases, lists, popularity)
            yield _outcome(task, groups, first, cases, scores)


def replayed_orders(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, limit: int
) -> tuple[list[EvaluationCase], list[list[Pick]]]:
    """Return later orders as cases, and the mix list of each from the earlier data.

    Both are empty if there are too few orders.
    """
    groups = group_orders(inputs.purchases)
    first = first_test_group(groups)
    cases = _cases(Task.ORDER, groups, first, limit)
    if not _has_enough(cases):
        return [], []
    since_ms = int(groups.starts[first])
    models = TrainedModels.of("", fit(inputs.before(since_ms), n_items, settings, since_ms))
    engines = _Engines(models, settings, PageType.PRODUCT, since_ms)
    return cases, [engines.picks(case.context) for case in cases]


def _cases(task: Task, groups: ItemGroups, first: int, limit: int) -> list[EvaluationCase]:
    """Return up to `limit` evaluation cases, sampled evenly from group `first` on."""
    cases = [
        case
        for group in range(first, len(groups.starts))
        for case in _of_group(task, group, groups.contents(group))
    ]
    return cases[:: -(-len(cases) // limit)] if cases else []


def _of_group(task: Task, group: int, items: list[int]) -> Iterator[EvaluationCase]:
    if task is Task.VISIT:
        for step in range(1, len(items)):
            yield EvaluationCase(
                group, tuple(items[:step]), frozenset(items[step : step + 1])
            )
    elif task is Task.ORDER:
        for item in items:
            yield EvaluationCase(group, (item,), frozenset(items) - {item})
    elif len(items) > 2:  # noqa: PLR2004 - two items remain as input
        hidden = items[group * _HIDDEN_STEP % len(items)]
        context = tuple(item for item in items if item != hidden)
        yield EvaluationCase(group, context, frozenset((hidden,)))


def _has_enough(cases: list[EvaluationCase]) -> bool:
    return len({case.group for case in cases}) >= MIN_GROUPS


def _outcome(
    task: Task,
    groups: ItemGroups,
    first: int,
    cases: list[EvaluationCase],
    scores: tuple[MethodMetrics, ...] = (),
) -> TaskResult:
    since_ms = int(groups.starts[first]) if first < len(groups.starts) else 0
    group_count = len({case.group for case in cases})
    return TaskResult(task, since_ms, group_count, len(cases), scores)


def _popularity(inputs: TrainingInputs, n_items: int) -> Floats:
    """Return how often each item was viewed, carted or bought."""
    counts = np.bincount(inputs.behaviour.items, minlength=n_items)
    sold = np.bincount(inputs.purchases.items, minlength=n_items)
    return (counts + sold).astype(np.float64)


def _scores(
    cases: list[EvaluationCase], methods: Mapping[str, Lists], popularity: Floats
) -> tuple[MethodMetrics, ...]:
    metrics = {
        name: CaseMetrics.of(cases, [lists(case.context) for case in cases])
        for name, lists in methods.items()
    }
    groups = np.array([case.group for case in cases], dtype=np.int64)
    popular = metrics[POPULARITY]
    return tuple(
        method_metrics(
            name,
            own_metrics,
            popularity,
            None if name == POPULARITY else paired_difference(own_metrics, popular, groups),
        )
        for name, own_metrics in metrics.items()
    )


class _Engines:
    """The engines, trained on the earlier data, for the lists of one page type."""

    def __init__(
        self, models: TrainedModels, settings: StoreSettings, place: PageType, now_ms: int
    ) -> None:
        self._companions = BasketCandidates(models)
        self._trending = models.trending[: LENGTH + MAX_GROUP_ITEMS]
        self._recipe = recipe_of(Source.MIX, settings)
        self._place = place
        self._now_ms = now_ms

    def popularity(self, given: tuple[int, ...]) -> list[int]:
        """Return the trending list."""
        return _first(self._trending, self._about(given))

    def single_engine(self, engine: Engine) -> Lists:
        """Return the lists of one engine by itself."""
        return lambda given: _first(
            self._proposed(engine, given, is_only_engine=True), self._about(given)
        )

    def mix(self, given: tuple[int, ...]) -> list[int]:
        """Return the fused list, filled up with trending products."""
        return [pick.item for pick in self.picks(given)]

    def picks(self, given: tuple[int, ...]) -> list[Pick]:
        """Return the fused list with its scores; each filled place has nine tenths."""
        found = {engine: self._proposed(engine, given) for engine in _EVALUATED_ENGINES}
        found[Engine.BUY] = self._companions.goes_with(self._basket(given)).items
        recipe, place = self._recipe, self._place
        completing = recipe.completing if len(found[Engine.COMPLEMENTARY]) else None
        weights = (completing or recipe.blend)[place]
        fused = fuse([found[engine] for engine in weights], tuple(weights.values()))
        scores = dict(zip(fused.items.tolist(), fused.scores.tolist(), strict=True))
        about = self._about(given)
        picks = [
            Pick(item, Engine.BROWSE, scores[item]) for item in _first(fused.items, about)
        ]
        score = picks[-1].score if picks else 1.0
        trending = _first(self._trending, about.union(pick.item for pick in picks))
        for item in trending[: LENGTH - len(picks)]:
            score *= 0.9
            picks.append(Pick(item, Engine.TRENDING, score))
        return picks

    def _basket(self, given: tuple[int, ...]) -> tuple[int, ...]:
        return given if self._place is PageType.CART else given[-1:]

    def _about(self, given: tuple[int, ...]) -> set[int]:
        return set(self._basket(given))

    def _proposed(
        self, engine: Engine, given: tuple[int, ...], *, is_only_engine: bool = False
    ) -> Items:
        basket = self._basket(given)
        request = CandidateRequest(basket, given[-_PREFIX:], self._now_ms, _CANDIDATES)
        return _proposed(
            self._companions, engine, request, is_only_engine=is_only_engine
        ).items


def _methods(engines: _Engines) -> dict[str, Lists]:
    """Return the compared methods: popularity, each engine by itself, and their fusion."""
    by_engine = {
        engine.value: engines.single_engine(engine) for engine in _EVALUATED_ENGINES
    }
    return {POPULARITY: engines.popularity, **by_engine, MIX: engines.mix}


def _proposed(
    companions: BasketCandidates,
    engine: Engine,
    request: CandidateRequest,
    *,
    is_only_engine: bool,
) -> Ranked:
    """Return the candidates of one engine, trained on the earlier data."""
    if engine is Engine.BUY:
        return companions.bought_with(request.anchors)
    if engine is Engine.COMPLEMENTARY:
        return companions.completing(request.anchors)
    if engine is not Engine.BROWSE:
        return own_candidates(companions.models, engine, request)
    return companions.models.sessions.next_items(
        request.visit, request.now_ms, request.limit, extend=is_only_engine
    )


def _first(items: Items, without: set[int]) -> list[int]:
    allowed = [item for item in items.tolist() if item not in without]
    return allowed[:LENGTH]
