"""SQLite errors: each becomes an error that says what failed."""

import apsw
import pytest

from productrecs.core.errors import StorageBrokenError, StorageBusyError, StorageError
from productrecs.storage.sql import apsw_dbapi
from productrecs.storage.sql.sqlite_connection import to_storage_error


@pytest.mark.parametrize(
    ("code", "kind", "named"),
    [
        (apsw.SQLITE_IOERR_SHORT_READ, StorageBrokenError, "SQLITE_IOERR_SHORT_READ"),
        (apsw.SQLITE_IOERR_FSYNC, StorageBrokenError, "SQLITE_IOERR_FSYNC"),
        (apsw.SQLITE_BUSY_RECOVERY, StorageBusyError, "retry"),
    ],
)
def test_the_kind_of_a_failure_is_named(
    code: int, kind: type[StorageError], named: str
) -> None:
    raised = apsw.exception_for(code)
    assert isinstance(raised, apsw.Error)

    error = to_storage_error(apsw_dbapi.to_dbapi_error(raised))

    assert type(error) is kind
    assert named in str(error)
