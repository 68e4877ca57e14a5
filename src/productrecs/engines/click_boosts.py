"""Click boosts: boosts products for a query by earlier clicks, carts and purchases.

A click counts 1, a cart 4 and a purchase 8; the weight halves every 60 days. Only a
shopper's strongest interaction with a product counts, and a shopper's interactions with one
query count at most as much as one purchase. Products that only one shopper chose get no
boost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    Arrays,
    Floats,
    Ints,
    Items,
    Scores,
    csr_offsets,
)

CLICK, CART, PURCHASE = 1.0, 4.0, 8.0

_NO_BOOSTS: Final[Mapping[int, float]] = {}


@dataclass(frozen=True, slots=True)
class ClickBoostOptions:
    """Hyperparameters. A boost is the product's share of the query's interaction weight."""

    half_life_days: float = 60.0
    prior: float = 12.0  # smoothing: weight of other products that is added
    min_shoppers: int = 2
    max_weight_per_shopper: float = PURCHASE  # for one query
    max_queries: int = 50_000
    max_items: int = 30  # per query


class SearchInteractions(NamedTuple):
    """Interactions after searches, parallel arrays [n].

    `queries` are numbers from 0, `shoppers` any codes, `weights` are CLICK, CART or
    PURCHASE, `ages` are in days and not negative.
    """

    queries: Ints
    items: Ints
    shoppers: Ints
    weights: Floats
    ages: Floats


class QueryBoosts(NamedTuple):
    """Boosts by query, parallel arrays [m], the strongest of a query first.

    A boost is in (0, 1): the product's share of the query's interaction weight.
    """

    queries: Ints
    items: Items
    boosts: Scores


def fit_click_boosts(
    interactions: SearchInteractions, options: ClickBoostOptions
) -> QueryBoosts:
    """Return the boosted products of each query, and their boosts; deterministic.

    Only the most frequent queries are stored, with the strongest products of each.

    Source: requirements/algorithms.md 5.1, learned boosts.
    """
    if not len(interactions.items):
        return QueryBoosts(*_no_boost_arrays())
    weights = interactions.weights * 0.5 ** (interactions.ages / options.half_life_days)
    strongest = _strongest_interactions(interactions, weights)
    capped_weights = _capped_weights(strongest, options.max_weight_per_shopper)
    return _query_boosts(strongest, capped_weights, options)


class _StrongestInteractions(NamedTuple):
    """Each shopper's strongest interaction with a product of a query; sorted, distinct."""

    queries: Ints
    items: Ints
    shoppers: Ints
    weights: Floats


def _strongest_interactions(
    interactions: SearchInteractions, weights: Floats
) -> _StrongestInteractions:
    order = np.lexsort(
        (-weights, interactions.shoppers, interactions.items, interactions.queries)
    )
    columns = (
        interactions.queries[order],
        interactions.items[order],
        interactions.shoppers[order],
    )
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    queries, items, shoppers = (column[is_first] for column in columns)
    return _StrongestInteractions(queries, items, shoppers, weights[order][is_first])


def _capped_weights(strongest: _StrongestInteractions, max_weight: float) -> Floats:
    """Return the weights, with each shopper's sum for a query capped at `max_weight`."""
    pairs = np.stack((strongest.queries, strongest.shoppers), axis=1)
    _, groups = np.unique(pairs, axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    sums = np.bincount(groups, weights=strongest.weights)
    return strongest.weights * np.minimum(1.0, max_weight / np.maximum(sums, 1e-12))[groups]


def _query_boosts(
    strongest: _StrongestInteractions, weights: Floats, options: ClickBoostOptions
) -> QueryBoosts:
    is_first = np.ones(len(weights), dtype=np.bool_)
    is_first[1:] = (strongest.queries[1:] != strongest.queries[:-1]) | (
        strongest.items[1:] != strongest.items[:-1]
    )
    pair_groups = np.cumsum(is_first) - 1
    queries, items = strongest.queries[is_first], strongest.items[is_first]
    sums = np.bincount(pair_groups, weights=weights)
    shoppers = np.bincount(pair_groups)
    totals = np.bincount(queries, weights=sums)
    boosts = sums / (totals[queries] + options.prior)
    is_kept = (shoppers >= options.min_shoppers) & (boosts > 0)
    most_frequent = np.argsort(-totals, kind="stable")[: options.max_queries]
    is_kept &= np.isin(queries, most_frequent)
    queries, items, boosts = queries[is_kept], items[is_kept], boosts[is_kept]
    order = np.lexsort((items, -boosts, queries))
    queries, items, boosts = queries[order], items[order], boosts[order]
    ranks = np.arange(len(queries)) - np.searchsorted(queries, queries, side="left")
    is_listed = ranks < options.max_items
    return QueryBoosts(
        queries[is_listed],
        items[is_listed].astype(np.int32),
        boosts[is_listed].astype(np.float32),
    )


def _no_boost_arrays() -> tuple[Ints, Items, Scores]:
    return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)


