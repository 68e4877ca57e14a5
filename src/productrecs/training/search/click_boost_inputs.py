"""Click boost inputs: clicks on search results, and carts and purchases after them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    SearchInteractions,
)
from productrecs.engines.text.language_detection_and_stemming import (
    AnalysedQuery,
    LanguageAnalyzer,
)
from productrecs.records.events.event import EventKind
from productrecs.training.search.repository import SearchEventRepository

Ints = npt.NDArray[np.int64]
Columns = tuple[Ints, ...]

_CART_WINDOW_MS: Final = 24 * HOUR_MS
_BUY_WINDOW_MS: Final = 7 * DAY_MS
_SESSION_MS: Final = 30 * 60_000
"""Attribution window of a purchase to the last search, with or without a click."""

_HISTORY_MS: Final = 365 * DAY_MS
_UNKNOWN: Final = 0
_NO_ITEM: Final = -1


class _Rows(NamedTuple):
    """Interactions of shoppers, parallel arrays, in log order."""

    seqs: Ints  # sequence numbers in the log; a changed purchase line keeps its own
    times: Ints  # UTC ms
    items: Ints  # _NO_ITEM for a search without a click
    shoppers: Ints  # codes; _NOBODY if unknown
    sessions: Ints
    queries: Ints  # indexes of terms; 0 for carts and purchases


def _no_rows() -> _Rows:
    return _Rows(*(np.zeros(0, np.int64) for _ in _Rows._fields))


@dataclass(slots=True)
class SearchInputs:
    """One store's searches, and the carts and purchases since the first of them."""

    terms: list[str] = field(default_factory=list)  # by number
    searches: _Rows = field(default_factory=_no_rows)
    carts: _Rows = field(default_factory=_no_rows)
    purchases: _Rows = field(default_factory=_no_rows)
    _numbers: dict[str, int] = field(default_factory=dict)
    _intents: tuple[str, list[str]] = ("", [])  # intents of `terms` in one language

    @property
    def size(self) -> int:
        """Number of rows in memory."""
        return sum(len(rows.times) for rows in (self.searches, self.carts, self.purchases))

    def read_on(
        self, repository: SearchEventRepository, after_seq: int, up_to_seq: int
    ) -> None:
        """Read the facts after `after_seq`, up to `up_to_seq`."""
        searches, carts = [self.searches], [self.carts]
        for page in repository.events(after_seq, up_to_seq):
            found, added = self._events(page)
            searches.append(_rows(found))
            if self.terms:
                carts.append(_rows(added))
        self.searches, self.carts = _joined(searches), _joined(carts)
        if not self.terms:
            return  # no search to attribute anything to
        # A purchase line from before the first search may change later. It then counts as
        # one from before that search.
        changed, purchases = [np.zeros(0, np.int64)], []
        for lines in repository.purchases(after_seq, up_to_seq):
            latest = {row[0]: row for row in lines}
            changed.append(np.array(list(latest), dtype=np.int64))
            purchases.append(_rows([(*row[:5], 0) for row in latest.values() if row[5]]))
        if purchases:
            is_kept = ~np.isin(self.purchases.seqs, np.concatenate(changed))
            remaining = _Rows(*(column[is_kept] for column in self.purchases))
            self.purchases = _joined([remaining, *purchases])

    def intents(self, language: LanguageAnalyzer) -> list[str]:
        """Return the intent of each of `terms`, cached."""
        code, code_by_intent = self._intents
        if code != language.code:
            code_by_intent = []
        code_by_intent += [
            AnalysedQuery.of(term, language).intent
            for term in self.terms[len(code_by_intent) :]
        ]
        self._intents = (language.code, code_by_intent)
        return code_by_intent

    def choices(self, now_ms: int) -> SearchInteractions:
        """Return the interactions after searches; `queries` are indexes into `terms`."""
        searches = self.searches
        clicked = searches.items != _NO_ITEM
        clicks = _Rows(*(column[clicked] for column in searches))
        parts = [_chosen(clicks, clicks.queries, CLICK)]
        for rows, window_ms, weight in (
            (self.carts, _CART_WINDOW_MS, CART),
            (self.purchases, _BUY_WINDOW_MS, PURCHASE),
        ):
            by_click = _last_before(rows, clicks, window_ms, same_item=True)
            by_search = _last_before(rows, searches, _SESSION_MS, same_item=False)
            queries = np.where(by_click >= 0, by_click, by_search)
            parts.append(_chosen(rows, queries, weight))
        queries, items, shoppers, weights, times = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        ages = ((now_ms - times) / DAY_MS).clip(min=0)
        recent = ages * DAY_MS <= _HISTORY_MS
        return SearchInteractions(
            queries[recent], items[recent], shoppers[recent], weights[recent], ages[recent]
        )

    def _events(
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
                query = self._number(str(term))
                searches.append((seq, ts, number, shopper, session, query))
        return searches, carts

    def _number(self, term: str) -> int:
        number = self._numbers.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number


def _rows(rows: Sequence[Sequence[Any]]) -> _Rows:
    """Return rows of (seq, ts, item, shopper, session, query) as arrays."""
    if not rows:
        return _no_rows()
    seqs, times, items, shoppers, sessions, queries = zip(*rows, strict=True)
    return _Rows(
        np.array(seqs, np.int64),
        np.array(times, np.int64),
        np.array(items, np.int64),
        _codes(shoppers),
        _codes(sessions),
        np.array(queries, np.int64),
    )


def _joined(pages: Sequence[_Rows]) -> _Rows:
    if len(pages) == 1:
        return pages[0]
    return _Rows(*(np.concatenate(column) for column in zip(*pages, strict=True)))


def _codes(names: Sequence[str | None]) -> Ints:
    codes = [visitor_hash(name) if name else _UNKNOWN for name in names]
    return np.array(codes, dtype=np.int64)


def _chosen(rows: _Rows, queries: Ints, weight: float) -> Columns:
    """Return queries, items, shoppers, weights and times of the rows with a query."""
    has = queries >= 0
    searchers = np.where(rows.sessions != _UNKNOWN, rows.sessions, rows.shoppers)
    weights = np.full(int(has.sum()), weight)
    return queries[has], rows.items[has], searchers[has], weights, rows.times[has]


def _last_before(rows: _Rows, searches: _Rows, window_ms: int, *, same_item: bool) -> Ints:
    """Return the query of the last search before each row by the same shopper; -1: none.

    A shopper is matched by session or identity.
    """
    best_times = np.full(len(rows.times), -1, dtype=np.int64)
    best = np.full(len(rows.times), -1, dtype=np.int64)
    if not len(rows.times) or not len(searches.times):
        return best
    for own_keys, other_keys in (
        (rows.shoppers, searches.shoppers),
        (rows.sessions, searches.sessions),
    ):
        found = _matched(rows, searches, own_keys, other_keys, same_item=same_item)
        code_by_intent = found >= 0
        times = np.where(code_by_intent, searches.times[found], -1)
        code_by_intent &= (times > best_times) & (rows.times - times <= window_ms)
        best[code_by_intent], best_times[code_by_intent] = (
            searches.queries[found[code_by_intent]],
            times[code_by_intent],
        )
    return best


def _matched(
    rows: _Rows, searches: _Rows, own_keys: Ints, other_keys: Ints, *, same_item: bool
) -> Ints:
    """Return the index of the last search of each row's group before it; -1: none.

    `own_keys` are the shoppers of the rows, `other_keys` those of the searches.
    """
    salt = np.int64(0x9E3779B97F4A7C15 - (1 << 64)) if same_item else np.int64(0)
    with np.errstate(over="ignore"):
        row_keys = own_keys ^ (rows.items * salt)
        search_keys = other_keys ^ (searches.items * salt)
    _, groups = np.unique(np.concatenate((search_keys, row_keys)), return_inverse=True)
    # Events of one page share a timestamp: the log order breaks ties.
    times = np.concatenate((searches.times, rows.times))
    seqs = np.concatenate((searches.seqs, rows.seqs))
    order = np.lexsort((seqs, times, groups))
    is_search = order < len(searches.times)
    last = np.maximum.accumulate(np.where(is_search, np.arange(len(order)), -1))
    before = np.full(len(order), -1, dtype=np.int64)
    before[order] = np.where(last >= 0, order[last], -1)
    found = before[len(searches.times) :]
    of_row = groups[len(searches.times) :]
    same = (found >= 0) & (groups[found] == of_row) & (own_keys != _UNKNOWN)
    return np.where(same, found, -1)
