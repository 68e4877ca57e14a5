"""Click boost inputs: clicks on search results, and carts and purchases after them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.array_types_and_sorting import Bools, Ints, Items
from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    SearchInteractions,
)
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository

Columns = tuple[Ints, ...]

_KINDS: Final = (EventKind.SEARCH_PREF, EventKind.SEARCH_CLICK, EventKind.ADD_TO_CART)
_CART_WINDOW_MS: Final = 24 * HOUR_MS
_BUY_WINDOW_MS: Final = 7 * DAY_MS
_SESSION_MS: Final = 30 * 60_000
"""Attribution window of a purchase to the last search, with or without a click."""

_HISTORY_MS: Final = 365 * DAY_MS
_UNKNOWN: Final = 0
_NO_ITEM: Final = -1


class SearchInteractionRows(NamedTuple):
    """Interactions of shoppers, parallel arrays, in log order."""

    seqs: Ints  # sequence numbers in the log; a changed purchase line keeps its own
    times: Ints  # UTC ms
    items: Items  # _NO_ITEM for a search without a click
    shoppers: Ints  # codes; _UNKNOWN if unknown
    sessions: Ints
    queries: Items  # indexes of terms; 0 for carts and purchases


class _PagedInteractionRows:
    """Rows that arrive page by page, joined when they are used."""

    def __init__(self) -> None:
        self._pages = [_to_rows([])]

    def add(self, page: Sequence[Sequence[Any]]) -> None:
        if page:
            self._pages.append(_to_rows(page))

    def join_pages(self) -> SearchInteractionRows:
        if len(self._pages) > 1:
            columns = zip(*self._pages, strict=True)
            self._pages = [SearchInteractionRows._make(map(np.concatenate, columns))]
        return self._pages[0]


@dataclass(slots=True)
class ClickBoostInputs:
    """One store's searches, and the carts since the first of them."""

    terms: list[str] = field(default_factory=list)  # by number
    _searches: _PagedInteractionRows = field(default_factory=_PagedInteractionRows)
    _carts: _PagedInteractionRows = field(default_factory=_PagedInteractionRows)
    _numbers: dict[str, int] = field(default_factory=dict)
    _intents: tuple[str, list[str]] = ("", [])  # intents of `terms` in one language

    @property
    def searches(self) -> SearchInteractionRows:
        """All searches, and the clicks on their results."""
        return self._searches.join_pages()

    @property
    def size(self) -> int:
        """Number of rows in memory."""
        return len(self.searches.times) + len(self._carts.join_pages().times)

    def read_searches_and_carts(
        self, repository: EventLogRepository, after_seq: int, up_to_seq: int
    ) -> None:
        """Read the facts after `after_seq`, up to `up_to_seq`."""
        for page in repository.pages_with_terms(after_seq, up_to_seq, _KINDS):
            searches, carts = self._split_searches_and_carts(page)
            self._searches.add(searches)
            if self.terms:  # else there is no search to attribute them to
                self._carts.add(carts)

    def intents(self, language: LanguageAnalyzer) -> list[str]:
        """Return the intent of each of `terms`, cached."""
        code, intents = self._intents
        if code != language.code:
            intents = []
        intents += [
            AnalysedQuery.of(term, language).intent for term in self.terms[len(intents) :]
        ]
        self._intents = (language.code, intents)
        return intents

    def interactions(
        self, now_ms: int, purchases: SearchInteractionRows
    ) -> SearchInteractions:
        """Return the interactions after searches; `queries` are indexes into `terms`."""
        searches = self.searches
        clicks = _select(searches, searches.items != _NO_ITEM)
        columns = [_interaction_columns(clicks, clicks.queries.astype(np.int64), CLICK)]
        first_ms = searches.times.min(initial=now_ms)
        for rows, window_ms, weight in (
            (self._carts.join_pages(), _CART_WINDOW_MS, CART),
            (_select(purchases, purchases.times >= first_ms), _BUY_WINDOW_MS, PURCHASE),
        ):
            by_click = _last_query_before(rows, clicks, window_ms, same_item=True)
            by_search = _last_query_before(rows, searches, _SESSION_MS, same_item=False)
            queries = np.where(by_click >= 0, by_click, by_search)
            columns.append(_interaction_columns(rows, queries, weight))
        queries, items, shoppers, weights, times = (
            np.concatenate(column) for column in zip(*columns, strict=True)
        )
        ages = ((now_ms - times) / DAY_MS).clip(min=0)
        is_recent = ages * DAY_MS <= _HISTORY_MS
        return SearchInteractions(
            queries[is_recent],
            items[is_recent],
            shoppers[is_recent],
            weights[is_recent],
            ages[is_recent],
        )

    def _split_searches_and_carts(
        self, page: Sequence[Sequence[Any]]
    ) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return the searches and the carts of a page of the log."""
        searches, carts = [], []
        for seq, ts, kind, item, term, shopper, session in page:
            number = _NO_ITEM if item is None else item
            if kind == EventKind.ADD_TO_CART:
                if item is not None:
                    carts.append((seq, ts, number, shopper, session, 0))
            elif term:
                query = self._assign_number(str(term))
                searches.append((seq, ts, number, shopper, session, query))
        return searches, carts

    def _assign_number(self, term: str) -> int:
        number = self._numbers.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number


def _to_rows(rows: Sequence[Sequence[Any]]) -> SearchInteractionRows:
    """Return rows of (seq, ts, item, shopper, session, query) as arrays."""
    columns = zip(*rows, strict=True) if rows else [()] * len(SearchInteractionRows._fields)
    seqs, times, items, shoppers, sessions, queries = columns
    codes = {name: visitor_hash(name) for name in {*shoppers, *sessions} if name}
    return SearchInteractionRows(
        np.array(seqs, np.int64),
        np.array(times, np.int64),
        np.array(items, np.int32),
        np.array([codes.get(name, _UNKNOWN) for name in shoppers], np.int64),
        np.array([codes.get(name, _UNKNOWN) for name in sessions], np.int64),
        np.array(queries, np.int32),
    )


def _select(rows: SearchInteractionRows, is_selected: Bools) -> SearchInteractionRows:
    return SearchInteractionRows._make(column[is_selected] for column in rows)


def _interaction_columns(
    interactions: SearchInteractionRows, queries: Ints, weight: float
) -> Columns:
    """Return queries, items, shoppers, weights and times of those with a query."""
    has_query = queries >= 0
    searchers = np.where(
        interactions.sessions != _UNKNOWN, interactions.sessions, interactions.shoppers
    )
    weights = np.full(int(has_query.sum()), weight)
    items = interactions.items[has_query].astype(np.int64)
    return (
        queries[has_query],
        items,
        searchers[has_query],
        weights,
        interactions.times[has_query],
    )


def _last_query_before(
    interactions: SearchInteractionRows,
    searches: SearchInteractionRows,
    window_ms: int,
    *,
    same_item: bool,
) -> Ints:
    """Return the query of the last search before each row by the same shopper; -1: none.

    A shopper is matched by session or identity.
    """
    last_times = np.full(len(interactions.times), -1, dtype=np.int64)
    last_queries = np.full(len(interactions.times), -1, dtype=np.int64)
    if not len(interactions.times) or not len(searches.times):
        return last_queries
    for own_keys, other_keys in (
        (interactions.shoppers, searches.shoppers),
        (interactions.sessions, searches.sessions),
    ):
        search_index = _last_search_index_before(
            interactions, searches, own_keys, other_keys, same_item=same_item
        )
        is_later = search_index >= 0
        times = np.where(is_later, searches.times[search_index], -1)
        is_later &= (times > last_times) & (interactions.times - times <= window_ms)
        last_queries[is_later] = searches.queries[search_index[is_later]]
        last_times[is_later] = times[is_later]
    return last_queries


def _last_search_index_before(
    interactions: SearchInteractionRows,
    searches: SearchInteractionRows,
    own_keys: Ints,
    other_keys: Ints,
    *,
    same_item: bool,
) -> Ints:
    """Return the index of the last search of each row's group before it; -1: none.

    `own_keys` are the shoppers of the interactions, `other_keys` those of the searches.
    """
    salt = np.int64(0x9E3779B97F4A7C15 - (1 << 64)) if same_item else np.int64(0)
    with np.errstate(over="ignore"):
        row_keys = own_keys ^ (interactions.items * salt)
        search_keys = other_keys ^ (searches.items * salt)
    _, groups = np.unique(np.concatenate((search_keys, row_keys)), return_inverse=True)
    # Events of one page share a timestamp: the log order breaks ties.
    times = np.concatenate((searches.times, interactions.times))
    seqs = np.concatenate((searches.seqs, interactions.seqs))
    order = np.lexsort((seqs, times, groups))
    is_search = order < len(searches.times)
    last_search_place = np.maximum.accumulate(
        np.where(is_search, np.arange(len(order)), -1)
    )
    search_before = np.full(len(order), -1, dtype=np.int64)
    search_before[order] = np.where(last_search_place >= 0, order[last_search_place], -1)
    search_index = search_before[len(searches.times) :]
    row_groups = groups[len(searches.times) :]
    is_same_group = (
        (search_index >= 0) & (groups[search_index] == row_groups) & (own_keys != _UNKNOWN)
    )
    return np.where(is_same_group, search_index, -1)
