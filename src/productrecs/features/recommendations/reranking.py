"""Re-ranking of relevant products: diversity, earnings and pins.

Diversity limits variants of one product and products of one category.

Nothing is removed: items above a limit come after all other candidates and before the
backfill. In a cart's list, variants are not limited if the store's orders contain both
together, such as a clock in ivory and in green.

Earnings: margin and stock decide among products of similar relevance.

The loss of relevance is bounded. With the weight `w`, from 0 to 1, a product moves at most
`4 w` places (rounded up) either way, and only past products whose relevance score is at
most `1 / (1 - 0.3 w)` times its own. So no irrelevant product comes first.

Pins take places in the finished list.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from productrecs.engines.array_types_and_sorting import Floats
from productrecs.features.recommendations.recommendation_request import (
    Pick,
    ResolvedPlacement,
)
from productrecs.features.recommendations.serving_state import EligibleItems, StoreState
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.records.catalog.title_words import fold_text

SHARE_WITH_ANCHOR: Final = 0.75  # maximum share of one category in a list with an anchor
SHARE_WITHOUT_ANCHOR: Final = 0.4  # and in a list without one
_DIVERSIFIED_ITEMS: Final = 100  # length of the diversified part of the backfill


class DiversityFilter:
    """State of one list: its variants, and how many items of each category it holds."""

    def __init__(
        self,
        eligible: EligibleItems,
        num: int,
        anchors: Sequence[int],
        page_type: PageType,
    ) -> None:
        """Start a list of `num` items; variants of its anchors count as already listed."""
        share = SHARE_WITH_ANCHOR if anchors else SHARE_WITHOUT_ANCHOR
        self._max_per_category = max(2, math.ceil(num * share))
        self._num = num
        self._eligible = eligible
        self._visible = eligible.visible
        self._narrowest = eligible.narrowest
        variants = eligible.catalog.variants
        size = len(variants)
        self._variants = variants
        self._listed_variants = {variants[anchor] for anchor in anchors if anchor < size}
        self._shares: dict[str, int] = {}
        self._anchors = anchors
        self._cart_copurchases = (
            eligible.models.copurchase if page_type is PageType.CART else None
        )

    def list_if_allowed(self, item: int, *, ignore_categories: bool = False) -> bool:
        """Return whether an item is within the limits; if so, count it as listed.

        With `ignore_categories` only variants are limited, not categories.
        """
        variant, category = self._variants[item], self._narrowest[item]
        share = self._shares.get(category, 0) + 1
        if variant and variant in self._listed_variants:
            return False
        if category and share > self._max_per_category and not ignore_categories:
            return False
        if variant:
            self._listed_variants.add(variant)
        self._shares[category] = share
        return True

    def add_listed(self, items: Sequence[int]) -> None:
        """Count the items that are already in the list."""
        for item in items:
            self.list_if_allowed(item, ignore_categories=True)

    def choose_positions(
        self, items: Sequence[int], not_listable: Container[int], cooldown: Container[str]
    ) -> list[int]:
        """Return the positions of the listed items, and of those above a limit.

        All may be shown. None is `not_listable`. None is of a category on cooldown, unless
        orders contain it together with a cart's item of that category. Only one variant of
        a product and no variant of an anchor is listed, and a narrowest category gets a
        limited share of the list.
        """
        # Inlines `list_if_allowed` for speed: this runs for a dozen items of every list.
        visible, variants, narrowest = self._visible, self._variants, self._narrowest
        listed_variants = self._listed_variants
        shares = self._shares
        max_per_category = self._max_per_category
        num = self._num
        size = len(visible)
        listed_positions: list[int] = []
        deferred: list[int] = []
        for index, item in enumerate(items):
            if item in not_listable or item >= size or not visible[item]:
                continue
            variant, category = variants[item], narrowest[item]
            if category in cooldown and not self._is_exempt_from_cooldown(item):
                continue
            share = shares.get(category, 0)
            if (category and share >= max_per_category) or (
                variant
                and variant in listed_variants
                and not self._is_bought_with_variant(
                    item, [items[position] for position in listed_positions]
                )
            ):
                deferred.append(index)
                continue
            if variant:
                listed_variants.add(variant)
            shares[category] = share + 1
            listed_positions.append(index)
            if len(listed_positions) == num:
                return listed_positions
        return listed_positions + deferred[: num - len(listed_positions)]

    def _is_exempt_from_cooldown(self, item: int) -> bool:
        """Return whether a cart's list may show an item of a category on cooldown."""
        return (
            self._cart_copurchases is not None
            and self._eligible.is_bought_with_same_category(item, self._anchors)
        )

    def _is_bought_with_variant(self, item: int, listed: Sequence[int]) -> bool:
        """Return whether orders combine an item with its variant in the cart or list."""
        copurchases, variants = self._cart_copurchases, self._variants
        if copurchases is None:
            return False
        variant, size = variants[item], len(variants)
        return any(
            other < size
            and variants[other] == variant
            and copurchases.shared_basket_count(other, item)
            for other in (*self._anchors, *listed)
        )


