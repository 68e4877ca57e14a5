"""Click judgements: grades of products for queries, from clicks and purchases.

Shoppers click on what they see first. So a click on a result counts by the inverse of the
probability that a shopper looks at its position, 1 / position^0.8, and at most five times.
A product is good for a query if its corrected clicks are at least half of those of the
query's best product, and fair from a tenth. Each shopper counts once for a product, with
the strongest interaction: a click 1, a cart 4, a purchase 8. The curve and the limit are
those of requirements/algorithms.md 4; nothing is estimated from a store's own clicks.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from productrecs.engines.click_boosts import CLICK
from productrecs.features.search.relevance.relevance_measure import RelevanceGrade

MIN_SHOPPERS_OF_QUERY: Final = 10
"""Fewer different shoppers who clicked judge none of a query's products."""

MIN_SHOPPERS_OF_PRODUCT: Final = 3
"""Fewer judge no product."""

_EXPONENT: Final = 0.8
_MAX_WEIGHT: Final = 5.0
_GOOD, _FAIR = 0.5, 0.1  # shares of the best product's corrected clicks


class SearchClick(NamedTuple):
    """A click on a search result, and the strongest interaction that followed it."""

    intent: str
    item: int
    shopper: str
    position: int | None  # from 1; None if the page did not send it
    weight: float = CLICK  # CLICK, CART or PURCHASE


class ClickJudgement(NamedTuple):
    """A grade from clicks, and how many shoppers clicked."""

    intent: str
    item: int
    grade: RelevanceGrade
    shoppers: int


def position_weight(position: int | None) -> float:
    """Return the weight of a click at a position: 1 at the first, at most 5."""
    return min(_MAX_WEIGHT, math.pow(max(position or 1, 1), _EXPONENT))


def judge_clicks(clicks: Iterable[SearchClick]) -> Iterator[ClickJudgement]:
    """Yield the judgements that the clicks are enough for; deterministic."""
    strongest: dict[str, dict[int, dict[str, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for click in clicks:
        shoppers = strongest[click.intent][click.item]
        weight = click.weight * position_weight(click.position)
        shoppers[click.shopper] = max(weight, shoppers.get(click.shopper, 0.0))
    for intent, items in sorted(strongest.items()):
        yield from _judge_query(intent, items)


def _judge_query(
    intent: str, items: Mapping[int, Mapping[str, float]]
) -> Iterator[ClickJudgement]:
    clickers = {shopper for shoppers in items.values() for shopper in shoppers}
    if len(clickers) < MIN_SHOPPERS_OF_QUERY:
        return
    sums = {
        item: sum(shoppers.values())
        for item, shoppers in items.items()
        if len(shoppers) >= MIN_SHOPPERS_OF_PRODUCT
    }
    best = max(sums.values(), default=0.0)
    for item, corrected in sorted(sums.items()):
        share = corrected / best
        if share >= _FAIR:
            grade = RelevanceGrade.GOOD if share >= _GOOD else RelevanceGrade.FAIR
            yield ClickJudgement(intent, item, grade, len(items[item]))
