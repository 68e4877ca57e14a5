"""Session index: an immutable set of past sessions that answers next-item queries.

`sessionization.py` builds it from events.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from productrecs.engines.array_types_and_sorting import (
    NO_RANKED,
    Arrays,
    Floats,
    Ints,
    Items,
    RankedItems,
    stable_argsort,
)
from productrecs.engines.browse import session_knn
from productrecs.engines.browse.session_knn import (
    SessionArrays,
    SessionKnnOptions,
    SessionQuery,
    SessionWeightTables,
    next_items_scores_and_support,
    read_only_layout,
    weight_tables,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_NO_INTERACTIONS: Final[Mapping[int, int]] = MappingProxyType({})
_EQUAL_WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0)
_DAY_MS: Final = 86_400_000.0
_EXTENDED_ITEMS: Final = 5  # best items whose next items are added
# Score of the first added item, relative to the last score before it.
_EXTENSION_DECAY: Final = 0.5
_NO_SESSIONS: Final = np.zeros(0, dtype=np.int64)
_NO_RETURNS: Final = np.zeros(0)


class SessionIndex:
    """Past sessions and their items; answers next-item queries.

    Immutable and thread-safe: the compiled kernel uses scratch memory of the calling
    thread.
    """

    __slots__ = (
        "_by_owner",
        "_layout",
        "_newest_ms",
        "_options",
        "_owners",
        "_returns",
        "_weights",
    )

    def __init__(
        self,
        layout: SessionArrays,
        newest_ms: int,
        options: SessionKnnOptions,
        by_owner: Ints | None = None,
        returns: Floats = _NO_RETURNS,
    ) -> None:
        """Store sealed arrays; `newest_ms` is the time of the newest session's last event.

        `by_owner` is `stable_argsort(layout.owners)`, if already computed. `returns[k]` is
        the share of steps that returned to the item k positions before the current one (0
        is the current item). The visit's item there gets this share of all votes, times
        `SessionKnnOptions.returns`. Neighbours are found by the visit's items, so they
        contain them: their votes for these items count only `SessionKnnOptions.seen`.
        """
        self._layout = layout
        self._newest_ms = newest_ms
        self._options = options
        self._returns = returns
        self._weights = weight_tables(options, returns)
        # Sorted, because checking the owner of each candidate would read scattered memory.
        self._by_owner = stable_argsort(layout.owners) if by_owner is None else by_owner
        self._owners = layout.owners[self._by_owner]

    @classmethod
    def empty(cls) -> Self:
        """Return the index of a store without sessions: every answer is empty."""
        none = np.zeros(0, np.int32)
        zero_offset = np.zeros(1, np.int64)
        no_scores = np.zeros(0, np.float32)
        columns = (
            zero_offset,
            none,
            no_scores,
            np.zeros(0, np.int64),
            zero_offset,
            none,
            no_scores,
        )
        return cls(
            read_only_layout(SessionArrays(*columns)._asdict()), 0, SessionKnnOptions()
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the index stored as `arrays`, which may be memory-mapped.

        Raises:
            KeyError: when one is missing.
            ValueError: when the number of constants or owners is wrong.
        """
        options = SessionKnnOptions.from_array(arrays["constants"].tolist())
        layout, by_owner = read_only_layout(arrays), arrays.get("by_owner")
        if by_owner is not None:  # missing in older releases
            if by_owner.shape != layout.owners.shape:
                message = f"{len(layout.owners)} owners in an order of {by_owner.shape}"
                raise ValueError(message)
            by_owner = np.ascontiguousarray(by_owner, np.int64)
        returns = np.asarray(arrays.get("returns", _NO_RETURNS), np.float64)
        return cls(layout, int(arrays["newest_ms"][0]), options, by_owner, returns)

    def to_arrays(self) -> Arrays:
        """Return the index as plain arrays."""
        return {
            **self._layout._asdict(),
            "by_owner": self._by_owner,
            "newest_ms": np.array([self._newest_ms], dtype=np.int64),
            "returns": self._returns,
            "constants": self._options.to_array(),
        }

    @property
    def n_items(self) -> int:
        """Number of items in the index."""
        return len(self._layout.rarity)

    @property
    def n_sessions(self) -> int:
        """Number of sessions in the index."""
        return len(self._layout.owners)

    def next_items(
        self,
        recent: Sequence[int] | Items,
        now_ms: int,
        limit: int,
        exclude_session: int | None = None,
        interactions: Mapping[int, int] = _NO_INTERACTIONS,
        *,
        extend: bool = False,
    ) -> RankedItems:
        """Return up to `limit` items that similar sessions looked at, best first.

        `recent` is the visit so far, oldest to newest. Its newest item is never returned;
        earlier ones may be. Unknown items are ignored; without a common session the list is
        empty. Sessions of `exclude_session` (see `fit_sessions`) are left out, because a
        live visit would match itself. `interactions` has each item's strongest
        `InteractionType` above a view. If `extend` and fewer items than
        `SessionKnnOptions.enough` are found, the next items of the best ones are added
        below them. Scores are above 0 and decay with the index's age at `now_ms` (UTC
        milliseconds).

        Source: VMIS-kNN's index with VSTAN's weights, requirements/algorithms.md 1.1.
        """
        query = self._build_session_query(recent, exclude_session)
        if limit <= 0 or len(query.items) == 0:
            return NO_RANKED
        items, scores, counts = next_items_scores_and_support(
            self._layout, self._query_weights(query, interactions), query, limit
        )
        support: Items | None = counts
        if extend and 0 < len(items) < min(limit, self._options.enough):
            items, scores = self._append_next_items_of_best(query, items, scores, limit)
            support = None
        age_days = max(0, now_ms - self._newest_ms) / _DAY_MS
        decay = math.exp(-min(age_days / self._options.days_scale, 60.0))
        return RankedItems(items, (scores * decay).astype(np.float32), support)

    def _append_next_items_of_best(
        self, query: SessionQuery, items: Items, scores: Floats, limit: int
    ) -> tuple[Items, Floats]:
        """Return the items, followed by next items of the best of them."""
        is_new = np.isin(items, query.items, invert=True)
        best = items[is_new][: min(_EXTENDED_ITEMS, self._options.prefix)]
        if not len(best):
            return items, scores
        extended_query = query._replace(items=best)
        extended_weights = self._weights._replace(returns=np.zeros(self._options.prefix))
        next_of_best, votes, _ = next_items_scores_and_support(
            self._layout, extended_weights, extended_query, limit + len(items)
        )
        is_new = np.isin(next_of_best, items, invert=True)
        next_of_best = next_of_best[is_new][: limit - len(items)]
        votes = votes[is_new][: limit - len(items)]
        if not len(next_of_best):
            return items, scores
        extension_scores = votes * (_EXTENSION_DECAY * scores[-1] / votes[0])
        return np.concatenate((items, next_of_best)), np.concatenate(
            (scores, extension_scores)
        )

    @property
    def weights_interactions(self) -> bool:
        """Whether interaction types change item weights."""
        return self._options.weight_by_interaction != _EQUAL_WEIGHTS

    def _query_weights(
        self, query: SessionQuery, interactions: Mapping[int, int]
    ) -> SessionWeightTables:
        """Return the weights for a query with interactions above a view."""
        if not interactions or not self.weights_interactions:
            return self._weights
        by_interaction, match, vote = (
            self._options.weight_by_interaction,
            *self._weights[:2],
        )
        item_weights = [
            by_interaction[interactions.get(item, 0)] for item in query.items.tolist()
        ]
        weights = np.array(item_weights, dtype=np.float64)
        size = len(item_weights)
        return self._weights._replace(
            match=match[:size] * weights, vote=vote[:size] * weights
        )

    def return_share(self, recent: Sequence[int] | Items, item: int) -> float:
        """Return how often shoppers return as far back in a visit as to `item`; 0 if never.

        The value is a share of all steps. It adds to the item's votes in `next_items`.
        """
        places = self._build_session_query(recent, None).items.tolist()
        place = places.index(item) if item in places else 0
        if not 0 < place < len(self._returns) or not self._options.returns:
            return 0.0
        return float(self._returns[place])

    def count_neighbours_by_item(
        self,
        recent: Sequence[int] | Items,
        exclude_session: int | None = None,
        interactions: Mapping[int, int] = _NO_INTERACTIONS,
    ) -> tuple[int, dict[int, int]]:
        """Return the number of neighbours, and how many of them contain each item.

        The arguments are those of `next_items`, and so are the sessions; by item number.
        """
        query = self._build_session_query(recent, exclude_session)
        if len(query.items) == 0:
            return 0, {}
        layout = self._layout
        weights = self._query_weights(query, interactions)
        slots = session_knn.nearest_sessions(layout, weights, query).slots
        session_items = [
            layout.items[layout.offsets[s] : layout.offsets[s + 1]] for s in slots
        ]
        items, counts = np.unique(
            np.concatenate([NO_RANKED.items, *map(np.unique, session_items)]),
            return_counts=True,
        )
        return len(slots), dict(zip(items.tolist(), counts.tolist(), strict=True))

    def _build_session_query(
        self, recent: Sequence[int] | Items, excluded: int | None
    ) -> SessionQuery:
        recent_items = recent.tolist() if isinstance(recent, np.ndarray) else recent
        options, n_items = self._options, self.n_items
        newest_items: list[int] = []
        for item in recent_items[: -options.longest - 1 : -1]:
            if 0 <= item < n_items and item not in newest_items:
                newest_items.append(item)
                if len(newest_items) == options.prefix:
                    break
        return SessionQuery(
            items=np.array(newest_items, dtype=np.int32),
            current=recent_items[-1] if len(recent_items) else -1,
            own_slots=_NO_SESSIONS if excluded is None else self._slots_of_owner(excluded),
            recent_sessions=options.recent_sessions,
            neighbours=options.neighbours,
        )

    def _slots_of_owner(self, owner: int) -> Ints:
        """Return the slots of an owner's sessions, ascending."""
        owners = self._owners
        begin = int(owners.searchsorted(owner))
        session_count = (
            owners[begin : begin + 2].tolist().count(owner)
        )  # most owners have one
        end = begin + session_count
        if session_count > 1:
            end = int(owners.searchsorted(owner, side="right"))
        return self._by_owner[begin:end]