def diversify_backfill(
    items: Iterator[int], diversity: DiversityFilter, *, ignore_categories: bool
) -> Iterator[int]:
    """Yield backfill items, diversified.

    With `ignore_categories` only variants are deferred, until the next backfill. Otherwise
    items of the first hundred that exceed a limit come after the others; the rest keeps its
    order.
    """
    if ignore_categories:
        yield from (
            item
            for item in items
            if diversity.list_if_allowed(item, ignore_categories=True)
        )
        return
    deferred = []
    for item in islice(items, _DIVERSIFIED_ITEMS):
        if diversity.list_if_allowed(item):
            yield item
        else:
            deferred.append(item)
    yield from deferred
    yield from items


def picks_within_limits(
    picks: Sequence[Pick],
    eligible: EligibleItems,
    plan: ResolvedPlacement,
    listed: Sequence[Pick] = (),
) -> list[Pick]:
    """Return the picks within a placement's limits for one category and one brand.

    Picks in `listed` are in the list already. Products without a category or a brand have
    no limit.
    """
    counts = Counter[tuple[str, str]]()
    allowed: list[Pick] = []
    for index, pick in enumerate((*listed, *picks)):
        brand = eligible.catalog.attributes.attributes_of(pick.item).get("brand", [""])[0]
        groups = [
            (kind, name, max_per_category)
            for kind, name, max_per_category in (
                ("category", eligible.narrowest[pick.item], plan.most_per_category),
                ("brand", fold_text(brand), plan.most_per_brand),
            )
            if name and max_per_category is not None
        ]
        is_listed = index < len(listed)
        if is_listed or all(
            counts[kind, name] < max_per_category for kind, name, max_per_category in groups
        ):
            counts.update((kind, name) for kind, name, _ in groups)
            if not is_listed:
                allowed.append(pick)
    return allowed


MAX_MOVES: Final = 4
"""How many places a product moves at most, with the weight 1."""

RELEVANCE_LOSS: Final = 0.3
"""The share of its relevance score that a place loses at most, with the weight 1."""

_STRENGTH: Final = 0.5  # of the index, relative to the relevance score
_SURPLUS: Final = 0.5
_DOUBLINGS: Final = 2.0  # margins of four times the median have the index 1


def compute_earning_index(
    prices: Floats, costs: Floats, runs_out: Sequence[int], surplus: Sequence[int]
) -> Floats:
    """Return how much the store earns by each item, from -1 to 1; 0 where unknown.

    The margin is compared with the median of the known ones, on a logarithmic scale.
    `runs_out` are the items that run out before they can be re-ordered: they have -1.
    `surplus` are those in overstock: their index is one half higher.
    """
    margins = prices - costs
    is_known = np.isfinite(margins)
    index = np.zeros(len(prices))
    if is_known.any():
        known_margins = margins[is_known]
        median_margin = (
            float(np.median(known_margins[known_margins > 0]))
            if (known_margins > 0).any()
            else 1.0
        )
        ratios = np.maximum(known_margins, 1e-9) / median_margin
        index[is_known] = (np.log2(ratios) / _DOUBLINGS).clip(-1.0, 1.0)
    index[list(surplus)] = (index[list(surplus)] + _SURPLUS).clip(-1.0, 1.0)
    index[list(runs_out)] = -1.0
    return index


