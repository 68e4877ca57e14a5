"""Learned ranking: reorders candidates by the store's trained ranker and its features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.engines.arrays import Floats, Ints, Items
from productrecs.engines.fusion import RANK_OFFSET
from productrecs.features.recommendations.recommendation_request import Engine
from productrecs.features.recommendations.serving_state import EligibleItems

FEATURES: Final = (
    "its share of the blend's highest score",
    "its rank among what similar visits continued with",
    "its rank among products bought together",
    "its rank in trending",
    "its click rate relative to all products",
    "whether it is in the category of the page's or newest product",
    "its price relative to that of the page's or newest product",
    "whether the shopper saw it before",
    "how often the shopper was shown it and ignored it",
    "how new it is",
)
_ENGINES: Final = (Engine.BROWSE, Engine.BUY)
_NO_CANDIDATE: Final = 0.0
_PLACES: Final = tuple(RANK_OFFSET / (RANK_OFFSET + place) for place in range(1_000))
_NEW_DAYS: Final = 30.0


@dataclass(frozen=True, slots=True)
class RankingInput:
    """Input of the ranking features; items are numbers."""

    candidates: Mapping[Engine, Items]  # best first
    blend: Mapping[int, float]  # the blend's scores
    about: int | None  # the page's product, else the last that the shopper viewed
    recent: Sequence[int] = ()
    ignored: Mapping[int, float] = field(default_factory=dict)  # Showings.ignored


def ranking_features(
    eligible: EligibleItems, items: Ints, rates: Floats, inputs: RankingInput, now_ms: int
) -> Floats:
    """Return features of `items` [n, len(FEATURES)]; `rates` [n] as `ItemStats.rates`."""
    numbers: list[int] = items.tolist()
    catalog, ranks = eligible.catalog, eligible.models.ranks
    rows = np.empty((len(numbers), len(FEATURES)))
    best_score = max(inputs.blend.values(), default=1.0)
    rows[:, 0] = [inputs.blend.get(item, 0.0) / best_score for item in numbers]
    for column, engine in enumerate(_ENGINES, 1):
        engine_items: list[int] = inputs.candidates.get(engine, _NO_ITEMS).tolist()
        rank_scores = dict(zip(engine_items, _PLACES, strict=False))
        rows[:, column] = [rank_scores.get(item, _NO_CANDIDATE) for item in numbers]
    trending_count = max(len(eligible.models.trending), 1)
    rows[:, 3] = 1.0
    is_ranked = items < len(ranks)
    rows[is_ranked, 3] = np.log1p(ranks[items[is_ranked]]) / np.log1p(trending_count)
    rows[:, 4] = rates
    about = inputs.about
    if about is None or about >= len(catalog):
        rows[:, 5:7] = 0.0
    else:
        category, price = eligible.narrowest[about], float(catalog.prices[about])
        rows[:, 5] = [
            bool(category) and eligible.narrowest[item] == category for item in numbers
        ]
        rows[:, 6] = _relative_price(catalog.prices[items], price)
    recent, ignored = inputs.recent, inputs.ignored
    rows[:, 7] = [item in recent for item in numbers]
    rows[:, 8] = [ignored.get(item, 0.0) for item in numbers] if ignored else 0.0
    ages = (now_ms - catalog.created[items]) / DAY_MS
    rows[:, 9] = _NEW_DAYS / (_NEW_DAYS + np.maximum(ages, 0.0))
    return rows


def _relative_price(prices: Floats, price: float) -> Floats:
    """Return the log ratios of prices to one price, 0 where either is unknown."""
    log_ratios = np.zeros(len(prices))
    if price > 0:
        has_price = prices > 0  # unknown prices are nan
        log_ratios[has_price] = np.log(prices[has_price] / price).clip(-3.0, 3.0)
    return log_ratios


_NO_ITEMS: Final = np.zeros(0, np.int32)


MIN_CANDIDATES: Final = 8  # minimum number of top candidates to re-rank
RERANKED_LISTS: Final = 2  # list lengths to re-rank: deeper items have no impressions


class RankingContext(NamedTuple):
    """The context of one learned order."""

    candidates: Mapping[Engine, Items]
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
    top_items = items[: max(RERANKED_LISTS * context.num, MIN_CANDIDATES)].astype(np.int64)
    if int(top_items.max()) >= len(eligible.catalog):
        return None  # the model may be newer than the catalog view
    blend = dict(zip(top_items.tolist(), scores[: len(top_items)].tolist(), strict=True))
    inputs = RankingInput(
        context.candidates, blend, context.about, context.recent, context.ignored
    )
    rates = eligible.models.impression_stats.rates(top_items)
    rows = ranking_features(eligible, top_items, rates, inputs, context.now_ms)
    order = (-trees.score(rows)).argsort(kind="stable")
    return np.concatenate((order, np.arange(len(top_items), len(items))))
