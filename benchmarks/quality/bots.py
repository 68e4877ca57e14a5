"""Bot detection: how many real sessions does the rate rule take for bots?

Every timed session of the data sets is replayed through the detector, one request an event,
with the times of the log. Nobody says which of them were programs, so each one that is
recognised counts as a false positive. RetailRocket's sessions have no times, and no data
set has User-Agents. Beside it: how many events of a steady crawler pass before it is
recognised, and the CPU time of the check.
"""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import MissingDataError, folder
from benchmarks.report import Figure
from productrecs.core.ids import StoreId
from productrecs.http.limits.bot_detection import BotDetector
from productrecs.records.events.event import EventKind, NewEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.report import Report

_STORE: Final = StoreId("st_bots")
_MOST: Final = 0.001  # of the sessions
_HEADERS: Final = {
    b"user-agent": b"Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0 Safari/537.36"
}
_KINDS: Final = {
    "view": EventKind.DETAIL_PAGE_VIEW,
    "clicks": EventKind.DETAIL_PAGE_VIEW,
    "cart": EventKind.ADD_TO_CART,
    "carts": EventKind.ADD_TO_CART,
    "purchase": EventKind.BUY,
    "orders": EventKind.BUY,
}
_CHECKS: Final = 200_000

Session = list[tuple[float, EventKind]]


def measure(report: Report) -> None:
    """Add the share of sessions that are taken for bots, and how soon a crawler is."""
    sets = {
        "Serenade, 30 days": list(_serenade()),
        "REES46, sessions": list(_rees46("user_session")),
        "REES46, users": list(_rees46("user_id")),
        "OTTO, 20 sessions": list(_otto()),
    }
    sessions = sum(map(len, sets.values()))
    taken = {name: sum(map(_is_taken, group)) for name, group in sets.items()}
    note = "; ".join(f"{name}: {taken[name]} of {len(sets[name]):,}" for name in sets)
    share = sum(taken.values()) / sessions
    name, is_low = "sessions taken for bots", share < _MOST
    report.add(Figure(name, share, "share", None, None, _MOST, is_low, note))
    for rate in (2, 5, 40):
        passed = _passed(rate)
        report.add(Figure(f"actions of a crawler that pass, {rate}/s", passed, "actions"))
    report.add(Figure("CPU time of the check", _microseconds(), "us/event"))


class _Replay:
    """A detector whose clock is the log's."""

    def __init__(self) -> None:
        self.now = 0.0
        self.detector = BotDetector(lambda _misuse: None, lambda: 0, lambda: self.now)

    def is_marked(self, kind: EventKind) -> bool:
        event = NewEvent(kind, item_id="1", session_id="s_1", order_id="o_1")
        ((marked,),) = self.detector.count_actions_and_mark_bots(
            _STORE, [[event]], _HEADERS
        )
        return marked.bot is not None


def _is_taken(session: Session) -> bool:
    replay = _Replay()
    for moment, kind in sorted(session):
        replay.now = moment
        if replay.is_marked(kind):
            return True
    return False


def _passed(rate: int) -> int:
    """Return how many events of a crawler with this rate are not marked."""
    replay, passed = _Replay(), 0
    while not replay.is_marked(EventKind.DETAIL_PAGE_VIEW):
        passed += 1
        replay.now += 1 / rate
    return passed


def _microseconds() -> float:
    """Return the CPU time of a check, over sessions of ten events each."""
    detector = BotDetector(lambda _misuse: None, lambda: 0)
    requests = [
        [[NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="1", session_id=f"s_{n // 10}")]]
        for n in range(_CHECKS)
    ]
    began = time.thread_time()
    for groups in requests:
        detector.count_actions_and_mark_bots(_STORE, groups, _HEADERS)
    return (time.thread_time() - began) / _CHECKS * 1e6


def _serenade() -> Iterator[Session]:
    sessions: dict[str, Session] = defaultdict(list)
    for part in ("train", "valid"):
        for row in _rows(f"sessions_serenade_bol/{part}.csv.gz"):
            click = float(row["ts"]), EventKind.DETAIL_PAGE_VIEW
            sessions[row["session_id"]].append(click)
    yield from sessions.values()


def _rees46(who: str) -> Iterator[Session]:
    sessions: dict[str, Session] = defaultdict(list)
    for row in _rows("events_rees46_sample/events.csv.gz"):
        moment = datetime.fromisoformat(row["event_time"].replace(" UTC", "+00:00"))
        sessions[row[who]].append((moment.timestamp(), _KINDS[row["event_type"]]))
    yield from sessions.values()


def _otto() -> Iterator[Session]:
    for line in _present("events_rees46_sample/otto_20_sessions.jsonl").open():
        events = json.loads(line)["events"]
        yield [(one["ts"] / 1000, _KINDS[one["type"]]) for one in events]


def _rows(name: str) -> Sequence[dict[str, str]]:
    with gzip.open(_present(name), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _present(name: str) -> Path:
    path = folder() / name
    if not path.is_file():
        message = f"{path} is not there; set PRODUCTRECS_BENCH_DATA to its folder"
        raise MissingDataError(message)
    return path
