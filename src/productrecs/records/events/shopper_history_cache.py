"""Shopper history cache: what a shopper did and bought, as of the last commit.

Each request reads the head of the store's log (one row). If the log has grown, the new rows
are read and added to the cached histories. So a cached shopper needs no query of their own,
whichever process received their events.
"""

from array import array
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId, visitor_hash
from productrecs.records.events.event import EventKind
from productrecs.records.events.shopper_histories.repository import (
    ACTION_LIMIT,
    LINK,
    SHOWN_LIMIT,
    customer_of_session_and_is_former_id,
    facts_after,
    facts_of_person,
    term_of_event,
)
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_counters_and_versions import log_seq_and_losses

HALF_LIFE_MS: Final = 7 * DAY_MS  # since the product's last impression
_MIN_IMPRESSIONS: Final = 2  # impressions; products with fewer are not reported
_ACTED_ON: Final = -1


def _empty_int32() -> "array[int]":
    return array("i")


def _empty_int64() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class RecentImpressions:
    """One shopper's last impressions, newest last: parallel arrays."""

    items: "array[int]" = field(default_factory=_empty_int32)  # _ACTED_ON after an action
    times: "array[int]" = field(default_factory=_empty_int64)  # UTC ms
    actions_at: "array[int]" = field(
        default_factory=_empty_int32
    )  # `action_count` at the impression
    action_count: int = 0  # actions so far, without impressions and purchases
    newest_ms: int = 0  # of all facts, including impressions

    def add(self, item: int, ts: int) -> None:
        """Add an impression."""
        self.items.append(item)
        self.times.append(ts)
        self.actions_at.append(self.action_count)
        if len(self.items) > SHOWN_LIMIT:
            self._drop_oldest(len(self.items) - SHOWN_LIMIT)

    def add_action(self, item: int | None, *, is_purchase: bool) -> None:
        """Add any other action, with or without a product."""
        if not self.items:
            self.action_count += not is_purchase
            return
        if item is not None and item in self.items:
            for index, shown in enumerate(self.items):
                if shown == item:
                    self.items[index] = _ACTED_ON
        if not is_purchase:
            self.action_count += 1
            old = 0
            while (
                old < len(self.items)
                and self.action_count - self.actions_at[old] >= ACTION_LIMIT
            ):
                old += 1
            self._drop_oldest(old)

    def discounted_repeat_counts(self, now_ms: int) -> dict[int, float]:
        """Return the impression counts of products shown more than twice, discounted.

        A count halves with every week since the product was last shown.
        """
        if len(self.items) <= _MIN_IMPRESSIONS:
            return {}
        last = dict(zip(self.items, self.times, strict=True))
        return {
            item: times * 0.5 ** (max(now_ms - last[item], 0) / HALF_LIFE_MS)
            for item, times in Counter(self.items).items()
            if times > _MIN_IMPRESSIONS and item != _ACTED_ON
        }

    def _drop_oldest(self, count: int) -> None:
        for column in (self.items, self.times, self.actions_at):
            del column[:count]


MAX_RECENT: Final = 50
PERSON_BYTES: Final = 2_000  # measured at 20 facts and 24 impressions each
_CHANGES_LIMIT: Final = 2_000
_NAMES_PER_PERSON: Final = 4
_SIGNALS_LIMIT: Final = 5

_BUY: Final = int(EventKind.BUY)
_SHOWN_ONLY: Final = int(EventKind.REC_IMPRESSION)
_SIGNAL_KINDS: Final = frozenset(
    map(int, (EventKind.CATEGORY_VIEW, EventKind.SEARCH_PREF, EventKind.METADATA_PREF))
)
_BY_TIME: Final = itemgetter(2, 1)


class TermInterest(NamedTuple):
    """A shopper's interest: a category, a query, a brand or a colour."""

    kind: int  # EventKind
    term: str
    action_count: int  # the shopper's product actions before it
    session: int = 0  # the code of its session


