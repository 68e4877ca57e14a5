"""Import record: an import command's entry in the store's history, as undo needs it."""

import contextlib
import getpass
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
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
    ImportOptions,
    ImportStatus,
    NewFileImport,
)
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.undo.undo_import import ImportChangeJournal
from productrecs.records.uploads.upload_folder import new_upload_id
from productrecs.tenancy.accounts.store import Store

_LONGEST_NAME: Final = 255
_INTERRUPTED: Final = {"problem": "The command was interrupted."}


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
        sent_by=calling_user(),
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


def calling_user() -> str:
    """Return who runs this command, as the history of imports names them."""
    try:
        return f"Command line ({getpass.getuser()})"
    except (KeyError, OSError):  # a container's user may have no name
        return "Command line"
