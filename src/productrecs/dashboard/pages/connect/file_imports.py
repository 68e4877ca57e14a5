"""File imports page: files of orders and products, their dry run, progress and history."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    UploadedFile,
    Visit,
    form_pages,
)
from productrecs.features.imports.import_preview import BY_COLUMNS, DETECTED
from productrecs.records.uploads.file_import import (
    CHECK_JOB,
    IMPORT_JOB,
    UNDOABLE,
    FileImport,
    ImportOptions,
    ImportStatus,
    NewFileImport,
    TooManyImportsError,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.order_upload import OrderUpload
from productrecs.records.uploads.order_uploads.repository import OrderUploadRepository
from productrecs.records.uploads.undo.repository import ImportChangeRepository
from productrecs.records.uploads.upload_folder import MAX_UPLOAD_BYTES, new_upload_id
from productrecs.storage.jobs.job_queue import NewJob

IMPORTS_PATH: Final = "/dashboard/imports"
FILE_PATH: Final = f"{IMPORTS_PATH}/file"
_KINDS: Final = (
    ("", "Find out from the file"),
    ("items", "Products"),
    ("orders", "Orders"),
)
_TIMES: Final = (
    ("", "Find out from the file"),
    ("%d/%m/%Y", "31/12/2026"),
    ("%m/%d/%Y", "12/31/2026"),
    ("%d.%m.%Y", "31.12.2026"),
    ("%d/%m/%Y %H:%M", "31/12/2026 23:59"),
    ("%m/%d/%Y %H:%M", "12/31/2026 23:59"),
    ("%d.%m.%Y %H:%M", "31.12.2026 23:59"),
    ("%d/%m/%Y %H:%M:%S", "31/12/2026 23:59:59"),
    ("%d.%m.%Y %H:%M:%S", "31.12.2026 23:59:59"),
)
_HISTORY: Final = 50
_RARE: Final = frozenset({"repeated", "added_up", "folded", "removed"})
_STATES: Final = {
    ImportStatus.CHECKING: ("Checking", ""),
    ImportStatus.CHECKED: ("Ready to start", "good"),
    ImportStatus.QUEUED: ("Waiting", ""),
    ImportStatus.RUNNING: ("Importing", ""),
    ImportStatus.DONE: ("Imported", "good"),
    ImportStatus.FAILED: ("Failed", "bad"),
    ImportStatus.UNDOING: ("Undoing", ""),
    ImportStatus.UNDONE: ("Undone", ""),
    ImportStatus.COMMAND: ("Importing", ""),
}
_BROKEN: Final = ("Cannot start yet", "bad")
_BRAKED: Final = ("Waits for your yes", "warn")
_UNPRICED: Final = ("No price was found", "warn")
_PARTLY: Final = ("Some rows have errors", "warn")
_MISREAD: Final = ("Nearly all rows have errors", "bad")
_NO_PARTS_OF_ROWS: Final = frozenset({"rows", "removed"})
_COUNTS: Final = (
    ("inserted", "New", "Rows that were not stored before."),
    ("overwritten", "Changed", "Rows whose order line or product was stored before."),
    ("deduplicated", "Already stored", "Order lines that are stored as they are."),
    (
        "repeated",
        "Repeated",
        "Rows whose order line or product has a later row: it counts.",
    ),
    (
        "added_up",
        "Added up",
        "Rows of an article that its order has in another row: their quantities are added.",
    ),
    ("unchanged", "Unchanged", "Products that are stored as the file has them."),
    (
        "removed",
        "No longer shown",
        "Products of the catalog that the file lacks, which is complete.",
    ),
    ("folded", "Merged", "Rows of variants and pictures, which belong to another row."),
    ("left_out", "Left out", "Orders that are no purchases, and hidden products."),
    ("skipped", "Failed", "Rows that cannot be read. Each is listed with its reason."),
)


@dataclass(frozen=True, slots=True)
class ImportHistoryRow:
    """One file in the history; `path` is empty for files of the API until they end."""

    name: str
    kind: str
    sent_ms: int
    sent_by: str
    ended_ms: int | None
    state: tuple[str, str]
    counts: dict[str, int]
    path: str


def upload_file_and_enqueue_check(visit: Visit) -> Reply:
    """Store an uploaded file, and enqueue its check."""
    file, kind = visit.file, visit.form["kind"]
    if file is None or not file.size:
        message = (
            "Choose a file." if file is None else "The file is empty. Export it again."
        )
        return show_imports(visit, status=422, error=message)
    choices = ImportOptions(kind=kind if kind in {"orders", "items"} else "")
    new_import = NewFileImport(
        import_id=new_upload_id(),
        file_name=file.name,
        size=file.size,
        sent_by=visit.user.email or "",
        submitted_ms=visit.now_ms,
        choices=choices,
    )
    try:
        _store_file_and_enqueue_check(visit, file, new_import)
    except TooManyImportsError as error:
        return show_imports(visit, status=422, error=str(error))
    return visit.redirect(f"{FILE_PATH}?file={new_import.import_id}")


def show_import(visit: Visit) -> Reply:
    """Show the status of one import; htmx requests only that part."""
    file_import = _find_import(visit, visit.query["file"])
    template = "import_state.html" if visit.is_partial else "import.html"
    return visit.render(
        template,
        one=file_import,
        is_moving=file_import.is_in_progress,
        preview=file_import.preview,
        result=file_import.result,
        may_undo=_may_undo_import(visit, file_import),
        state=status_text_and_tone(file_import),
        counts=_shown_count_columns(file_import),
        lines=_order_lines_unless_one_per_row(file_import),
        skipped=int(file_import.preview.get("counts", {}).get("skipped", 0)),
        kinds=_KINDS[1:],
        times=_TIMES,
        title=file_import.file_name,
    )


def status_text_and_tone(file_import: FileImport) -> tuple[str, str]:
    """Return the status of an import in words, and its tone."""
    status, preview, result = file_import.status, file_import.preview, file_import.result
    if status is not ImportStatus.CHECKED:
        return _STATES[status]
    if result.get("problem"):
        return _BROKEN
    if result.get("brake"):
        return _BRAKED
    if preview.get("misread"):
        return _MISREAD
    if "price_guesses" in preview:
        return _UNPRICED
    return _PARTLY if result.get("has_errors") else _STATES[status]


def _order_lines_unless_one_per_row(file_import: FileImport) -> int:
    """Return how many order lines the rows have; 0 where a row is a line."""
    is_checked = file_import.status is ImportStatus.CHECKED
    counts = (file_import.preview if is_checked else file_import.result).get("counts", {})
    total = sum(count for name, count in counts.items() if name not in _NO_PARTS_OF_ROWS)
    return int(total) if total != counts.get("rows", total) else 0


def _shown_count_columns(file_import: FileImport) -> list[tuple[str, str, str]]:
    """Return the counts that apply to this kind of file; rare ones only if above zero."""
    is_checked = file_import.status is ImportStatus.CHECKED
    report = file_import.preview if is_checked else file_import.result
    counts, is_orders = report.get("counts", {}), report.get("kind") == "orders"
    shown = []
    for name, label, meaning in _COUNTS:
        if is_checked and is_orders and name in {"overwritten", "deduplicated"}:
            continue
        if name in counts and (counts[name] or name not in _RARE):
            is_total = is_checked and is_orders and name == "inserted"
            shown.append((name, "To import" if is_total else label, meaning))
    return shown


def enqueue_check_again(visit: Visit) -> Reply:
    """Check a file again with other options."""
    file_import = _find_import(visit, visit.form["file"])
    choices = _read_import_options(visit, file_import)
    _change_status_and_enqueue_job(
        visit, file_import, ImportStatus.CHECKING, choices=choices
    )
    return visit.redirect(f"{FILE_PATH}?file={file_import.import_id}")


def enqueue_import(visit: Visit) -> Reply:
    """Enqueue the import of a checked file."""
    file_import = _find_import(visit, visit.form["file"])
    path = f"{FILE_PATH}?file={file_import.import_id}"
    if file_import.preview.get("problem"):
        return visit.redirect(path, "This file cannot be imported yet: see below.")
    choices = replace(file_import.choices, kind=str(file_import.preview.get("kind", "")))
    _change_status_and_enqueue_job(visit, file_import, ImportStatus.QUEUED, choices=choices)
    return visit.redirect(path)


def discard_import(visit: Visit) -> Reply:
    """Delete a file that was checked and not started."""
    file_import = _find_import(visit, visit.form["file"])
    with visit.database.transaction() as transaction:
        repository = FileImportRepository(transaction, visit.store.store_id)
        is_gone = repository.delete_checked(file_import.import_id)
    if is_gone:
        visit.services.upload_folder.remove(file_import.import_id)
    return visit.redirect(IMPORTS_PATH, "The file was deleted." if is_gone else "")


def enqueue_import_undo(visit: Visit) -> Reply:
    """Enqueue the undo of an import."""
    file_import = _find_import(visit, visit.form["file"])
    if _may_undo_import(visit, file_import):
        result = {**file_import.result, "undone_by": visit.user.email or ""}
        result.pop("undo_problem", None)
        _change_status_and_enqueue_job(
            visit, file_import, ImportStatus.UNDOING, result=result
        )
    return visit.redirect(f"{FILE_PATH}?file={file_import.import_id}")


def _may_undo_import(visit: Visit, file_import: FileImport) -> bool:
    """Return whether an import has ended, and what it changed is known."""
    if file_import.status not in UNDOABLE:
        return False
    with visit.database.reading() as connection:
        changes = ImportChangeRepository(connection, visit.store.store_id)
        return bool(changes.spans(file_import.import_id))


def download_failed_rows(visit: Visit) -> Reply:
    """Send the rows that failed, each with its reason."""
    file_import = _find_import(visit, visit.query["file"])
    with visit.database.reading() as connection:
        repository = FileImportRepository(connection, visit.store.store_id)
        rejects = repository.rejected_rows_csv(file_import.import_id) or "row,reason\n"
    stem = "".join(c if c.isalnum() else "-" for c in Path(file_import.file_name).stem)[:60]
    name = stem.encode("ascii", "ignore").decode() or "import"
    return Reply(
        body=rejects.encode("utf-8-sig"),  # spreadsheets read UTF-8 by its mark
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}-failed-rows.csv"'},
    )


def show_imports(visit: Visit, *, status: int = 200, error: str = "") -> Reply:
    """Show the form and the history."""
    store_id = visit.store.store_id
    with visit.database.reading() as connection:
        files = FileImportRepository(connection, store_id).latest(_HISTORY)
        uploads = OrderUploadRepository(connection, store_id).latest(_HISTORY)
    import_ids = {file_import.import_id for file_import in files}
    waiting = [
        file_import for file_import in uploads if file_import.upload_id not in import_ids
    ]
    rows = [*map(_import_history_row, files), *map(_upload_history_row, waiting)]
    rows.sort(key=lambda row: row.sent_ms, reverse=True)
    return visit.render(
        "imports.html",
        status=status,
        error=error,
        kind=visit.form["kind"],
        kinds=_KINDS,
        rows=rows[:_HISTORY],
        limit=f"{MAX_UPLOAD_BYTES >> 30} GiB",
    )


def _import_history_row(file_import: FileImport) -> ImportHistoryRow:
    counts = file_import.result.get("counts", {})
    kind = str(file_import.result.get("kind") or file_import.choices.kind)
    path = f"{FILE_PATH}?file={file_import.import_id}"
    state = status_text_and_tone(file_import)
    return ImportHistoryRow(
        file_import.file_name,
        kind,
        file_import.submitted_ms,
        file_import.sent_by,
        file_import.ended_ms,
        state,
        counts,
        path,
    )


def _upload_history_row(upload: OrderUpload) -> ImportHistoryRow:
    counts = {
        "inserted": upload.lines_imported,
        "overwritten": upload.lines_updated,
        "skipped": upload.rows_skipped,
    }
    state = _STATES[ImportStatus(upload.status.value)]
    return ImportHistoryRow(
        upload.upload_id, "orders", upload.submitted_ms, "API", None, state, counts, ""
    )


def _store_file_and_enqueue_check(
    visit: Visit, file: UploadedFile, new_import: NewFileImport
) -> None:
    """Store the file with its import and the job that checks it.

    Raises:
        TooManyImportsError: when too many imports are open.
    """
    path = file.path.rename(visit.services.uploads / new_import.import_id)
    with path.open("rb") as stored:
        os.fsync(stored.fileno())
    visit.services.upload_folder.move_to_object_store(new_import.import_id)
    store_id = visit.store.store_id
    try:
        with visit.database.transaction() as transaction:
            FileImportRepository(transaction, store_id).add(new_import)
            visit.services.queue.enqueue(transaction, NewJob(store_id, CHECK_JOB))
    except TooManyImportsError:
        visit.services.upload_folder.remove(new_import.import_id)
        raise


def _find_import(visit: Visit, import_id: str) -> FileImport:
    with visit.database.reading() as connection:
        file_import = FileImportRepository(connection, visit.store.store_id).find(import_id)
    if file_import is None:
        message = "Your store has no import with this id."
        raise PageOrRecordNotFoundError(message)
    return file_import


def _change_status_and_enqueue_job(
    visit: Visit, file_import: FileImport, after: ImportStatus, **values: object
) -> None:
    """Change an import's status and enqueue its job, unless already changed."""
    store_id = visit.store.store_id
    job = CHECK_JOB if after is ImportStatus.CHECKING else IMPORT_JOB
    with visit.database.transaction() as transaction:
        repository = FileImportRepository(transaction, store_id)
        before = UNDOABLE if after is ImportStatus.UNDOING else (ImportStatus.CHECKED,)
        if repository.change_status(
            file_import.import_id, before, after, progress=0.0, **values
        ):
            visit.services.queue.enqueue(transaction, NewJob(store_id, job))