@dataclass(slots=True)
class ShopperHistory:
    """One person's history: recent item numbers, the newest last, and all purchases.

    A session's code is the hash of its id, or 0 for a fact without a session.
    """

    person: str
    seq: int = -1  # the log position up to which it was read
    recent: "array[int]" = field(default_factory=_empty_int64)  # up to RECENT_LIMIT
    bought: "array[int]" = field(default_factory=_empty_int64)  # all purchases, newest last
    bought_at: "array[int]" = field(default_factory=_empty_int64)  # times of `bought`
    newest_ms: int = 0
    visitor: int = 0  # core.ids.visitor_hash of their newest visit
    interest_signals: tuple[TermInterest, ...] = ()  # newest last, up to _SIGNALS_LIMIT
    action_count: int = 0  # product actions read so far
    shown: RecentImpressions = field(default_factory=RecentImpressions)
    recent_kinds: bytearray = field(default_factory=bytearray)  # EventKind of each recent
    recent_sessions: "array[int]" = field(default_factory=_empty_int64)  # of each recent
    bought_sessions: "array[int]" = field(default_factory=_empty_int64)  # of `bought`

    @property
    def recent_purchases(self) -> "array[int]":
        """The latest purchases, newest last."""
        return self.bought[-MAX_RECENT:]

    def purchases_since(self, since_ms: int) -> "array[int]":
        """Return the purchases after `since_ms`, newest last."""
        return self.bought[bisect_right(self.bought_at, since_ms) :]

    def limited_to_sessions(self, sessions: frozenset[int]) -> "ShopperHistory":
        """Return what these sessions did; itself if that is everything.

        A part of a history has no impression fatigue, because a purchase would end it.
        """
        if (
            sessions.issuperset(self.bought_sessions)
            and sessions.issuperset(self.recent_sessions)
            and sessions.issuperset([signal.session for signal in self.interest_signals])
        ):
            return self
        recent = _indexes_of_sessions(sessions, self.recent_sessions)
        bought = _indexes_of_sessions(sessions, self.bought_sessions)
        return replace(
            self,
            recent=_take_indexes(self.recent, recent),
            recent_kinds=bytearray([self.recent_kinds[index] for index in recent]),
            recent_sessions=_take_indexes(self.recent_sessions, recent),
            bought=_take_indexes(self.bought, bought),
            bought_at=_take_indexes(self.bought_at, bought),
            bought_sessions=_take_indexes(self.bought_sessions, bought),
            interest_signals=tuple(
                [signal for signal in self.interest_signals if signal.session in sessions]
            ),
            shown=RecentImpressions(),
        )

    def add_impression(self, seq: int, ts: int, item: int) -> None:
        """Add one impression, as `apply_facts` does."""
        self.seq = max(self.seq, seq)
        self.shown.newest_ms = max(self.shown.newest_ms, ts)
        self.shown.add(item, ts)

    def apply_facts(self, facts: Sequence[tuple[Any, ...]]) -> None:
        """Go on by facts (kind, seq, ts, item, session, term), in the order of their times.

        A fact without an item is a signal if it has a term, else it is skipped. Impressions
        are stored apart: they are not actions of the shopper.
        """
        if not facts:
            return
        self.seq = max(self.seq, *[fact[1] for fact in facts])
        facts = self._split_off_impressions(facts)
        if not facts:
            return
        self.newest_ms = max(self.newest_ms, facts[-1][2])
        self.visitor = visitor_hash(facts[-1][4] or self.person)
        if any(fact[3] is None for fact in facts):
            facts = self._split_off_interest_signals(facts)
        self.action_count += len(facts)
        self.recent.extend([fact[3] for fact in facts[-MAX_RECENT:]])
        self.recent_kinds.extend([fact[0] for fact in facts[-MAX_RECENT:]])
        codes = _session_codes(facts)
        self.recent_sessions.extend([codes[fact[4]] for fact in facts[-MAX_RECENT:]])
        del self.recent[:-MAX_RECENT], self.recent_kinds[:-MAX_RECENT]
        del self.recent_sessions[:-MAX_RECENT]
        purchases = [fact for fact in facts if fact[0] == _BUY]
        self.bought.extend([fact[3] for fact in purchases])
        self.bought_at.extend([fact[2] for fact in purchases])
        self.bought_sessions.extend([codes[fact[4]] for fact in purchases])

    def _split_off_impressions(
        self, facts: Sequence[tuple[Any, ...]]
    ) -> Sequence[tuple[Any, ...]]:
        shown, actions = self.shown, []
        shown.newest_ms = max(shown.newest_ms, facts[-1][2])
        for fact in facts:
            if fact[0] == _SHOWN_ONLY:
                shown.add(fact[3], fact[2])
            else:
                shown.add_action(fact[3], is_purchase=fact[0] == _BUY)
                actions.append(fact)
        return actions

    def _split_off_interest_signals(
        self, facts: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        about_items: list[tuple[Any, ...]] = []
        for fact in facts:
            if fact[3] is not None:
                about_items.append(fact)
            elif fact[5]:
                signal = TermInterest(
                    fact[0],
                    fact[5],
                    self.action_count + len(about_items),
                    _session_codes([fact])[fact[4]],
                )
                self.interest_signals = (*self.interest_signals, signal)[-_SIGNALS_LIMIT:]
        return about_items


def _indexes_of_sessions(sessions: frozenset[int], column: "array[int]") -> list[int]:
    return [place for place, session in enumerate(column) if session in sessions]


def _take_indexes(column: "array[int]", places: Sequence[int]) -> "array[int]":
    return array("q", [column[place] for place in places])


def _session_codes(facts: Sequence[tuple[Any, ...]]) -> dict[str | None, int]:
    """Return the code of each session of the facts."""
    names = {fact[4] for fact in facts}
    return {name: 0 if name is None else visitor_hash(name) for name in names}


class ResolvedShopper(NamedTuple):
    """The person that a caller's name stands for."""

    person: str
    is_former: bool = False  # the shop's server linked the name to the person's new id


class ShopperHistoryCache:
    """The histories of one store's shoppers; an LRU cache."""

    def __init__(
        self, store_id: StoreId, limit: int = RegisteredCache.SHOPPER_HISTORIES.limit
    ) -> None:
        """Cache up to `limit` people."""
        self._store_id = store_id
        self._limit = limit
        self._histories: OrderedDict[str, ShopperHistory] = OrderedDict()
        self._names: dict[str, ResolvedShopper] = {}  # as used by callers -> as stored
        self._read_seq = -1  # the log position up to which changes were read
        self._removals = 0  # how often the log had lost events at the last read

    def memory_bytes(self) -> int:
        """Return the approximate memory size."""
        return len(self._histories) * PERSON_BYTES

    def history_of(
        self, shopper: str, reader: RawReader, *, is_proven: bool = False
    ) -> ShopperHistory:
        """Return the shopper's current history; empty for an unknown shopper.

        A proven customer's id is their own, although somebody claimed that it is another
        customer's session.
        """
        self._refresh_from_log(reader)
        name = self._names.get(shopper)
        if name is None or name.person not in self._histories:
            name = self._resolve_shopper(shopper, reader)
        is_own = is_proven and not name.is_former
        return self._cached_or_read_history(shopper if is_own else name.person, reader)

    def is_former(self, shopper: str) -> bool:
        """Return whether a name that was looked up is a customer's former id."""
        name = self._names.get(shopper)
        return name is not None and name.is_former

    def _refresh_from_log(self, reader: RawReader) -> None:
        head, removals = log_seq_and_losses(reader, self._store_id)
        if head == self._read_seq:
            return
        if removals != self._removals:  # a shopper was erased, or was a bot
            self._removals = removals
            self._histories.clear()
            self._names.clear()
        if self._histories:
            changes = facts_after(
                reader, self._store_id, self._read_seq, _CHANGES_LIMIT + 1
            )
            if len(changes) > _CHANGES_LIMIT:  # after an import, or a long idle time
                self._histories.clear()
                self._names.clear()
            else:
                self._apply_changes_to_cached(changes)
                head = max([head, *(row[1] for row in changes[-1:])])
        self._read_seq = head

    def _apply_changes_to_cached(self, changes: Sequence[tuple[Any, ...]]) -> None:
        for kind, seq, ts, item, session, person, first_seq, term in changes:
            if kind == LINK:  # a session's past moves to a customer: reload both
                self._names.pop(session, None)
                self._histories.pop(session, None)
                self._histories.pop(person, None)
                continue
            history = self._histories.get(person)
            if history is None or seq <= history.seq:
                continue
            if item is None and kind not in _SIGNAL_KINDS:
                continue
            if first_seq != seq or ts < history.shown.newest_ms:
                # It is older than what was read: reload the history. (An order id that was
                # used twice can take the line from another person: theirs is not reloaded.)
                del self._histories[person]
            elif kind == _SHOWN_ONLY:  # the most frequent kind
                history.add_impression(seq, ts, item)
            else:
                history.apply_facts([(kind, seq, ts, item, session, term)])

    def _with_newest_signal_terms(
        self, facts: Sequence[tuple[Any, ...]], reader: RawReader
    ) -> list[tuple[Any, ...]]:
        """Return facts, with the terms of the newest signals: a query for each."""
        signals = [
            fact[1] for fact in facts if fact[3] is None and fact[0] in _SIGNAL_KINDS
        ]
        terms: dict[int, str | None] = {}
        for seq in signals[-_SIGNALS_LIMIT:]:
            terms[seq] = term_of_event(reader, self._store_id, seq)
        return [(*fact, terms.get(fact[1])) for fact in facts]

    def _resolve_shopper(self, shopper: str, reader: RawReader) -> ResolvedShopper:
        name = ResolvedShopper(
            *customer_of_session_and_is_former_id(reader, self._store_id, shopper)
        )
        if len(self._names) >= self._limit * _NAMES_PER_PERSON:
            self._names.clear()
        self._names[shopper] = name
        return name

    def _cached_or_read_history(self, person: str, reader: RawReader) -> ShopperHistory:
        history = self._histories.get(person)
        if history is not None:
            self._histories.move_to_end(person)
            return history
        facts = facts_of_person(reader, self._store_id, person)
        history = self._histories[person] = ShopperHistory(person, self._read_seq)
        history.apply_facts(
            self._with_newest_signal_terms(sorted(facts, key=_BY_TIME), reader)
        )
        if len(self._histories) > self._limit:
            self._histories.popitem(last=False)
        return history
