"""Errors: the base class and the storage errors, each message with its remedy.

ProductRecsError
├── NotAllowedError            (kept apart by audience in tenancy)
├── UnknownItemError
├── StorageError
│   ├── StorageBusyError       another writer held the database too long
│   ├── StorageFullError       the disk is full
│   ├── StorageBrokenError     a write could not be made durable
│   ├── UnconfirmedWriteError  nobody can say whether a write was stored
│   ├── UnsafeStorageError     this build or file must not be opened
│   │   └── DamagedDatabaseError   the file is not what was written
│   └── ReadOnlyStorageError   the disk or the database takes no writes
└── ...                        each slice adds its own beside its rules

Errors know no HTTP status; `entrypoints/http/pipeline/error_responses.py` maps classes to
statuses.
"""


class ProductRecsError(Exception):
    """Anything we expected might happen; the message says what to do about it."""


class StorageError(ProductRecsError):
    """The database could not do what was asked; nothing was half done."""


class StorageBusyError(StorageError):
    """Another process held the database for too long; the same request may be retried."""


class StorageFullError(StorageError):
    """The disk is full: reads go on, writes wait until there is space again."""


class StorageBrokenError(StorageError):
    """A write could not be made durable; nothing further is acknowledged."""


class UnconfirmedWriteError(StorageError):
    """A write was not confirmed in time: it may be stored, now or in a moment."""


class UnsafeStorageError(StorageError):
    """The database must not be opened by this program; the message names the remedy."""


class DamagedDatabaseError(UnsafeStorageError):
    """The database is not what was written to it; a backup has to be restored."""


class ReadOnlyStorageError(StorageError):
    """The disk or the database takes no writes: reads go on."""


class QueueFullError(StorageError):
    """More writes are waiting than this process may hold; retry after a moment."""


class UnknownItemError(ProductRecsError):
    """The store's catalog has no item of that id."""
