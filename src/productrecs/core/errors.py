"""Errors: the base class and the storage errors, each message with its remedy.

ProductRecsError
├── UnknownItemError
├── UnknownOrderError
├── UnknownWidgetBuildError
├── StorageError
│   ├── StorageBusyError       the database is busy or cannot be reached
│   ├── StorageFullError       the disk is full
│   ├── StorageBrokenError     the disk failed to read or write
│   ├── UnconfirmedWriteError  it is unknown whether a write was stored
│   ├── UnsafeStorageError     this build or file must not be opened
│   │   ├── DamagedDatabaseError   the file's content is damaged
│   │   └── OutdatedSchemaError    it has to be migrated first
│   ├── ReadOnlyStorageError   the disk or the database takes no writes
│   └── QueueFullError         too much waits in this process; nothing was begun
└── ...                        each feature adds its own

Errors know no HTTP status; `http/pipeline/error_responses.py` maps classes to
statuses.
"""

from typing import Final


class ProductRecsError(Exception):
    """Base class of expected errors; the message says what to do."""


class StorageError(ProductRecsError):
    """The database could not run the operation; the transaction was rolled back.

    The message may be shown to any caller. `detail` is for the operator alone: the server,
    its port and its reason, or a path.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        """Say what happened, and to the operator where and why."""
        super().__init__(message)
        self.detail = detail


def operator_text(error: BaseException) -> str:
    """Return an error's message for logs and commands: with its detail, if it has one."""
    detail = error.detail if isinstance(error, StorageError) else ""
    return f"{error}: {detail}" if detail else str(error)


class StorageBusyError(StorageError):
    """The database is busy or cannot be reached; the same request can be retried."""


class StorageFullError(StorageError):
    """The disk is full: reads work, writes fail until there is space again."""


class StorageBrokenError(StorageError):
    """The disk failed to read or write; what could not be written is not acknowledged."""


RETRY_ADVICE: Final = (
    "it may be stored, now or in a moment. Send it again: an event with its event_id, an "
    "order with its order_id and a push with its Idempotency-Key count once; a deletion or "
    "a setting may be sent any number of times"
)
"""What the message of an `UnconfirmedWriteError` ends with."""


class UnconfirmedWriteError(StorageError):
    """A write was not confirmed in time: it may be stored now or shortly."""


class UnsafeStorageError(StorageError):
    """The program must not or cannot open this database; the message names the remedy."""


class DamagedDatabaseError(UnsafeStorageError):
    """The database's content is damaged; restore a backup."""


class OutdatedSchemaError(UnsafeStorageError):
    """The database has the schema of an earlier release, or none."""


class ReadOnlyStorageError(StorageError):
    """The disk or the database is read-only: reads work, writes fail."""


class QueueFullError(StorageError):
    """A queue or the memory budget of this process is full; retry after a moment."""


class UnknownItemError(ProductRecsError):
    """The store's catalog has no item with that id."""


class UnknownOrderError(ProductRecsError):
    """The store has no order with that id."""


class UnknownWidgetBuildError(ProductRecsError):
    """This installation never published a widget build with this digest."""
