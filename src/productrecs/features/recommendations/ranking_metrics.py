"""Ranking metrics: recall, MRR, nDCG and coverage of lists, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats, Ints

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
        lists = [one[:LENGTH] for one in lists]
        metrics = np.zeros((3, len(lists)))
        for number, (case, one) in enumerate(zip(cases, lists, strict=True)):
            places = [rank for rank, item in enumerate(one) if item in case.answers]
            if places:
                best = _DISCOUNTS[: len(case.answers)].sum()
                head = [rank for rank in places if rank < HEAD]
                metrics[:, number] = (
                    len(places) / len(case.answers),
                    1.0 / (places[0] + 1),
                    _DISCOUNTS[head].sum() / best,
                )
        shown = [item for one in lists for item in one]
        answered = sum(bool(one) for one in lists)
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
