"""File import: one file, from the dashboard or elsewhere, its options and its status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from productrecs.core.errors import ProductRecsError

CHECK_JOB: Final = "check-files"
"""The job kind of one store's dry runs."""

IMPORT_JOB: Final = "import-files"
"""The job kind that runs one store's started imports in order."""

OPEN_LIMIT: Final = 20
"""The most unfinished files of one store."""


class TooManyImportsError(ProductRecsError):
    """The store has the maximum number of unfinished imports."""


class ImportStatus(StrEnum):
    """The status of a file import; `failed` and `undone` are final."""

    CHECKING = "checking"
    CHECKED = "checked"  # waits for the merchant
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"
    COMMAND = "command"  # a command imports it, without the worker


OPEN: Final = (
    ImportStatus.CHECKING,
    ImportStatus.CHECKED,
    ImportStatus.QUEUED,
    ImportStatus.RUNNING,
)

UNDOABLE: Final = (ImportStatus.DONE, ImportStatus.FAILED)
"""An import that has ended, also halfway, can be undone."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The merchant's options; empty fields are detected.

    `kind` is `orders` or `items`. `mapping` maps each of our fields to a column of the
    file; `time_format` is the format of its times. Order lines without a readable time are
    of today if they were `ordered_today`, else errors.
    """

    kind: str = ""
    format: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    time_format: str = ""
    ordered_today: bool = False


@dataclass(frozen=True, slots=True)
class ItemImportProgress:
    """The progress of a product import, stored with each chunk."""

    items: int = 0
    created: int = 0
    updated: int = 0
    hidden: int = 0
    unchanged: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class NewFileImport:
    """A file to import; the dashboard's is in the upload folder, by its `import_id`."""

    import_id: str
    file_name: str
    size: int
    sent_by: str
    submitted_ms: int
    choices: ImportOptions = ImportOptions()


@dataclass(frozen=True, slots=True)
class FileImport:
    """A file import; `preview` and `result` are the worker's reports."""

    import_id: str
    status: ImportStatus
    file_name: str
    size: int
    sent_by: str
    submitted_ms: int
    ended_ms: int | None
    choices: ImportOptions
    progress: float
    attempts: int
    preview: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    item_progress: ItemImportProgress = ItemImportProgress()

    @property
    def is_in_progress(self) -> bool:
        """Whether a worker or a command processes it or will do so soon."""
        if self.status is ImportStatus.CHECKED:
            return False
        return self.status in (*OPEN, ImportStatus.UNDOING, ImportStatus.COMMAND)
