"""Dashboard file import: the worker checks and imports files like the commands do."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final, TypeAlias

from productrecs.core.errors import ProductRecsError
from productrecs.core.plural import counted
from productrecs.features.imports.feeds.format_detection import ItemFileFormat
from productrecs.features.imports.import_errors import (
    MERCHANT_TEXTS,
    missing_fields_text,
    problem_text_for_merchant,
)
from productrecs.features.imports.import_preview import (
    DETECTED,
    ITEMS,
    ORDERS,
    chosen_mapping,
    describe_format_and_mapping,
    detect_orders_or_items,
    guess_price_columns,
    headings_digest,
    misread_column,
    sample_table,
    shopper_table_layout,
    table_columns,
)
from productrecs.features.imports.import_report import (
    MAX_REJECTED_ROWS,
    SHOWN_ERRORS,
    first_error_cells,
    item_import_row_counts,
    notes_without_commands,
    rejected_rows_csv,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.features.imports.import_source import ImportSource, open_import_source
from productrecs.features.imports.item_import import (
    ItemImportOptions,
    import_items,
)
from productrecs.features.imports.order_file_reader import (
    InspectedOrderFile,
    OrderFileFormat,
    inspect_order_file,
)
from productrecs.features.imports.order_import import OrderDryRunReport, OrderImport
from productrecs.features.imports.pending_table_erasure import (
    ErasedShopperRows,
    build_erased_name_test,
)
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    SENT_BY,
    ScheduledFeed,
)
from productrecs.records.orders.order_history_import import (
    OrderHistoryImportReport,
    RowCountsAndErrors,
    order_import_row_counts,
)
from productrecs.records.uploads.file_import import FileImport, ItemImportProgress
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal
from productrecs.records.uploads.upload_folder import MAX_UPLOAD_BYTES
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings


class RefusedFileError(ProductRecsError):
    """Nothing in the file can be imported."""


_NO_ROWS: Final = "The file has no rows, so there is nothing to import."
_NO_VALID_ROW: Final = (
    "No row of the feed can be read: see the reasons below. Your catalog stays as it is."
)
_REMEMBERED: Final = (
    "This file is read as you chose for the last one with the same headings. See below "
    "how, and change it there."
)
_ABOUT_THE_FILE: Final = tuple(MERCHANT_TEXTS)
_STAGED: Final = 0.5  # a product file is staged as a whole before it is stored


OnShare: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class FileImportResult:
    """The result of an import; `rejects` is a CSV of the rows that failed."""

    result: Mapping[str, Any] = field(default_factory=dict)
    rejects: str = ""


@dataclass(frozen=True, slots=True)
class DashboardFileImporter:
    """Checks and imports files of merchants."""

    services: ImportServices

    def recall_choices_and_dry_run(
        self, store: Store, file_import: FileImport, path: Path, on_share: OnShare
    ) -> tuple[FileImport, Mapping[str, Any]]:
        """Return the import as it is read, and the result of its dry run.

        It is read as the last file with the same headings, unless the merchant chose
        otherwise.

        Raises:
            UnreadableSourceError: as `drop_erased_rows_and_dry_run`.
        """
        recalled = self._with_remembered_choices(store, file_import, path)
        preview = self.drop_erased_rows_and_dry_run(store, recalled, path, on_share)
        if recalled is file_import:
            return file_import, preview
        notes = [_REMEMBERED, *preview.get("notes", ())]
        return recalled, {**preview, "notes": notes}

    def drop_erased_rows_and_dry_run(
        self, store: Store, file_import: FileImport, path: Path, on_share: OnShare
    ) -> Mapping[str, Any]:
        """Return the result of a dry run, with the mapping of the columns.

        Raises:
            UnreadableSourceError: when it is neither a table nor a feed nor JSON.
        """
        erasure_notes = self._drop_erased_rows_and_note(store, file_import, path)
        with self._open_source(file_import, path) as source:
            kind = file_import.choices.kind or detect_orders_or_items(source)
            preview = describe_format_and_mapping(source, kind, file_import)
            try:
                dry_run_rows = (
                    self._dry_run_orders if kind == ORDERS else self._dry_run_items
                )
                dry_run = dry_run_rows(store, file_import, source, on_share)
            except _ABOUT_THE_FILE as error:
                text = missing_fields_text(error, preview) or problem_text_for_merchant(
                    error
                )
                return {**preview, "problem": text}
        counts, problem = dry_run["counts"], dict[str, str]()
        if not counts["rows"]:
            problem["problem"] = _NO_ROWS
        elif counts["rows"] == counts["skipped"] and self.feed_if_its_newest_file(
            store, file_import
        ):
            problem["problem"] = _NO_VALID_ROW
        elif misread := misread_column(dry_run):
            preview["misread"] = misread
        elif dry_run.get("is_unpriced") and "price" not in preview["mapping"]:
            preview["price_guesses"] = guess_price_columns(preview)
        return {
            **preview,
            **dry_run,
            **problem,
            "notes": [*erasure_notes, *dry_run["notes"]],
        }

    def _with_remembered_choices(
        self, store: Store, file_import: FileImport, path: Path
    ) -> FileImport:
        """Return the import with the choices of an earlier file with the same headings.

        What the merchant chose for this file stays.
        """
        choices = file_import.choices
        if choices.format or choices.time_format:
            return file_import
        with self._open_source(file_import, path) as source:
            digest = headings_digest(source)
        if not digest:
            return file_import
        with self.services.database.reading() as connection:
            repository = FileImportRepository(connection, store.store_id)
            remembered = repository.choices_for_headings(digest, choices.kind)
        if remembered is None or (
            remembered.format == DETECTED and not remembered.time_format
        ):
            return file_import
        remembered = replace(remembered, ordered_today=choices.ordered_today)
        return replace(file_import, choices=remembered)

    def feed_if_its_newest_file(
        self, store: Store, file_import: FileImport
    ) -> ScheduledFeed | None:
        """Return the scheduled feed whose newest file this is; None for other files."""
        if file_import.sent_by != SENT_BY:
            return None
        with self.services.database.reading() as connection:
            feed = ScheduledFeedRepository(connection, store.store_id).find()
        return feed if feed and feed.import_id == file_import.import_id else None

    def share_before_storing(self, file_import: FileImport) -> float:
        """Return the progress of an import at which it starts to store."""
        return _STAGED if file_import.choices.kind == ITEMS else 0.0

    def import_file(
        self, store: Store, file_import: FileImport, path: Path, on_share: OnShare
    ) -> FileImportResult:
        """Import the file.

        Raises:
            UnreadableSourceError: as `drop_erased_rows_and_dry_run`.
            RefusedFileError: when nothing in it can be imported.
        """
        with self._open_source(file_import, path) as source:
            kind = file_import.choices.kind or detect_orders_or_items(source)
            import_rows = self._import_orders if kind == ORDERS else self._import_items
            try:
                result, report = import_rows(store, file_import, source, on_share)
            except _ABOUT_THE_FILE as error:
                raise RefusedFileError(problem_text_for_merchant(error)) from error
            chosen = file_import.choices
            if chosen.format or chosen.time_format:
                result["headings"] = headings_digest(source)
            is_table = bool(table_columns(source.file))
            rejects = rejected_rows_csv(source.file, report.errors, is_table=is_table)
        errors = first_error_cells(report.errors)
        stored = {"kind": kind, "errors": errors, "kept": len(report.errors)}
        return FileImportResult({**result, **stored}, rejects)

    def _drop_erased_rows_and_note(
        self, store: Store, file_import: FileImport, path: Path
    ) -> list[str]:
        """Drop the orders of shoppers erased since the file was sent; return a note."""
        is_erased = build_erased_name_test(self.services, store, file_import.submitted_ms)
        if is_erased is None:
            return []
        with self._open_source(file_import, path) as source:
            layout = shopper_table_layout(source, file_import)
            rows = layout and ErasedShopperRows(source.file, layout, is_erased)
            if not rows or not rows.count:
                return []
            with self.services.uploads.rewrite(file_import.import_id) as file:
                rows.write_other_rows(file)
        were = "was" if rows.count == 1 else "were"
        dropped = counted(rows.count, "row")
        return [f"{dropped} of orders of erased customers {were} dropped."]

    @contextlib.contextmanager
    def _open_source(self, file_import: FileImport, path: Path) -> Iterator[ImportSource]:
        folder = self.services.folder
        with open_import_source(
            file_import.file_name or "the file",
            folder,
            stored=path,
            max_bytes=MAX_UPLOAD_BYTES,
        ) as source:
            yield source

    def _dry_run_orders(
        self, store: Store, file_import: FileImport, source: ImportSource, on_share: OnShare
    ) -> dict[str, Any]:
        orders, notes = self._inspect_order_file(store, file_import, source), list[str]()
        zone = store.settings.zone
        report = OrderImport(
            self.services,
            store,
            orders,
            _bytes_to_share_callback(source.size, on_share),
            notes.append,
            ordered_today=file_import.choices.ordered_today,
            adds_repeats=True,
        ).dry_run(source.file)
        to_import = report.lines - report.lines_repeated
        return {
            "counts": order_import_row_counts(report)
            | {"inserted": to_import, "deduplicated": 0},
            "notes": [*_dry_run_order_notes(report, file_import, store.settings), *notes],
            "rows": sample_table([_with_local_time(row, zone) for row in report.would]),
            "errors": first_error_cells(report.errors),
        }

    def _import_orders(
        self, store: Store, file_import: FileImport, source: ImportSource, on_share: OnShare
    ) -> tuple[dict[str, Any], RowCountsAndErrors]:
        orders, notes = self._inspect_order_file(store, file_import, source), list[str]()
        report = OrderImport(
            self.services,
            store,
            orders,
            _bytes_to_share_callback(source.size, on_share),
            notes.append,
            MAX_REJECTED_ROWS,
            file_import.choices.ordered_today,
            ImportChangeJournal(file_import.import_id),
            adds_repeats=True,
        ).run(source.file)
        notes += [
            *_repeated_line_notes(report),
            *_left_out_and_undated_notes(report, file_import),
        ]
        return {"counts": order_import_row_counts(report), "notes": notes}, report

    def _inspect_order_file(
        self, store: Store, file_import: FileImport, source: ImportSource
    ) -> InspectedOrderFile:
        choices = file_import.choices
        mapping = chosen_mapping(ORDERS, file_import)
        kind = None
        if mapping is None and choices.format in set(OrderFileFormat):
            kind = OrderFileFormat(choices.format)
        times = choices.time_format or None
        return inspect_order_file(self.services, store, source.file, kind, mapping, times)

    def _dry_run_items(
        self, store: Store, file_import: FileImport, source: ImportSource, on_share: OnShare
    ) -> dict[str, Any]:
        feed = self.feed_if_its_newest_file(store, file_import)
        options = _item_import_options(file_import, feed, dry_run=True)
        show_progress = _two_step_progress(on_share)
        report = import_items(self.services, store, source, options, show_progress)
        samples = [
            {"row": sample.row, "change": sample.change, "id": sample.id, **sample.fields}
            for sample in report.would
        ]
        return {
            "counts": item_import_row_counts(report),
            "notes": notes_without_commands(report.notes),
            "rows": sample_table(samples),
            "errors": first_error_cells(report.errors),
            "diff": report.diff,
            "is_unpriced": 0 < report.unpriced == report.created,
        }

    def _import_items(
        self, store: Store, file_import: FileImport, source: ImportSource, on_share: OnShare
    ) -> tuple[dict[str, Any], RowCountsAndErrors]:

        def store_progress(transaction: Any, progress: ItemImportProgress) -> None:
            FileImportRepository(
                transaction, store.store_id
            ).set_item_progress_and_reset_attempts(file_import.import_id, progress)

        options = replace(
            _item_import_options(
                file_import, self.feed_if_its_newest_file(store, file_import), dry_run=False
            ),
            progress=file_import.item_progress,
            on_stored=store_progress,
            changes=ImportChangeJournal(file_import.import_id),
        )
        report = import_items(
            self.services, store, source, options, _two_step_progress(on_share)
        )
        return {
            "counts": item_import_row_counts(report),
            "notes": notes_without_commands(report.notes),
        }, report


def _item_import_options(
    file_import: FileImport, feed: ScheduledFeed | None, *, dry_run: bool
) -> ItemImportOptions:
    chosen = file_import.choices.format
    return ItemImportOptions(
        only_changes=feed is not None,
        is_complete=feed is not None and feed.is_complete,
        kind=ItemFileFormat(chosen) if chosen in set(ItemFileFormat) else None,
        mapping=chosen_mapping(ITEMS, file_import),
        dry_run=dry_run,
        max_errors=SHOWN_ERRORS if dry_run else MAX_REJECTED_ROWS,
    )


def _bytes_to_share_callback(size: int, on_share: OnShare) -> Callable[[int], None]:
    read = 0

    def on_bytes(count: int) -> None:
        nonlocal read
        read += count
        on_share(min(1.0, read / max(1, size)))

    return on_bytes


def _two_step_progress(
    on_share: OnShare,
) -> Callable[[str, int], contextlib.AbstractContextManager[Callable[[int], None]]]:
    """Return the progress display of an import: reading and storing are half each."""
    started = 0

    @contextlib.contextmanager
    def step(_label: str, length: int) -> Iterator[Callable[[int], None]]:
        nonlocal started
        start, started = started / 2, started + 1
        yield _bytes_to_share_callback(
            length, lambda share: on_share(min(1.0, start + share / 2))
        )

    return step


def _with_local_time(line: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return a line with its time in the store's time zone."""
    timestamp = line.get("timestamp")
    if timestamp is not None:
        moment = datetime.fromisoformat(str(timestamp)).astimezone(zone)
        timestamp = f"{moment:%Y-%m-%d %H:%M}"
    return {**line, "timestamp": timestamp}


