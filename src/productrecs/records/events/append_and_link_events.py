"""Event log: appends events as rows, and links sessions and customers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, Protocol, Self

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import (
    EVENT_SUBJECTS,
    INHUMAN_RATE,
    EventSubject,
    NewEvent,
)
from productrecs.records.events.repository import EventRepository
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import bot_events
from productrecs.storage.sql.tables import events as events_table

BEFORE_RECOGNITION_MS: Final = 10 * MINUTE_MS
"""A bot's events of this time before its rate showed are set aside too."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its log position, its time and its person."""

    event: NewEvent
    seq: int
    ts: int
    person: str
    imported: bool
    excess: bool = False


def append_events(
    log: StoreLogTransaction,
    logged_events: Sequence[LoggedEvent],
    numbers: Mapping[str, int],
    linked: Mapping[str, str],
) -> None:
    """Write events to the log; `linked` sessions were linked to a customer meanwhile."""
    rows = [
        _event_row(_LOG_ROWS, log.store_id, one, numbers, linked) for one in logged_events
    ]
    log.database.insert_rows(log.transaction, events_table, rows)


def append_bot_events_and_move_sessions(
    log: StoreLogTransaction,
    logged_events: Sequence[LoggedEvent],
    numbers: Mapping[str, int],
    now_ms: int,
) -> None:
    """Store the events of bots, apart from the log.

    Sessions with an inhuman rate take their last minutes' events along: events without a
    session may be another's. Processes that cache the log are notified if there were any.
    """
    rows = [
        _event_row(_BOT_ROWS, log.store_id, logged, numbers, {}) for logged in logged_events
    ]
    log.database.insert_rows(log.transaction, bot_events, rows)
    of_fast_sessions = [
        logged.event for logged in logged_events if logged.event.bot == INHUMAN_RATE
    ]
    sessions = {event.session_id for event in of_fast_sessions if event.session_id}
    if sessions:
        customers = {event.user_id for event in of_fast_sessions if event.user_id}
        repository = EventRepository(log.transaction, log.store_id)
        since_ms = now_ms - BEFORE_RECOGNITION_MS
        repository.move_bot_sessions(sorted(sessions), sorted(customers), since_ms)


def is_about_product(event: NewEvent) -> bool:
    """Return whether `item_id` names a product, not a category or a brand."""
    return (
        event.item_id is not None
        and EVENT_SUBJECTS[event.kind] is not EventSubject.INDICATOR
    )


_DERIVED: Final = (
    *("store_id", "seq", "ts", "kind", "item", "shopper", "person", "session"),
    *("imported", "excess"),
)
"""Columns that are computed, in the order of `_event_row`; others are an event's fields."""


class _EventRowLayout(NamedTuple):
    """The columns of a table: an event's fields, and the order of all columns."""

    fields: Callable[[NewEvent], tuple[object, ...]]
    in_order: Callable[[tuple[object, ...]], tuple[object, ...]]  # of derived, then fields

    @classmethod
    def of(cls, columns: Sequence[str]) -> Self:
        """Return the form of rows with these columns."""
        fields = [name for name in columns if name not in _DERIVED]
        places = {name: place for place, name in enumerate((*_DERIVED, *fields))}
        return cls(attrgetter(*fields), itemgetter(*map(places.__getitem__, columns)))


_LOG_ROWS: Final = _EventRowLayout.of(events_table.c.keys())
_BOT_ROWS: Final = _EventRowLayout.of(bot_events.c.keys())


def _event_row(
    layout: _EventRowLayout,
    store_id: StoreId,
    logged: LoggedEvent,
    numbers: Mapping[str, int],
    linked: Mapping[str, str],
) -> tuple[object, ...]:
    event = logged.event
    person = linked.get(logged.person, logged.person)
    derived = (
        store_id,
        logged.seq,
        logged.ts,
        int(event.kind),
        numbers[event.item_id] if event.item_id and is_about_product(event) else None,
        "" if event.shopper == event.session_id else event.shopper,
        person,
        "" if event.session_id == person else event.session_id,
        logged.imported,
        logged.excess,
    )
    return layout.in_order((*derived, *layout.fields(event)))


