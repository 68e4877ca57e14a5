"""Request metrics: counts and durations of requests, and other counters and gauges.

Only the event loop counts, so nothing needs a lock. Each number has a fixed cell in a row
of the shared metrics. The tables of routes and statuses fix the cells, so they are the
same in every process of one release.
"""

import hashlib
import math
import time
from array import array
from collections import defaultdict
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.entrypoints.http.pipeline.authentication import ROUTES, Route
from productrecs.entrypoints.shared_metrics import CELLS_PER_ROW, MetricsSlot, SharedMetrics
from productrecs.features.recommendations.request import Source

# Seconds; most answers take far less than a millisecond, and none should take one second.
BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
)  # fmt: skip
STATUSES: Final = (
    200, 202, 304, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503,
)  # fmt: skip
OTHER: Final = "other"
"""A method, or a status, that is not in the tables."""


class CounterMetric(IntEnum):
    """Counters besides those of requests."""

    EVENTS = 0
    ORDERS = 1
    ORDERS_REPEATED = 2
    ITEMS_CREATED = 3
    ITEMS_UPDATED = 4
    ITEMS_DELETED = 5
    CONNECTIONS_REFUSED = 6
    SEARCHES = 7
    SEARCHES_EMPTY = 8


class GaugeMetric(IntEnum):
    """A current value, written about once a second."""

    WRITES_WAITING = 0
    OPEN_STORES = 1
    CONNECTIONS = 2
    READY = 3


_Kind = tuple[int, str, int]


class RouteTimings(NamedTuple):
    """The requests of one route, method and status: how many in each bucket, and all."""

    route: str
    method: str
    status: str
    buckets: tuple[int, ...]  # one more than `BUCKETS`: the last has no end
    seconds: float


_BLOCK: Final = len(BUCKETS) + 2  # the buckets and the sum
_STATUS_AT: Final = {status: index * _BLOCK for index, status in enumerate(STATUSES)}
_OTHER_AT: Final = len(STATUSES) * _BLOCK
_ENDPOINT: Final = _OTHER_AT + _BLOCK


def _endpoints() -> list[tuple[str, str]]:
    found = [(path, method) for path, route in ROUTES.items() for method in route.methods]
    found += [(path, "OPTIONS") for path, route in ROUTES.items() if route.widget]
    return [*found, *((path, OTHER) for path in ROUTES), (OTHER, OTHER)]


ENDPOINTS: Final = tuple(_endpoints())
_SOURCES_AT: Final = {one.value: 2 * index for index, one in enumerate(Source)}
_COUNTS_AT: Final = len(ENDPOINTS) * _ENDPOINT
_GAUGES_AT: Final = _COUNTS_AT + len(CounterMetric)
_LISTS_AT: Final = _GAUGES_AT + len(GaugeMetric)
_END: Final = _LISTS_AT + 2 * len(_SOURCES_AT)
_NOWHERE: Final = (len(ENDPOINTS) - 1) * _ENDPOINT
_AT: Final = {
    (id(ROUTES[path]), method): index * _ENDPOINT
    for index, (path, method) in enumerate(ENDPOINTS)
    if path != OTHER
}
if _END > CELLS_PER_ROW:
    message = f"{_END} counters do not fit into a row of {CELLS_PER_ROW}"
    raise RuntimeError(message)

_MOST_KINDS: Final = 1_000

_WORDS: Final = repr(
    (BUCKETS, STATUSES, ENDPOINTS, [*CounterMetric], [*GaugeMetric], [*Source])
)
LAYOUT: Final = int.from_bytes(hashlib.sha256(_WORDS.encode()).digest()[:7], "big") | 1


