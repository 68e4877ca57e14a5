"""`productrecs imports`: lists what commands imported, and undoes it."""

from pathlib import Path
from typing import Final

import click

from productrecs.cli.commands.record_import import calling_user
from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso
from productrecs.records.uploads.file_import import (
    UNDOABLE,
    FileImport,
    ImportStatus,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.undo.repository import ImportChangeRepository
from productrecs.records.uploads.undo.undo_import import complete_undo_and_store_outcome
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_LISTED: Final = 50
_COUNTED: Final = {
    "inserted": "new",
    "overwritten": "changed",
    "removed": "no longer shown",
}


class ImportNotUndoableError(ProductRecsError):
    """The import does not exist, or cannot be undone; the message says why."""


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
        result = {**file_import.result, "undone_by": calling_user()}
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
