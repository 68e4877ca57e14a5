"""Event log: appends events as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EVENT_SUBJECTS, EventSubject, NewEvent
from productrecs.storage.store_log import StoreLog
from productrecs.storage.tables import events as events_table


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its place in the log, its time and the person behind it."""

    event: NewEvent
    seq: int
    ts: int
    person: str
    imported: bool


def append_events(
    log: StoreLog,
    placed: Sequence[LoggedEvent],
    numbers: Mapping[str, int],
    linked: Mapping[str, str],
) -> None:
    """Write events to the log; `linked` sessions became a customer's meanwhile."""
    rows = [_row(log.store_id, one, numbers, linked) for one in placed]
    log.database.insert_rows(log.transaction, events_table, rows)


def is_about_product(event: NewEvent) -> bool:
    """Return whether `item_id` is a product's, not a category's or a brand's."""
    return (
        event.item_id is not None
        and EVENT_SUBJECTS[event.kind] is not EventSubject.INDICATOR
    )


def _row(
    store_id: StoreId,
    one: LoggedEvent,
    numbers: Mapping[str, int],
    linked: Mapping[str, str],
) -> tuple[object, ...]:
    event = one.event
    return (
        store_id,
        one.seq,
        one.ts,
        int(event.kind),
        numbers[event.item_id] if event.item_id and is_about_product(event) else None,
        event.shopper,
        linked.get(one.person, one.person),
        event.session_id,
        event.term,
        event.value,
        event.currency,
        event.quantity,
        event.source,
        event.position,
        event.widget,
        one.imported,
    )
