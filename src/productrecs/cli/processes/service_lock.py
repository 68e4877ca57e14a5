"""Service lock: a folder with an SQLite database has one service at a time."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from productrecs.cli.settings_and_folder_owner import UnusableInstallationError
from productrecs.settings import Settings

RETRY_SECONDS: Final = 3.0
"""How long a service that is still stopping is waited for."""

_LOCK_FILE: Final = "service.lock"


@contextlib.contextmanager
def lock_data_folder(settings: Settings, address: str) -> Iterator[None]:
    """Keep other services that listen out of the data folder while this one runs.

    Replicas may share the folder beside a PostgreSQL database. The lock ends with this
    process, since its child processes do not inherit it. A folder in which no file can be
    created or locked stays without.

    Raises:
        UnusableInstallationError: when another service runs on the folder.
    """
    handle = None if settings.database_url else _open_lock_file(settings.data)
    if handle is None:
        yield
        return
    try:
        _wait_for_lock(handle, settings.data)
        with contextlib.suppress(OSError):  # a full or read-only disk
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()}, {address}".encode())
        yield
    finally:
        os.close(handle)


def _open_lock_file(data: Path) -> int | None:
    file = data / _LOCK_FILE
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        with contextlib.suppress(OSError):  # on a read-only disk from before
            return os.open(file, os.O_RDONLY)
    return None


def _wait_for_lock(handle: int, data: Path) -> None:
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            holder = os.pread(handle, 1_000, 0).decode(errors="replace")
            message = (
                f"a service runs already on the data folder {data.resolve()} ({holder}); "
                "stop it, or choose another folder with --data"
            )
            raise UnusableInstallationError(message) from error
        except OSError:  # a file system without locks
            return
        else:
            return