def link_customer_ids(log: StoreLogTransaction, pairs: Sequence[tuple[str, str]]) -> int:
    """Link former ids of customers to new ones, as the shop's server says.

    A pair is (former, new). The new id gets the former one's history. Return how many
    pairs are linked now; a pair of one id, or one that would end in itself, is not.
    """
    repository = EventRepository(log.transaction, log.store_id)
    names = {name for pair in pairs for name in pair}
    stored = repository.confirmed_customers_of(names)
    claimed = repository.customers_of(names)
    final = dict(stored)
    linked = 0
    for former, new in pairs:
        target = final.get(new, new)
        if target == former:
            continue
        linked += 1
        final = {
            name: target if customer == former else customer
            for name, customer in final.items()
        }
        final[former] = target
    changed = [name for name in final if stored.get(name) != final[name]]
    # Somebody may have claimed that a new id is their session.
    usurped = [new for new in set(final.values()) if claimed.get(new, new) != new]
    first = log.take_seqs(len(changed) + len(usurped))
    new_links = [
        (name, final.get(name, name), first + index)
        for index, name in enumerate((*usurped, *changed))
    ]
    repository.link_sessions_and_move_facts(new_links, confirmed=True)
    return linked


class HasShopperIds(Protocol):
    """A record with a shopper's ids."""

    @property
    def user_id(self) -> str | None:
        """The customer id, if known."""

    @property
    def session_id(self) -> str | None:
        """The widget's session id."""

    @property
    def is_proven(self) -> bool:
        """Whether it is certain that `user_id` is the customer."""


class IdentityLinker:
    """Links the sessions and customers of one transaction's events and orders.

    Everybody may say that a session is a customer's, so a customer's id is never linked as
    a session: else anybody could join another customer's history to their own.
    """

    def __init__(self, repository: EventRepository, facts: Iterable[HasShopperIds]) -> None:
        """Look up the identities in `facts` in one query."""
        self._repository = repository
        names = (name for fact in facts for name in (fact.user_id, fact.session_id) if name)
        self._customers = repository.customers_of(names)
        self._linked_seq: dict[str, int] = {}  # session: the fact that linked it

    @property
    def linked(self) -> dict[str, str]:
        """The sessions that these facts linked, and their customers."""
        return {session: self._customers[session] for session in self._linked_seq}

    def person(self, name: str) -> str:
        """Return a session's customer; other names are returned unchanged."""
        return self._customers.get(name, name)

    def resolve_person_and_link(self, fact: HasShopperIds, seq: int) -> str | None:
        """Return a fact's person; a fact with both ids links its session to the customer.

        A later fact may link this person to another one: see `linked`.
        """
        if fact.user_id is None:
            return None if fact.session_id is None else self.person(fact.session_id)
        if fact.is_proven:
            self._end_unconfirmed_link(fact.user_id, seq)
        person, session = self.person(fact.user_id), fact.session_id
        if session and session != person and self._customers.get(session) != person:
            if session in self._customers.values() or self._repository.is_customer(session):
                return person
            self._customers[session] = person
            self._linked_seq[session] = seq
        return person

    def _end_unconfirmed_link(self, customer: str, seq: int) -> None:
        """End a link of a customer's id to somebody else that anybody may have claimed."""
        if self.person(customer) == customer:
            return
        if customer not in self._repository.confirmed_customers_of([customer]):
            self._customers[customer] = customer
            self._linked_seq[customer] = seq

    def store_links(self) -> None:
        """Store the links: a session's past facts become its customer's.

        Call it after the last `resolve_person_and_link`, and before purchases are read.
        """
        links = [
            (session, customer, self._linked_seq[session])
            for session, customer in self.linked.items()
        ]
        self._repository.link_sessions_and_move_facts(links)
