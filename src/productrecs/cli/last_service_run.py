"""Last service run: which processes ran last on a data folder, for the commands."""

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from productrecs.processes.supervisor import ProcessState
from productrecs.settings import Settings

_RECORD: Final = "service.json"


@dataclass(frozen=True, slots=True)
class LastServiceRun:
    """The service that last ran on a data folder; once it has ended, without processes."""

    host: str  # the machine
    supervisor: int  # its process
    address: str
    processes: tuple[ProcessState, ...]

    @property
    def ran_on_this_machine(self) -> bool:
        """Whether it ran on this machine."""
        return self.host == socket.gethostname()

    @property
    def is_running(self) -> bool:
        """Whether its processes run."""
        if not self.processes:
            return False
        try:
            os.kill(self.supervisor, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def write_service_run(data: Path, address: str, processes: Sequence[ProcessState]) -> None:
    """Record which processes of the service run on a data folder."""
    service = LastServiceRun(socket.gethostname(), os.getpid(), address, tuple(processes))
    draft = data / f".{_RECORD}"
    with contextlib.suppress(OSError):  # a full or read-only disk, which doctor finds
        draft.write_bytes(msgspec.json.encode(service))
        draft.replace(data / _RECORD)


def record_end_of_service(data: Path, address: str) -> None:
    """Record that no process of this service runs any more; leave another's record."""
    last = read_last_service_run(data)
    if last is None or (last.ran_on_this_machine and last.supervisor == os.getpid()):
        write_service_run(data, address, ())


def read_last_service_run(data: Path) -> LastServiceRun | None:
    """Return the service that last ran on a data folder, if there was one."""
    try:
        return msgspec.json.decode((data / _RECORD).read_bytes(), type=LastServiceRun)
    except (OSError, msgspec.MsgspecError):
        return None


def address_of_running_service(data: Path) -> str | None:
    """Return where the service of a data folder listens; None if none runs here."""
    service = read_last_service_run(data)
    if service is None or not service.ran_on_this_machine or not service.is_running:
        return None
    return service.address


def local_address(settings: Settings) -> str:
    """Return where a browser on this machine reaches the service, running or not."""
    running = address_of_running_service(settings.data)
    return running or f"http://localhost:{settings.port}"
