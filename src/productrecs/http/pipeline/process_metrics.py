"""Process metrics: durations of requests, other counters and gauges of one process.

They are metric families of prometheus_client. In a supervised process its multiprocess mode
stores them in files, and any process can read the sums. Only the event loop counts. A
request only appends its duration; once a second all durations enter the histogram.
"""

import time
from array import array
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Final, cast

import numpy as np
import numpy.typing as npt
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from productrecs.features.recommendations.recommendation_request import Source
from productrecs.http.pipeline.route_declaration import OTHER, Route, routes_by_path
from productrecs.processes.process_slot_and_shared_memory import ProcessSlot

# Seconds; most replies take far less than a millisecond, and none should take a second.
BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
)  # fmt: skip
STATUSES: Final = frozenset({
    200, 202, 304, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503,
})  # fmt: skip

_PREFIX: Final = "productrecs_"
_COUNTERS: Final = {
    "events_received": "Events stored.",
    "orders_received": "Orders synced.",
    "items_changed": "Items pushed or deleted.",
    "searches": "Searches computed (a cached reply counts once).",
    "searches_empty": "Searches computed (a cached reply counts once) without results.",
    "connections_refused": (
        "Connections refused because there were too many, or idle ones closed for others."
    ),
}
_LISTS: Final = "Recommendation lists computed (a cached list counts once)"


class CounterMetric(Enum):
    """Counters besides those of requests and lists: the family, and a label's value."""

    EVENTS = ("events_received", "", "")
    ORDERS = ("orders_received", "outcome", "new")
    ORDERS_REPEATED = ("orders_received", "outcome", "duplicate")
    ITEMS_CREATED = ("items_changed", "change", "created")
    ITEMS_UPDATED = ("items_changed", "change", "updated")
    ITEMS_DELETED = ("items_changed", "change", "deleted")
    CONNECTIONS_REFUSED = ("connections_refused", "", "")
    SEARCHES = ("searches", "", "")
    SEARCHES_EMPTY = ("searches_empty", "", "")


class GaugeMetric(Enum):
    """A current value of each process, written about once a second."""

    WRITES_WAITING = ("writes_waiting", "Writes that wait for their commit.")
    OPEN_STORES = ("open_stores", "Stores that are loaded in memory.")
    CONNECTIONS = ("connections", "Open connections.")
    READY = ("ready", "1 while /health/ready answers 200.")


_Kind = tuple[str, str, int]  # path of the route, method, status
_MAX_KINDS: Final = 1_000


class _BatchHistogram(Histogram):
    """A histogram that takes all observations of a second at once."""

    def observe_all(self, amounts: npt.NDArray[np.float64]) -> None:
        """Observe the given amounts."""
        places = np.searchsorted(BUCKETS, amounts)
        counts = np.bincount(places, minlength=len(BUCKETS) + 1)
        for bucket, count in zip(self._buckets, counts.tolist(), strict=True):
            if count:
                bucket.inc(count)
        self._sum.inc(float(amounts.sum()))


class ProcessMetrics:
    """The metrics of this process; call it from the event loop only."""

    def __init__(self, slot: ProcessSlot) -> None:
        """Count in `slot`, starting from the values of the previous process in it."""
        slot.store_metrics_in_folder()
        disable_created_metrics()  # type: ignore[no-untyped-call]  # theirs
        self._folder = slot.metrics
        registry = self._registry = CollectorRegistry()
        self._durations = _BatchHistogram(
            "http_request_duration_seconds",
            "Requests, from reading the head to the reply.",
            ("route", "method", "status"),
            buckets=BUCKETS,
            registry=registry,
        )
        self._counters = _make_counters(registry)
        self._lists = _make_list_counters(registry, "recommendation_lists", f"{_LISTS}.")
        self._empty_lists = _make_list_counters(
            registry, "recommendation_lists_empty", f"{_LISTS}, empty."
        )
        self._gauges = {}
        for gauge in GaugeMetric:
            name, text = gauge.value
            family = Gauge(
                _PREFIX + name,
                text,
                ["process"],
                registry=registry,
                multiprocess_mode="mostrecent",
            )
            self._gauges[gauge] = family.labels(slot.name)
            self.set(gauge, 0)
        self._times: defaultdict[_Kind, array[float]] = defaultdict(lambda: array("d"))

    def record(self, route: Route | None, method: str, status: int, began: float) -> None:
        """Record the reply to a request that arrived at `began`, a monotonic time."""
        path = OTHER if route is None else route.path
        self._times[path, method, status].append(time.monotonic() - began)

    def move_durations_to_histogram(self) -> None:
        """Add the recorded durations to the histogram."""
        for kind, times in self._times.items():
            if times:
                self._durations.labels(*_label_values_of_request_kind(kind)).observe_all(
                    np.array(times)
                )
                del times[:]
        if len(self._times) > _MAX_KINDS:  # a client sends invented methods
            self._times.clear()

    def add(self, count: CounterMetric, amount: int = 1) -> None:
        """Add `amount` to the counter."""
        self._counters[count].inc(amount)

    def set(self, gauge: GaugeMetric, value: float) -> None:
        """Set the current value."""
        self._gauges[gauge].set(value)

    def count_list(self, source: Source, *, is_empty: bool) -> None:
        """Count a list of recommendations."""
        self._lists[source].inc()
        if is_empty:
            self._empty_lists[source].inc()

    def collect(self) -> Iterable[Metric]:
        """Return the families, summed over all processes of the service."""
        if self._folder is None:
            return self._registry.collect()
        files = MultiProcessCollector(None, self._folder)  # type: ignore[no-untyped-call]  # theirs
        return cast("Iterable[Metric]", files.collect())  # type: ignore[no-untyped-call]  # theirs


def _make_counters(registry: CollectorRegistry) -> dict[CounterMetric, Counter]:
    """Return each counter, 0 at first."""
    families: dict[str, Counter] = {}
    counters = {}
    for metric in CounterMetric:
        family, label, value = metric.value
        if family not in families:
            families[family] = _make_counter(registry, family, _COUNTERS[family], label)
        counters[metric] = families[family].labels(value) if label else families[family]
    return counters


def _make_list_counters(
    registry: CollectorRegistry, name: str, text: str
) -> dict[Source, Counter]:
    family = _make_counter(registry, name, text, "source")
    return {source: family.labels(source.value) for source in Source}


def _make_counter(registry: CollectorRegistry, name: str, text: str, label: str) -> Counter:
    return Counter(_PREFIX + name, text, [label] if label else [], registry=registry)


def _label_values_of_request_kind(kind: _Kind) -> tuple[str, str, str]:
    """Return the route, method and status that a kind of request is counted under."""
    path, method, status = kind
    route = routes_by_path().get(path)
    is_known = route is not None and (
        method in route.methods or (route.widget and method == "OPTIONS")
    )
    return path, method if is_known else OTHER, str(status if status in STATUSES else OTHER)
