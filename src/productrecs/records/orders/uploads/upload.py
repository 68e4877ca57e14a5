"""Upload: a file of past orders, and the state of its import."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import random_text
from productrecs.records.orders.csv_format import CsvFormat
from productrecs.records.orders.import_report import RowError

_PREFIX: Final = "up_"
_LETTERS: Final = 24


class UnknownUploadError(ProductRecsError):
    """The store has no upload with that id."""


class TooManyUploadsError(ProductRecsError):
    """The store has too many unfinished uploads; wait until some are done."""


class UploadStatus(StrEnum):
    """The status of an upload; `done` and `failed` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file stored durably; `submitted_ms` is the day of its undated rows."""

    upload_id: str
    csv_format: CsvFormat
    submitted_ms: int


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload; its counts are of the rows stored so far.

    `rows_done` is the number of the last stored row, as a spreadsheet counts; `attempts`
    is how often the import was started since it last made progress.
    """

    upload_id: str
    status: UploadStatus
    submitted_ms: int
    csv_format: CsvFormat
    rows: int
    rows_done: int
    lines_imported: int
    lines_updated: int
    rows_skipped: int
    errors: tuple[RowError, ...]
    rows_undated: int
    undated: tuple[RowError, ...]
    attempts: int


def new_upload_id() -> str:
    """Return a fresh id, which is also the name of the file: `up_` and 24 characters."""
    return _PREFIX + random_text(_LETTERS)


def is_upload_id(text: str) -> bool:
    """Return whether `text` has the form of an upload id, which names its file."""
    letters = text.removeprefix(_PREFIX)
    return (
        text.startswith(_PREFIX)
        and len(letters) == _LETTERS
        and letters.isascii()
        and letters.isalnum()
    )
