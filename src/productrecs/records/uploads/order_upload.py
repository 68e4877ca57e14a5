"""Order upload: a file of past orders, and the state of its import."""

from dataclasses import dataclass
from enum import StrEnum

from productrecs.core.csv_reader import CsvFormat
from productrecs.core.errors import ProductRecsError
from productrecs.records.orders.order_history_import import SkippedRow


class UnknownUploadError(ProductRecsError):
    """The store has no upload with that id."""


class OrderUploadStatus(StrEnum):
    """The status of an upload; `done` and `failed` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NewOrderUpload:
    """A file stored durably; `submitted_ms` is the day of its undated rows."""

    upload_id: str
    csv_format: CsvFormat
    submitted_ms: int


@dataclass(frozen=True, slots=True)
class OrderUpload:
    """An upload; its counts are of the rows stored so far.

    `rows_done` is the number of the last stored row, as a spreadsheet counts; `attempts`
    is how often the import was started since it last made progress.
    """

    upload_id: str
    status: OrderUploadStatus
    submitted_ms: int
    csv_format: CsvFormat
    rows: int
    rows_done: int
    lines_imported: int
    lines_updated: int
    rows_skipped: int
    errors: tuple[SkippedRow, ...]
    rows_undated: int
    undated: tuple[SkippedRow, ...]
    attempts: int
