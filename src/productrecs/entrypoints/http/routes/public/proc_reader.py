"""Process stats: memory, CPU time and open files of a process, from /proc."""

import os
from pathlib import Path
from typing import Final, NamedTuple

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_AFTER_NAME: Final = 2  # the fields of /proc/PID/stat that stand before those counted here
_USER, _SYSTEM, _RESIDENT = 13, 14, 23


class ProcessStats(NamedTuple):
    """What a process holds now, and the processor's time that it ever took."""

    resident_bytes: int
    cpu_seconds: float
    open_files: int


def read_process_stats(pid: int) -> ProcessStats | None:
    """Return the process `pid`'s resources; None when it has ended, or outside Linux."""
    folder = Path(f"/proc/{pid}")
    try:
        words = (folder / "stat").read_text().rpartition(")")[2].split()
        files = sum(1 for _ in (folder / "fd").iterdir())
    except OSError:
        return None
    user, system, pages = (
        int(words[field - _AFTER_NAME]) for field in (_USER, _SYSTEM, _RESIDENT)
    )
    return ProcessStats(pages * _PAGE, (user + system) / _TICKS, files)