class ClickBoostModel:
    """Boosts by normalised query: all spellings of a query share one key."""

    def __init__(
        self,
        keys: npt.NDArray[np.uint8],
        ends: Ints,
        starts: Ints,
        items: Items,
        boosts: Scores,
    ) -> None:
        """Store `keys` (UTF-8, each up to its end) and the range of boosts of each."""
        self._keys, self._ends, self._starts = keys, ends, starts
        self._items, self._boosts = items, boosts
        self._key_index: dict[str, int] | None = None

    @classmethod
    def empty(cls) -> Self:
        """Return an untrained model."""
        none = np.zeros(0, np.int64)
        return cls(
            np.zeros(0, np.uint8), none, np.zeros(1, np.int64), *_no_boost_arrays()[1:]
        )

    @classmethod
    def from_query_boosts(cls, boosts: QueryBoosts, keys: list[str]) -> Self:
        """Return the model of boosts whose queries are indexes into `keys`."""
        distinct_queries, query_index = np.unique(boosts.queries, return_inverse=True)
        texts = [keys[number].encode() for number in distinct_queries.tolist()]
        return cls(
            np.frombuffer(b"".join(texts), dtype=np.uint8),
            np.cumsum([len(text) for text in texts], dtype=np.int64),
            csr_offsets(query_index, len(distinct_queries)),
            boosts.items,
            boosts.boosts,
        )

    def __len__(self) -> int:
        """Return the number of queries with boosts."""
        return len(self._ends)

    def boosts_of(self, key: str) -> Mapping[int, float]:
        """Return the boost of each product that was chosen for `key`; few, often none."""
        if not len(self._ends):
            return _NO_BOOSTS
        if self._key_index is None:
            self._key_index = self._index_by_key()
        index = self._key_index.get(key)
        if index is None:
            return _NO_BOOSTS
        run = slice(int(self._starts[index]), int(self._starts[index + 1]))
        return dict(zip(self._items[run].tolist(), self._boosts[run].tolist(), strict=True))

    def to_arrays(self) -> Arrays:
        """Return the model as plain arrays."""
        return {
            "keys": self._keys,
            "ends": self._ends,
            "starts": self._starts,
            "items": self._items,
            "lifts": self._boosts,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the model of `to_arrays`; the empty one without any.

        Raises:
            KeyError: when one is missing.
            ValueError: when they do not fit together.
        """
        if not arrays:
            return cls.empty()
        keys, ends, starts, items, boosts = (
            arrays[name] for name in ("keys", "ends", "starts", "items", "lifts")
        )
        is_consistent = (
            len(starts) == len(ends) + 1
            and len(items) == len(boosts) == int(starts[-1])
            and (not len(ends) or int(ends[-1]) == len(keys))
        )
        if not is_consistent:
            message = "the arrays of click boosts do not fit together"
            raise ValueError(message)
        return cls(keys, ends, starts, items, boosts)

    def _index_by_key(self) -> dict[str, int]:
        text, start, index_by_key = self._keys.tobytes(), 0, dict[str, int]()
        for index, end in enumerate(self._ends.tolist()):
            index_by_key[text[start:end].decode()] = index
            start = end
        return index_by_key
