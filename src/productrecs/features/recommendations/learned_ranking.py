"""Learned ranking: reorders the engines' candidates by the store's trained ranker."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from productrecs.engines.arrays import Floats, Ints, Items
from productrecs.features.recommendations.eligible_items import EligibleItems
from productrecs.features.recommendations.ranking_features import (
    RankingInput,
    ranking_features,
)
from productrecs.features.recommendations.request import Engine

FEWEST: Final = 8  # of the blend's best are put in order; the others stay where they are
LISTS: Final = 2  # as many as fill so many lists: what was never shown taught nothing


class RankingContext(NamedTuple):
    """The context of one learned order."""

    proposals: Mapping[Engine, Items]
    about: int | None
    recent: Sequence[int]
    ignored: Mapping[int, float]
    num: int  # products of the list
    now_ms: int


def learned_order(
    eligible: EligibleItems, items: Items, scores: Floats, context: RankingContext
) -> Ints | None:
    """Return the positions of `items` in the learned order; None without a ranker.

    Ties keep the blend's order.
    """
    trees = eligible.models.trees
    if not len(trees) or len(items) < 2:  # noqa: PLR2004 - nothing to order
        return None
    best = items[: max(LISTS * context.num, FEWEST)].astype(np.int64)
    if int(best.max()) >= len(eligible.catalog):
        return None  # a model may know of items a moment before the catalog does
    blend = dict(zip(best.tolist(), scores[: len(best)].tolist(), strict=True))
    scene = RankingInput(
        context.proposals, blend, context.about, context.recent, context.ignored
    )
    rates = eligible.models.trials.rates(best)
    rows = ranking_features(eligible, best, rates, scene, context.now_ms)
    order = (-trees.score(rows)).argsort(kind="stable")
    return np.concatenate((order, np.arange(len(best), len(items))))
