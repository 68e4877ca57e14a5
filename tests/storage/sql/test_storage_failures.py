"""Storage failures: an outage is logged at its start, once a minute and at its end."""

import logging

import pytest

from productrecs.core.errors import StorageError, UnconfirmedWriteError
from productrecs.storage.sql.storage_failures import StorageFailures


@pytest.mark.parametrize(
    ("error", "began", "ended"),
    [
        (StorageError("full"), "writes failing", "writes recovered"),
        (UnconfirmedWriteError("late"), "writes unconfirmed", "writes confirmed again"),
    ],
)
def test_failing_writes_are_logged_once_a_minute_until_they_succeed(
    error: StorageError, began: str, ended: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    now = [0.0]
    failures = StorageFailures(lambda: now[0])
    for now[0] in range(150):  # seconds: a failure in each
        failures.record_write_failure(error)
    failures.record_confirmed_write()
    failures.record_write_success(failures.write_failures)
    failures.record_write_failure(error)

    assert caplog.messages == [began, began, began, ended, began]
