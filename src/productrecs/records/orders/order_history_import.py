"""Order history import: imports a file of past orders as purchases, in chunks.

A line updates the stored line of its order and item, but only in the fields that it has. It
takes precedence over `buy` events and order sync. An interrupted import resumes where it
stopped; the result is the same as without interruption.

The report has the progress, and the imported and skipped rows of a file.
"""

import time as watch
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, tzinfo
from typing import BinaryIO, Final, Protocol

from productrecs.core.csv_reader import (
    BrokenRow,
    CsvFormat,
    Row,
    detect_time_format,
    inspect_csv,
    read_rows,
)
from productrecs.core.ids import StoreId
from productrecs.records.erasures.repository import erased_names_in
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.order_and_purchase_ledger import (
    OrderLineMerger,
    OrderLineOutcome,
    PurchaseLedger,
)
from productrecs.records.orders.order_history_line import (
    ANY_TIME,
    AcceptedTimes,
    NotAPurchaseError,
    OrderHistoryLine,
    OrderHistoryLineReader,
    UnreadableRowError,
    row_message,
    time_problem,
)
from productrecs.records.orders.repeated_lines import (
    RepeatedLineMerger,
    count_repeated_keys,
)
from productrecs.records.purchases.repository import (
    OrderImportProgress,
    PurchaseChannel,
    PurchaseLine,
    PurchaseRepository,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreLogTransaction,
)

MAX_ERRORS: Final = 100
"""The most errors that are listed; all are counted."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """The reason for a skipped row; rows are numbered as in a spreadsheet from 1.

    `message` says all; where one cell is at fault, it is put together of the others.
    """

    row: int
    message: str
    column: str = field(default="", compare=False)
    value: str = field(default="", compare=False)
    problem: str = field(default="", compare=False)


@dataclass(slots=True)
class RowCountsAndErrors:
    """The row counts of one file, and up to `max_errors` of its errors."""

    rows: int = 0
    rows_skipped: int = 0
    errors: list[SkippedRow] = field(default_factory=list)
    max_errors: int = MAX_ERRORS

    def add_skipped(
        self, row: int, problem: str, column: str = "", value: str = ""
    ) -> None:
        """Count a skipped row; a `column` is our name of the cell at fault."""
        self.rows_skipped += 1
        if len(self.errors) < self.max_errors:
            message = row_message(problem, column, value)
            self.errors.append(SkippedRow(row, message, column, value, problem))

    def rename_columns_in_errors(self, names: Mapping[str, str]) -> None:
        """Call the columns as the file does: `names` has its names by ours."""
        for place, one in enumerate(self.errors):
            column = names.get(one.column, one.column)
            message = row_message(one.problem, column, one.value)
            self.errors[place] = replace(one, message=message, column=column)


MAX_UNDATED: Final = 10
"""How many rows with an unreadable time are listed."""


@dataclass(slots=True)
class OrderHistoryImportReport(RowCountsAndErrors):
    """The result of an import: `lines_imported` are new, `lines_updated` were changed.

    `lines` is the number of order lines in all rows that could be read; `lines_repeated`
    had the order and the item of another row of the file, and replaced it, or were added
    to it where `adds_repeats`.
    `rows_undated` had no readable time; `undated` lists the first of those with a text.
    `not_bought` counts the rows of orders that are not purchases, such as cancelled ones,
    by the order's status. All other rows repeated stored data.
    """

    lines: int = 0
    lines_imported: int = 0
    lines_updated: int = 0
    lines_repeated: int = 0
    adds_repeats: bool = False
    rows_undated: int = 0
    undated: list[SkippedRow] = field(default_factory=list)
    not_bought: dict[str, int] = field(default_factory=dict)

    def add_undated(self, row: int, text: str) -> None:
        """Count a row with the unreadable time `text`."""
        self.rows_undated += 1
        if text and len(self.undated) < MAX_UNDATED:
            self.undated.append(SkippedRow(row, f"{text[:40]!r} {time_problem(text)}"))

    def add_not_purchased(self, status: str) -> None:
        """Count a row of an order that is not a purchase."""
        self.not_bought[status] = self.not_bought.get(status, 0) + 1


class LineChangeJournal(Protocol):
    """Stores what one import changes, so that it can be undone."""

    def first_seq(self, log: StoreLogTransaction) -> int | None:
        """Return where the import's first change is in the log; None before it."""

    def add_lines(
        self,
        log: StoreLogTransaction,
        span: tuple[int, int],
        changes: Sequence[tuple[PurchaseLine, PurchaseLine]],
    ) -> None:
        """Store which lines changed, within the transaction of the log."""