class RequestMetrics:
    """The counters of this process; call it from the event loop only.

    Of a request only its time is noted, which takes a few tenths of a microsecond. All
    times of a second are then sorted into their buckets at once.
    """

    def __init__(self, place: MetricsSlot) -> None:
        """Count in the row of `place`, on from what a predecessor left there."""
        self.board = place.board
        row = place.board.take(place.number, LAYOUT)
        self._cells, self._pid = row.cells, row.pid
        self._times: defaultdict[_Kind, array[float]] = defaultdict(lambda: array("d"))
        for gauge in GaugeMetric:
            self._cells[_GAUGES_AT + gauge] = 0.0

    def answered(self, route: Route | None, method: str, status: int, began: float) -> None:
        """Record the reply to a request that arrived at `began`, a monotonic time."""
        # Routes are told apart by their identity, which needs no hash of what they hold.
        self._times[id(route), method, status].append(time.monotonic() - began)

    def settle(self) -> None:
        """Sort recorded replies into their buckets, where readers see them."""
        for kind, times in self._times.items():
            if times:
                self._add_times(_cell_of(kind), np.array(times))
                del times[:]
        if len(self._times) > _MOST_KINDS:  # somebody makes methods up
            self._times.clear()

    def add(self, count: CounterMetric, amount: int = 1) -> None:
        """Add `amount` to the counter."""
        self._cells[_COUNTS_AT + count] += amount

    def set(self, gauge: GaugeMetric, value: float) -> None:
        """Set the current value."""
        self._cells[_GAUGES_AT + gauge] = value

    def tell(self, connections: int) -> None:
        """Record how many connections this process has."""
        self._cells[_GAUGES_AT + GaugeMetric.CONNECTIONS] = connections

    def fewest(self) -> float:
        """Return the connections of the other ready process that has the fewest."""
        mine = self._pid
        return min(
            (
                row.cells[_GAUGES_AT + GaugeMetric.CONNECTIONS]
                for row in self.board.rows(LAYOUT)
                if row.pid != mine and row.cells[_GAUGES_AT + GaugeMetric.READY]
            ),
            default=math.inf,
        )

    def listed(self, source: Source, *, is_empty: bool) -> None:
        """Note that a list of recommendations was made."""
        self._cells[_LISTS_AT + _SOURCES_AT[source.value] + is_empty] += 1.0

    def _add_times(self, at: int, times: npt.NDArray[np.float64]) -> None:
        cells = self._cells
        buckets = np.bincount(np.searchsorted(BUCKETS, times), minlength=len(BUCKETS) + 1)
        for index, count in enumerate(buckets):
            cells[at + index] += float(count)
        cells[at + _BLOCK - 1] += float(times.sum())


def _cell_of(kind: _Kind) -> int:
    """Return where the numbers of a route (by its identity), method and status begin."""
    route, method, status = kind
    at = _AT.get((route, method), -1)
    if at < 0:
        at = _AT.get((route, OTHER), _NOWHERE)
    return at + _STATUS_AT.get(status, _OTHER_AT)


class MetricTotals:
    """What all processes of a board counted together."""

    def __init__(self, board: SharedMetrics) -> None:
        """Add the rows up as they stand now."""
        self._rows = list(board.rows(LAYOUT))
        every = [row.cells[:_END].tolist() for row in self._rows]
        self._sums = [sum(cells) for cells in zip(*every, strict=True)]

    def timings(self) -> Iterator[RouteTimings]:
        """Yield the requests of each route, method and status that there were."""
        for index, (route, method) in enumerate(ENDPOINTS):
            for number, status in enumerate((*STATUSES, OTHER)):
                at = index * _ENDPOINT + number * _BLOCK
                buckets = tuple(int(n) for n in self._sums[at : at + _BLOCK - 1])
                if any(buckets):
                    seconds = self._sums[at + _BLOCK - 1]
                    yield RouteTimings(route, method, str(status), buckets, seconds)

    def count(self, count: CounterMetric) -> int:
        """Return a counter."""
        return int(self._sums[_COUNTS_AT + count])

    def gauges(self, gauge: GaugeMetric) -> Iterator[tuple[str, float]]:
        """Yield the gauges of each process, by its role."""
        for row in self._rows:
            yield row.role, row.cells[_GAUGES_AT + gauge]

    def lists(self) -> Iterator[tuple[str, int, int]]:
        """Yield each source, how many lists it gave, and how many of them were empty."""
        for source, at in _SOURCES_AT.items():
            full, empty = self._sums[_LISTS_AT + at : _LISTS_AT + at + 2]
            yield source, int(full + empty), int(empty)