def _day(time_text: str, zone: tzinfo) -> str:
    moment = datetime.fromisoformat(time_text).astimezone(zone)
    return f"{moment.day} {moment:%b %Y}"


def _dry_run_order_notes(
    report: OrderDryRunReport, file_import: FileImport, settings: StoreSettings
) -> list[str]:
    notes, zone, currency = [], settings.zone, settings.currency
    if report.first and report.last:
        days = (_day(report.first, zone), _day(report.last, zone))
        orders = counted(report.orders, "order")
        sales = f" for {report.revenue:,.2f} {currency}" if report.revenue else ""
        notes.append(
            f"{orders} from {days[0]} to {days[1]}: {counted(report.units, 'unit')}{sales} "
            "in all. Compare this with your own figures."
        )
    notes += _repeated_line_notes(report)
    if report.returns:
        lines = counted(report.returns, "line")
        notes.append(f"{lines} with a quantity below 0: imported as returned.")
    if report.unknown_items:
        named = ", ".join(report.unknown)
        more = " and more" if report.unknown_items > len(report.unknown) else ""
        are = "is" if report.unknown_items == 1 else "are"
        notes.append(
            f"{report.unknown_items:,} of {counted(report.items, 'product')} {are} not in "
            f"the catalog: {named}{more}. Orders of such products are stored, and count "
            "once you send the products."
        )
    return notes + _left_out_and_undated_notes(report, file_import)


def _repeated_line_notes(report: OrderHistoryImportReport) -> list[str]:
    """Return what happens to lines of one order and article."""
    if not report.lines_repeated:
        return []
    repeat = "repeats an article of its order"
    if report.lines_repeated > 1:
        repeat = "repeat an article of their order"
    lines = counted(report.lines_repeated, "line")
    return [f"{lines} {repeat}: the quantities are added."]


def _left_out_and_undated_notes(
    report: OrderHistoryImportReport, file_import: FileImport
) -> list[str]:
    notes = [
        f"{counted(count, 'row')} of orders that are not purchases left out: {reason}."
        for reason, count in report.not_bought.items()
    ]
    if report.rows_undated and file_import.choices.ordered_today:
        notes.append(
            f"{counted(report.rows_undated, 'row')} without a readable time: as you said, "
            "their orders are of today."
        )
    return notes
