"""Do events wait while a backup of the running service is made?"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import ready_service
from benchmarks.speed.stores import copy_of, timed

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.speed.servers import Load, Server
    from benchmarks.speed.stores import BigShop, Run

EVENTS_PER_SECOND, CONNECTIONS, STRETCH_SECONDS, STRETCHES = 200.0, 16, 5.0, 4
MOST = 1.3
MIB = 1 << 20


def backup(report: Report, shop: BigShop) -> None:
    """Measure events' p99 alone and beside `productrecs backup`, stretch by stretch."""
    with copy_of(shop.trained) as data, ready_service(data, 1) as serving:
        events = traffic.events_only(shop.publishable_key, 83)
        _stretch(serving, events)  # caches
        alone = [_stretch(serving, events) for _ in range(STRETCHES)]
        saving = Saving(data)
        beside = []
        while saving.goes_on():
            beside.append(_stretch(serving, events))
        run, size = saving.end()
        alone += [_stretch(serving, events) for _ in range(STRETCHES)]
    ours, floor = _middle_p99(beside), _middle_p99(alone)
    report.add(
        Figure(
            "events beside a backup, p99",
            ours,
            "ms",
            floor,
            ours / floor,
            f"<= {MOST} x alone",
            ours <= MOST * floor,
            f"{size / MIB:,.0f} MiB saved in {run.seconds:.0f} s, {run.told()}; the median "
            f"of {len(beside)} stretches of {STRETCH_SECONDS:.0f} s at "
            f"{EVENTS_PER_SECOND:.0f}/s, the worst {max(map(_p99, beside)):.1f} beside "
            f"{max(map(_p99, alone)):.1f} ms; floor: the same before and after",
        )
    )


class Saving:
    """One backup, made beside."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._file = data.parent / "saved.tar"
        self._run: Run | None = None
        self._thread = threading.Thread(target=self._save)
        self._thread.start()

    def goes_on(self) -> bool:
        """Return whether it is still being made."""
        return self._thread.is_alive()

    def end(self) -> tuple[Run, int]:
        """Return how long it took, and how many bytes it has."""
        self._thread.join()
        if self._run is None:
            raise RuntimeError("the backup failed")
        return self._run, self._file.stat().st_size

    def _save(self) -> None:
        self._run = timed(self._data, "backup", str(self._file))


def _stretch(serving: Server, events: bytes) -> Load:
    return serving.load(events, CONNECTIONS, STRETCH_SECONDS, EVENTS_PER_SECOND)


def _p99(load: Load) -> float:
    return load.p99_ms("e")


def _middle_p99(loads: list[Load]) -> float:
    return sorted(map(_p99, loads))[len(loads) // 2]
