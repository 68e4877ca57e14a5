"""Process slot: the number, shared memory and metrics folder of one process of a service.

The supervisor creates shared memory for the API processes: their connection counts, the
buckets of rate limits, and the customers that networks name. There is no lock: a cell has
eight bytes. It also creates the metrics folder, in which prometheus_client's multiprocess
mode writes a file per process. A restarted process has the same slot and continues the same
file, so counters never decrease while the service runs.
"""

import contextlib
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.private_folders import temp_folder

PROCESS_ID: Final = "productrecs_process_id"
"""The gauge of the process that has a slot; it is not in `/metrics`."""

_BUCKET_BYTES: Final = 8 << 16
_CUSTOMER_BYTES: Final = 4 << 20  # of 4,297 networks
_NOT_READY: Final = 0.0
_MEMORY_FOLDER: Final = Path("/dev/shm")  # noqa: S108 - a private folder is created there


class SharedMemory:
    """Shared memory of all processes of a service; they inherit `file`."""

    def __init__(self, file: int) -> None:
        """Map the memory of `file`."""
        self.file = file
        memory = memoryview(mmap.mmap(file, os.fstat(file).st_size))
        self.buckets: memoryview[float] = memory[:_BUCKET_BYTES].cast("d")
        """The buckets of rate limits, initially 0."""
        connections = _BUCKET_BYTES + _CUSTOMER_BYTES
        self.named_customers: memoryview[float] = memory[_BUCKET_BYTES:connections].cast(
            "d"
        )
        """The customers that each network named, initially 0."""
        self.connections: memoryview[float] = memory[connections:].cast("d")
        """How many connections each ready process has, plus one; else 0."""

    @classmethod
    def create(cls, processes: int) -> "SharedMemory":
        """Return new memory for this many processes."""
        file = _anonymous_file()
        os.ftruncate(file, _BUCKET_BYTES + _CUSTOMER_BYTES + 8 * processes)
        return cls(file)


@dataclass(frozen=True, slots=True)
class ProcessSlot:
    """The slot of one process: its name, its number, and its shared resources."""

    name: str
    number: int
    memory: SharedMemory
    metrics: Path | None = None  # without a supervisor, metrics are in memory

    @classmethod
    def standalone(cls, name: str) -> "ProcessSlot":
        """Return the slot of a process without a supervisor."""
        return cls(name, 0, SharedMemory.create(1))

    @classmethod
    def parse(cls, option: str) -> "ProcessSlot":
        """Return the slot that the supervisor passed as an option."""
        file, number, name, folder = option.split(":", 3)
        return cls(name, int(number), SharedMemory(int(file)), Path(folder))

    def __str__(self) -> str:
        """Write the slot as an option."""
        return f"{self.memory.file}:{self.number}:{self.name}:{self.metrics}"

    def store_metrics_in_folder(self) -> None:
        """Store this process's metrics in the service's folder; call it before counting."""
        if self.metrics is None:
            return
        # Imported here: a supervisor of background processes does not need it.
        from prometheus_client import CollectorRegistry, Gauge, values  # noqa: PLC0415

        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(self.metrics)
        metric_value_class: Callable[..., type[values.MutexValue]] = (
            values.MultiProcessValue
        )
        values.ValueClass = metric_value_class(lambda: self.name)
        Gauge(
            PROCESS_ID,
            "Which process it is.",
            ["process"],
            registry=CollectorRegistry(),
            multiprocess_mode="mostrecent",
        ).labels(self.name).set(os.getpid())


class PeerConnectionCounts:
    """The connection counts of the API processes that listen on one socket."""

    def __init__(self, slot: ProcessSlot) -> None:
        """Publish the connections of the process in `slot`, which is not ready yet."""
        self._cells = slot.memory.connections
        self._number = slot.number
        self._is_ready = False
        self._cells[self._number] = _NOT_READY

    def publish(self, connections: int, *, is_ready: bool | None = None) -> None:
        """Publish how many connections this process has, and whether it is ready."""
        if is_ready is not None:
            self._is_ready = is_ready
        self._cells[self._number] = connections + 1 if self._is_ready else _NOT_READY

    def fewest_connections_elsewhere(self) -> float:
        """Return the connections of the other ready process that has the fewest."""
        other_counts = [
            cell
            for number, cell in enumerate(self._cells.tolist())
            if cell != _NOT_READY and number != self._number
        ]
        return min(other_counts, default=math.inf) - 1


@contextlib.contextmanager
def create_metrics_folder() -> Iterator[Path]:
    """Create the folder of a service's metrics, in memory where possible.

    On a full disk, a write to a memory-mapped file would kill the process.

    Raises:
        OSError: when it cannot be created.
    """
    in_memory = os.access(_MEMORY_FOLDER, os.W_OK | os.X_OK)
    parent = _MEMORY_FOLDER if in_memory else Path(tempfile.gettempdir())
    with temp_folder(parent, "productrecs-metrics-") as folder:
        yield folder


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("productrecs")
    with tempfile.TemporaryFile() as file:  # not Linux
        return os.dup(file.fileno())