def _read_import_options(visit: Visit, file_import: FileImport) -> ImportOptions:
    """Return the form's options for a file, limited to those that its dry run offered."""
    form, preview = visit.form, file_import.preview
    kind = form["kind"] if form["kind"] in {"orders", "items"} else ""
    if kind != preview.get("kind"):
        return ImportOptions(kind=kind)
    columns, previous_mapping = set(preview.get("columns", ())), preview.get("mapping", {})
    mapping = {
        name: form[f"map-{name}"]
        for name in preview.get("fields", ())
        if form[f"map-{name}"] in columns
    }
    is_mapping_changed = (
        bool(columns)
        and any(f"map-{name}" in form for name in preview.get("fields", ()))
        and mapping != previous_mapping
    )
    formats = {key for key, _ in preview.get("formats", ())}
    chosen_format = form["format"] if form["format"] in {*formats, BY_COLUMNS} else DETECTED
    if is_mapping_changed:
        chosen_format = BY_COLUMNS
    return ImportOptions(
        kind=kind,
        format=chosen_format,
        mapping=mapping if chosen_format == BY_COLUMNS else {},
        time_format=form["time_format"] if form["time_format"] in dict(_TIMES) else "",
        ordered_today="ordered_today" in form,
    )


PAGES: Final = (
    Page(
        IMPORTS_PATH,
        "Imports",
        show_imports,
        upload_file_and_enqueue_check,
        group=NavigationGroup.CONNECT,
        file_limit=MAX_UPLOAD_BYTES,
        action="Sent a file to import",
    ),
    Page(FILE_PATH, "Imports", show_import, enqueue_check_again, is_audited=False),
    *form_pages(
        IMPORTS_PATH,
        "Imports",
        ("start", enqueue_import, "Started an import"),
        ("discard", discard_import, "Discarded a file"),
        ("undo", enqueue_import_undo, "Undid an import"),
    ),
    Page(f"{IMPORTS_PATH}/failed-rows", "Imports", download_failed_rows),
)
