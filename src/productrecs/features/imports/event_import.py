"""Event import: stores the events of a JSON lines file; it continues where it stopped."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.import_source import ImportSource
from productrecs.records.events.event import NewEvent
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.records.orders.order_history_import import RowCountsAndErrors
from productrecs.schemas.events import EVENT_LIMIT, parse_imported_event
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store import Store

CHUNK: Final = 2_000
"""Lines per transaction: it holds the write lock for about 50 ms."""

_KIND: Final = "events"

_Line = tuple[int, list[NewEvent]]  # a line's number and its events


@dataclass(slots=True)
class EventImportReport(RowCountsAndErrors):
    """The result of an event import; `rows_known` lines were imported before."""

    events_stored: int = 0
    rows_known: int = 0


@dataclass(frozen=True, slots=True)
class _FilePosition:
    """The position in a file: with the file's digest it identifies each line."""

    digest: str
    line: int


def import_event_file(
    services: ImportServices,
    store: Store,
    source: ImportSource,
    on_bytes: Callable[[int], None],
) -> EventImportReport:
    """Store every event of a JSON lines file at its own time; return the result.

    Raises:
        StorageError: earlier lines stay imported; the same file continues from there.
    """
    digest = source.digest()
    with services.database.reading() as connection:
        imported = (
            EventRepository(connection, store.store_id).lines_imported(_KIND, digest) or 0
        )
    report = EventImportReport(rows_known=imported)
    chunk: list[_Line] = []
    number = 0
    for number, line in enumerate(_read_lines_cut_at_limit(source.file, on_bytes), start=1):
        if number <= imported or not line.strip():
            continue
        report.rows += 1
        events = _parse_events_or_count_skipped(line, number, store, report)
        if events is not None:
            chunk.append((number, events))
        if len(chunk) == CHUNK:
            report.events_stored += _store_chunk_and_position(
                services, store, chunk, _FilePosition(digest, number)
            )
            chunk = []
    if number > imported:
        report.events_stored += _store_chunk_and_position(
            services, store, chunk, _FilePosition(digest, number)
        )
    return report


def _read_lines_cut_at_limit(
    file: BinaryIO, on_bytes: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield each line, cut at the size limit (a cut line is not a valid event)."""
    file.seek(0)
    while line := file.readline(EVENT_LIMIT):
        on_bytes(len(line))
        yield line
        while len(line) == EVENT_LIMIT and not line.endswith(b"\n"):
            line = file.readline(EVENT_LIMIT)
            on_bytes(len(line))


def _parse_events_or_count_skipped(
    line: bytes, number: int, store: Store, report: EventImportReport
) -> list[NewEvent] | None:
    try:
        return parse_imported_event(parse_json(line), store.settings.zone)
    except InvalidInputError as error:
        report.add_skipped(number, str(error))
        return None


def _store_chunk_and_position(
    services: ImportServices, store: Store, chunk: Iterable[_Line], position: _FilePosition
) -> int:
    now_ms = services.clock()
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(
            services.database, transaction, store.store_id, services.numbers
        )
        log.take_seqs(0)  # a concurrent import of the same file waits here
        repository = EventRepository(transaction, store.store_id)
        imported = repository.lines_imported(_KIND, position.digest) or 0
        new_events = [events for number, events in chunk if number > imported]
        stored = ingest_events(log, new_events, now_ms, imported=True)
        last_line = max(imported, position.line)
        repository.set_lines_imported(_KIND, position.digest, last_line, now_ms)
    log.cache_committed_numbers()
    return stored