def reserve_count(store: StoreState) -> int:
    """Return how many products beyond a list's end may move into it."""
    return 0 if store.earnings is None else _max_moves(store.settings.earnings_weight)


def order_by_store_earnings(store: StoreState, picks: list[Pick], fixed: int) -> list[Pick]:
    """Return the picks in the order of a store's setting, which may be relevance only.

    The first `fixed` keep their places.
    """
    if store.earnings is None:
        return picks
    return rank_by_earnings(picks, store.earnings, store.settings.earnings_weight, fixed)


def earning_index_of(store: StoreState, item: int) -> float | None:
    """Return an item's earning index; None where lists do not follow it."""
    index = store.earnings
    if index is None or item >= len(index):
        return None
    return float(index[item])


def rank_by_earnings(
    picks: Sequence[Pick], earnings: Floats, weight: float, fixed: int = 0
) -> list[Pick]:
    """Return the picks, those that earn more before others of similar relevance.

    `earnings` is the `compute_earning_index`. The first `fixed` keep their places. Scores
    are reassigned by place.
    """
    max_moves, min_score_share = _max_moves(weight), 1.0 - RELEVANCE_LOSS * weight
    remaining = list(enumerate(picks))[fixed:]
    ordered = list(picks[:fixed])
    while remaining:
        position = len(ordered)
        first_rank, first_pick = remaining[0]
        best_index, best_value = 0, -math.inf
        for index, (rank, pick) in enumerate(remaining):
            if (
                rank > position + max_moves
                or pick.score < min_score_share * first_pick.score
            ):
                break
            value = pick.score * (
                1.0 + weight * _STRENGTH * _earning_index_of(pick, earnings)
            )
            if value > best_value:
                best_index, best_value = index, value
            if first_rank + max_moves <= position:  # the first cannot wait longer
                break
        pick = remaining.pop(best_index)[1]
        ordered.append(pick._replace(score=picks[position].score))
    return ordered


def _max_moves(weight: float) -> int:
    return math.ceil(MAX_MOVES * weight)


def _earning_index_of(pick: Pick, earnings: Floats) -> float:
    return float(earnings[pick.item]) if pick.item < len(earnings) else 0.0


BACKFILL_SCORE: Final = 1e-3  # score of a backfill item


def place_pins(
    picks: Sequence[Pick], pinned: Iterable[tuple[int, Pick]], num: int
) -> list[Pick]:
    """Return up to `num` picks with the pins at their positions, by falling score.

    `pinned` are positions (from 0) with their picks, each item once, in order of
    precedence: if a position is taken, the pin gets the next free one; beyond the
    list's end it is last; beyond `num` it is dropped. The other picks keep their
    order; no item occurs twice.
    """
    picks_by_position: dict[int, Pick] = {}
    for position, pick in pinned:
        while position in picks_by_position:
            position += 1  # noqa: PLW2901 - the next free position
        if position < num:
            picks_by_position[position] = pick
    pinned_items = {pick.item for pick in picks_by_position.values()}
    others = [pick for pick in picks if pick.item not in pinned_items]
    result: list[Pick] = []
    used_others = 0
    for position in range(num):
        if position in picks_by_position:
            pick = picks_by_position.pop(position)
            result.append(
                pick._replace(score=_falling_score_of_pin(result, others[used_others:]))
            )
        elif used_others < len(others):
            result.append(others[used_others])
            used_others += 1
        else:
            break
    for position in sorted(picks_by_position):
        result.append(
            picks_by_position[position]._replace(score=_falling_score_of_pin(result, ()))
        )
    return result


def _falling_score_of_pin(listed: Sequence[Pick], others: Sequence[Pick]) -> float:
    """Return the score of the next pick, which keeps the list in falling order."""
    if others:
        return others[0].score
    return listed[-1].score * 0.9 if listed else BACKFILL_SCORE