class ImportProgressStore(Protocol):
    """Stores the progress of one import in the transaction of the given log."""

    def start(self) -> OrderImportProgress:
        """Return the progress so far; empty for a new import."""

    def record(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> None:
        """Store the progress with the lines of this transaction."""

    def finish(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
    ) -> None:
        """Store that the whole file is imported."""


@dataclass(frozen=True)
class DigestProgressStore:
    """Progress by file digest: the same file resumes where its import was interrupted.

    The progress is deleted after a complete import: the next upload of the file is new,
    and overwrites later changes.
    """

    database: Database
    store_id: StoreId
    digest: str
    submitted_ms: int

    def start(self) -> OrderImportProgress:
        """Return this file's progress, and the time of its first upload."""
        with self.database.reading() as connection:
            repository = PurchaseRepository(connection, self.store_id)
            found = repository.import_progress(self.digest)
        return found or OrderImportProgress(self.digest, self.submitted_ms)

    def record(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,  # noqa: ARG002 - only `finish` uses it
    ) -> None:
        """Store the progress."""
        PurchaseRepository(log.transaction, self.store_id).store_import_progress(progress)

    def finish(
        self,
        log: StoreLogTransaction,
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,  # noqa: ARG002 - the caller reports it
    ) -> None:
        """Delete the progress of the file."""
        PurchaseRepository(log.transaction, self.store_id).delete_import_progress(
            progress.digest
        )


TRANSACTION_SECONDS: Final = 0.012
"""The target time for which a transaction holds the write lock, which blocks events."""

FIRST, MIN_LINES, MAX_LINES = 200, 50, 2_000


class AdaptiveChunkSize:
    """The number of lines in the next transaction, adapted to earlier lock times.

    No fixed number works: the same lines take ten times as long on a slow disk, or in a
    store whose indexes exceed the memory.
    """

    def __init__(self) -> None:
        """Start with a small size."""
        self.lines = min(FIRST, MAX_LINES)

    def adapt_to(self, lines: int, seconds: float) -> None:
        """Adapt to a transaction of `lines`, which held the lock for `seconds`."""
        fitting = lines * TRANSACTION_SECONDS / max(seconds, 1e-6)
        # One measurement may be distorted by others: change by at most half.
        smoothed = max(self.lines / 2, min(self.lines * 1.5, fitting))
        self.lines = max(min(MIN_LINES, MAX_LINES), min(MAX_LINES, round(smoothed)))


class OrderRowReader(Protocol):
    """Parser of a file's rows, in order, into order lines.

    With `sums`, a later line of an order and item includes the earlier ones. Other readers
    may read a file again.
    """

    sums: bool

    def read_lines_of_row(self, cells: list[str]) -> Sequence[OrderHistoryLine]:
        """Return a row's lines; of the lines of one order and item the last counts.

        Raises:
            UnreadableRowError: when it cannot be parsed.
            NotAPurchaseError: when its order is not a purchase.
        """


@dataclass(frozen=True)
class OrderHistoryImport:
    """One store's import of past orders; times without an offset are in `zone`.

    `submitted_ms` is the upload time: lines without a readable time get that day, also if
    the import resumes days later. `journal` stores the import's progress; by default it
    is stored under the file's digest. With `adds_repeats`, lines of one order and item in
    the file are added up; else the last one counts.
    """

    database: Database
    numbers: ItemNumberCache
    store_id: StoreId
    zone: tzinfo
    submitted_ms: int
    journal: ImportProgressStore | None = None
    max_errors: int = MAX_ERRORS
    times: AcceptedTimes = ANY_TIME
    changes: LineChangeJournal | None = None
    adds_repeats: bool = False

    def run(
        self,
        file: BinaryIO,
        csv_format: CsvFormat | None = None,
        on_bytes: Callable[[int], None] | None = None,
        reader: OrderRowReader | None = None,
    ) -> OrderHistoryImportReport:
        """Import all of `file`, which must be seekable; return the report.

        `on_bytes` is called regularly with the number of further bytes read. A `reader` is
        for files with another layout than ours.

        Raises:
            MissingColumnsError: when the header lacks a required column.
            StorageError: committed chunks remain; the same file resumes from there.
        """
        csv_format_used = csv_format or inspect_csv(file)
        journal = self.journal or DigestProgressStore(
            self.database, self.store_id, csv_format_used.digest, self.submitted_ms
        )
        if reader is None:
            times = detect_time_format(file, csv_format_used, "timestamp")
            reader = OrderHistoryLineReader(
                csv_format_used.columns, csv_format_used.separator, self.zone, times
            )
        progress, report = (
            journal.start(),
            OrderHistoryImportReport(
                max_errors=self.max_errors, adds_repeats=self.adds_repeats or reader.sums
            ),
        )
        repeats = self._read_repeats(file, csv_format_used, reader)
        chunk: list[OrderHistoryLine] = []
        time_index = time_column(csv_format_used)
        size, last_row = AdaptiveChunkSize(), progress.rows_done
        for row in read_rows(file, csv_format_used, on_bytes):
            report.rows += 1
            lines = repeats.add_up(
                read_and_count_lines(reader, row, time_index, report, self.times)
            )
            if not lines or row[0] <= progress.rows_done:
                continue
            chunk += lines
            last_row = row[0]
            if len(chunk) >= size.lines:
                progress = replace(progress, rows_done=last_row)
                chunk_lines = _last_of_order_item(chunk) if reader.sums else chunk
                progress = self._store_chunk(journal, chunk_lines, progress, report, size)
                chunk = []
        chunk += repeats.take_unfinished_sums()
        if chunk:
            progress = replace(progress, rows_done=last_row)
            chunk_lines = _last_of_order_item(chunk) if reader.sums else chunk
            progress = self._store_chunk(journal, chunk_lines, progress, report, size)
        _set_line_counts(report, progress)
        report.lines_repeated += repeats.added
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(
                self.database, transaction, self.store_id, self.numbers
            )
            journal.finish(log, progress, report)
        return report

    def _read_repeats(
        self, file: BinaryIO, csv_format: CsvFormat, reader: OrderRowReader
    ) -> RepeatedLineMerger:
        """Read the file for lines of one order and item, which are to be added up."""
        if not self.adds_repeats or reader.sums:
            return RepeatedLineMerger({})
        time_index, discarded = time_column(csv_format), OrderHistoryImportReport()
        return RepeatedLineMerger(
            count_repeated_keys(
                line
                for row in read_rows(file, csv_format)
                for line in read_and_count_lines(
                    reader, row, time_index, discarded, self.times
                )
            )
        )

    def _store_chunk(
        self,
        journal: ImportProgressStore,
        chunk: Sequence[OrderHistoryLine],
        progress: OrderImportProgress,
        report: OrderHistoryImportReport,
        size: AdaptiveChunkSize,
    ) -> OrderImportProgress:
        """Store a chunk and the progress in one transaction; return the progress.

        A power cut may undo chunks, which are imported again; the end is stored durably.
        """
        with self.database.transaction(synced=False) as transaction:
            locked = watch.monotonic()
            log = StoreLogTransaction(
                self.database, transaction, self.store_id, self.numbers
            )
            first_seq = log.take_seqs(len(chunk))
            chunk = _without_erased_customers(log, chunk)
            items = log.get_or_create_item_numbers(
                (line.item_id for line in chunk), progress.submitted_at
            )
            customers = (line.customer_id for line in chunk if line.customer_id)
            repository = PurchaseRepository(transaction, self.store_id)
            ledger = PurchaseLedger(
                repository, (line.order_id for line in chunk), items.values()
            )
            since_seq = None
            if self.changes is not None:
                since_seq = self.changes.first_seq(log) or first_seq
            merger = OrderLineMerger(
                ledger,
                items,
                EventRepository(transaction, self.store_id).confirmed_customers_of(
                    customers
                ),
                _midnight(progress.submitted_at, self.zone),
                progress.submitted_at,
                since_seq,
            )
            outcomes = Counter(
                merger.merge_line(line, first_seq + index)
                for index, line in enumerate(chunk)
            )
            if self.changes is not None and since_seq is not None:
                earlier = [
                    (old, new)
                    for old, new in ledger.changes()
                    if old.seq < since_seq or old.channel != PurchaseChannel.CSV
                ]
                span = (first_seq, first_seq + max(0, len(chunk) - 1))
                self.changes.add_lines(log, span, earlier)
            ledger.write(self.database, {})
            progress = replace(
                progress,
                lines_added=progress.lines_added + outcomes[OrderLineOutcome.ADDED],
                lines_changed=progress.lines_changed + outcomes[OrderLineOutcome.CHANGED],
                lines_repeated=progress.lines_repeated
                + outcomes[OrderLineOutcome.REPEATED],
            )
            _set_line_counts(report, progress)
            journal.record(log, progress, report)
        size.adapt_to(len(chunk), watch.monotonic() - locked)
        log.cache_committed_numbers()
        return progress


def _without_erased_customers(
    log: StoreLogTransaction, chunk: Sequence[OrderHistoryLine]
) -> Sequence[OrderHistoryLine]:
    """Return the lines without erased customers."""
    erased = erased_names_in(log, (line.customer_id for line in chunk))
    if not erased:
        return chunk
    return [
        line._replace(customer_id=None)
        if erased.covers(line.customer_id, line.ts_ms)
        else line
        for line in chunk
    ]


def _last_of_order_item(chunk: Sequence[OrderHistoryLine]) -> Sequence[OrderHistoryLine]:
    return list({(line.order_id, line.item_id): line for line in chunk}.values())


def _set_line_counts(
    report: OrderHistoryImportReport, progress: OrderImportProgress
) -> None:
    report.lines_imported = progress.lines_added
    report.lines_updated = progress.lines_changed
    report.lines_repeated = progress.lines_repeated


def order_import_row_counts(report: OrderHistoryImportReport) -> dict[str, int]:
    """Return the counts of an import, as the history of imports has them."""
    changed = report.lines_imported + report.lines_updated + report.lines_repeated
    return {
        "rows": report.rows,
        "inserted": report.lines_imported,
        "overwritten": report.lines_updated,
        "deduplicated": report.lines - changed,
        "added_up" if report.adds_repeats else "repeated": report.lines_repeated,
        "left_out": sum(report.not_bought.values()),
        "skipped": report.rows_skipped,
    }


def time_column(csv_format_used: CsvFormat) -> int | None:
    """Return the index of the cell that holds a row's time."""
    columns = csv_format_used.columns
    return columns.get("timestamp", columns.get("created"))


def read_and_count_lines(
    reader: OrderRowReader,
    row: Row,
    time_index: int | None,
    report: OrderHistoryImportReport,
    times: AcceptedTimes = ANY_TIME,
) -> Sequence[OrderHistoryLine]:
    """Return a row's lines and count it in the report; cell `time_index` is its time."""
    number, cells = row
    if isinstance(cells, BrokenRow):
        report.add_skipped(number, cells.message)
        return ()
    try:
        lines = reader.read_lines_of_row(cells)
    except UnreadableRowError as error:
        report.add_skipped(number, error.problem, error.column, error.value)
        return ()
    except NotAPurchaseError as error:
        report.add_not_purchased(str(error))
        return ()
    ts_ms = lines[0].ts_ms if lines else 0
    if ts_ms is None or (times.latest_ms is not None and ts_ms > times.latest_ms):
        has_time = time_index is not None and time_index < len(cells)
        text = cells[time_index or 0].strip() if has_time else ""
        if ts_ms is None:
            report.add_undated(number, text)
        if problem := times.problem_of(ts_ms, text):
            report.add_skipped(number, problem, "timestamp", text[:40])
            return ()
    report.lines += len(lines)
    return lines


def _midnight(moment_ms: int, zone: tzinfo) -> int:
    """Return the start of the day of `moment_ms` in `zone`."""
    day = datetime.fromtimestamp(moment_ms / 1000, UTC).astimezone(zone).date()
    return round(datetime.combine(day, time.min, zone).timestamp() * 1000)
