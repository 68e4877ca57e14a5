"""`productrecs imports`: lists what commands imported, and undoes it."""

import contextlib
import getpass
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso
from productrecs.features.imports.import_report import (
    ItemImportReport,
    first_error_cells,
    item_import_row_counts,
)
from productrecs.features.imports.import_services import ImportServices
from productrecs.records.orders.order_history_import import (
    OrderHistoryImportReport,
    order_import_row_counts,
)
from productrecs.records.uploads.file_import import (
    UNDOABLE,
    FileImport,
    ImportOptions,
    ImportStatus,
    NewFileImport,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.order_upload import new_upload_id
from productrecs.records.uploads.undo.repository import ImportChangeRepository
from productrecs.records.uploads.undo.undo_import import (
    ImportChangeJournal,
    complete_undo_and_store_outcome,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_LISTED: Final = 50
_COUNTED: Final = {
    "inserted": "new",
    "overwritten": "changed",
    "removed": "no longer shown",
}
_LONGEST_NAME: Final = 255
_INTERRUPTED: Final = {"problem": "The command was interrupted."}


class ImportNotUndoableError(ProductRecsError):
    """The import does not exist, or cannot be undone; the message says why."""


@dataclass(slots=True)
class UndoableImport:
    """An import of a command; `changes` is what is needed to undo it."""

    changes: ImportChangeJournal
    result: Mapping[str, Any] = field(default_factory=dict)

    def set_result(self, report: OrderHistoryImportReport | ItemImportReport) -> None:
        """Set the result."""
        if isinstance(report, ItemImportReport):
            kind, counts = "items", item_import_row_counts(report)
        else:
            kind, counts = "orders", order_import_row_counts(report)
        errors = first_error_cells(report.errors)
        self.result = {"kind": kind, "counts": counts, "errors": errors}


@contextlib.contextmanager
def record_import(
    services: ImportServices, store: Store, name: str, size: int, kind: str
) -> Iterator[UndoableImport]:
    """Record an import in the store's history, as failed if the block fails."""
    new_import = NewFileImport(
        import_id=new_upload_id(),
        file_name="standard input" if name == "-" else Path(name).name[:_LONGEST_NAME],
        size=size,
        sent_by=_calling_user(),
        submitted_ms=services.clock(),
        choices=ImportOptions(kind=kind),
    )
    with services.database.transaction() as transaction:
        repository = FileImportRepository(transaction, store.store_id)
        repository.add(new_import, ImportStatus.COMMAND)
    recorded = UndoableImport(ImportChangeJournal(new_import.import_id))
    status, result = ImportStatus.FAILED, dict[str, Any](_INTERRUPTED)
    try:
        yield recorded
        status, result = ImportStatus.DONE, dict(recorded.result)
    except ProductRecsError as error:
        text = str(error)
        result = {"problem": f"{text[:1].upper()}{text[1:].removesuffix('.')}."}
        raise
    finally:
        with services.database.transaction() as transaction:
            FileImportRepository(transaction, store.store_id).change_status(
                new_import.import_id,
                (ImportStatus.COMMAND,),
                status,
                result=result,
                ended_at=services.clock(),
            )


def _calling_user() -> str:
    try:
        return f"Command line ({getpass.getuser()})"
    except (KeyError, OSError):  # a container's user may have no name
        return "Command line"


@click.group()
def imports() -> None:
    """List what was imported into a store, and undo an import."""


@imports.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's last imports, of commands, the dashboard and the API."""
    with (
        open_store(data, domain) as (services, store),
        services.database.reading() as connection,
    ):
        rows = FileImportRepository(connection, store.store_id).latest(_LISTED)
    if as_json:
        print_json([_import_fields(file_import) for file_import in rows])
        return
    if not rows:
        click.echo(f"Nothing was imported into {domain} yet.")
    for file_import in rows:
        counts = file_import.result.get("counts", {})
        counts_text = ", ".join(
            f"{counts[name]:,} {word}" for name, word in _COUNTED.items() if name in counts
        )
        status_text = " ".join(filter(None, (file_import.status.value, counts_text)))
        moment = iso(file_import.submitted_ms)
        click.echo(
            f"{file_import.import_id}  {moment}  {file_import.file_name}  "
            f"{file_import.sent_by}  {status_text}"
        )


@imports.command()
@click.argument("domain")
@click.argument("import_id", metavar="IMPORT")
@json_option
@data_option
def undo(domain: str, import_id: str, *, as_json: bool, data: Path | None) -> None:
    """Undo an import: new rows go, changed rows get their earlier values back.

    IMPORT is its id in `imports list`. If anything newer changed one of its rows, nothing
    is undone.

    Example: productrecs imports undo shop.example.com up_4kJx9TqVw2LmZs7RbCnY1dHf
    """
    with open_store(data, domain) as (services, store):
        file_import = _begin_undo(services, store, import_id)
        complete_undo_and_store_outcome(
            services.database, store.store_id, file_import, services.clock
        )
        with services.database.reading() as connection:
            ended_import = FileImportRepository(connection, store.store_id).find(import_id)
    result = ended_import.result if ended_import else {}
    if problem := result.get("undo_problem"):
        raise ImportNotUndoableError(str(problem))
    undone_counts = {name: result.get("undone", {}).get(name, 0) for name in _UNDONE}
    if as_json:
        print_json(undone_counts)
        return
    removed, restored = undone_counts.values()
    click.echo(
        f"{file_import.file_name} is undone: {removed:,} removed, {restored:,} restored."
    )


_UNDONE: Final = ("removed", "restored")


def _begin_undo(services: Services, store: Store, import_id: str) -> FileImport:
    """Set the status of an import to `undoing`; a running worker may go on with it.

    Raises:
        ImportNotUndoableError: when there is no such import, or it cannot be undone.
    """
    with services.database.transaction() as transaction:
        repository = FileImportRepository(transaction, store.store_id)
        file_import = repository.find(import_id)
        if file_import is None:
            message = (
                f"{store.domain} has no import {import_id!r}; their ids: "
                f"productrecs imports list {store.domain}"
            )
            raise ImportNotUndoableError(message)
        result = {**file_import.result, "undone_by": _calling_user()}
        result.pop("undo_problem", None)
        allowed_statuses, undoing = (*UNDOABLE, ImportStatus.UNDOING), ImportStatus.UNDOING
        changes = ImportChangeRepository(transaction, store.store_id).spans(import_id)
        if not changes or not repository.change_status(
            import_id, allowed_statuses, undoing, result=result
        ):
            message = (
                f"{file_import.file_name} is {file_import.status.value} and cannot be "
                "undone: an import can be undone once, when it has ended, and for 400 days"
            )
            raise ImportNotUndoableError(message)
    return file_import


def _import_fields(file_import: FileImport) -> dict[str, object]:
    return {
        "import_id": file_import.import_id,
        "file_name": file_import.file_name,
        "kind": file_import.choices.kind,
        "sent_by": file_import.sent_by,
        "submitted_at": iso(file_import.submitted_ms),
        "status": file_import.status.value,
        "counts": file_import.result.get("counts", {}),
    }
