"""Process metrics: counted in the right series, and summed over all processes."""

import json
import time
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from productrecs.features.recommendations.recommendation_request import Source
from productrecs.http.pipeline.process_metrics import (
    BUCKETS,
    CounterMetric,
    GaugeMetric,
    ProcessMetrics,
)
from productrecs.http.pipeline.route_declaration import Route
from productrecs.http.route_table import ROUTES
from productrecs.processes.child_process import ForkedProcess
from productrecs.processes.process_slot_and_shared_memory import ProcessSlot, SharedMemory

DURATION = "http_request_duration_seconds"
ITEMS = ROUTES["/v1/items"]


@pytest.fixture
def traffic() -> ProcessMetrics:
    return ProcessMetrics(ProcessSlot.standalone("api"))


def answer(
    traffic: ProcessMetrics, route: Route | None, method: str, status: int, seconds: float
) -> None:
    """Note an answer that took so long."""
    traffic.record(route, method, status, time.monotonic() - seconds)


def family(traffic: ProcessMetrics, name: str) -> Metric:
    """Return one family."""
    return next(one for one in traffic.collect() if one.name == name)


def samples(traffic: ProcessMetrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of the sample `name` by the values of its labels."""
    return {
        tuple(one.labels.values()): one.value
        for metric in traffic.collect()
        for one in metric.samples
        if one.name == name
    }


def test_requests_are_counted_by_route_method_and_status(traffic: ProcessMetrics) -> None:
    for route, method, status, seconds in [
        (ITEMS, "POST", 200, 0.003),
        (ITEMS, "POST", 200, 0.03),
        (ITEMS, "POST", 402, 20),
        (ITEMS, "PATCH", 405, 0),
        (None, "GET", 404, 0),
        (ITEMS, "POST", 418, 0),
    ]:
        answer(traffic, route, method, status, seconds)
    traffic.move_durations_to_histogram()

    assert samples(traffic, f"{DURATION}_count") == {
        ("/v1/items", "POST", "200"): 2,
        ("/v1/items", "POST", "402"): 1,
        ("/v1/items", "POST", "other"): 1,
        ("/v1/items", "other", "405"): 1,
        ("other", "other", "404"): 1,
    }
    pushed = ("/v1/items", "POST", "200")
    buckets = samples(traffic, f"{DURATION}_bucket")
    assert [buckets[(*pushed, str(end))] for end in BUCKETS] == [
        (end >= 0.005) + (end >= 0.05) for end in BUCKETS
    ]
    assert buckets["/v1/items", "POST", "402", "10.0"] == 0
    assert samples(traffic, f"{DURATION}_sum")[pushed] == pytest.approx(0.033, abs=0.02)


def test_each_counter_and_gauge_has_a_series_of_its_own(traffic: ProcessMetrics) -> None:
    for number, count in enumerate(CounterMetric):
        traffic.add(count, 10 + number)
    for number, gauge in enumerate(GaugeMetric):
        traffic.set(gauge, 100 + number)
    for source in Source:
        traffic.count_list(source, is_empty=False)
        traffic.count_list(source, is_empty=True)

    for number, count in enumerate(CounterMetric):
        name, label, value = count.value
        series = samples(traffic, f"productrecs_{name}_total")
        assert series[(value,) if label else ()] == 10 + number
    for number, gauge in enumerate(GaugeMetric):
        assert samples(traffic, f"productrecs_{gauge.value[0]}") == {("api",): 100 + number}
    lists = "productrecs_recommendation_lists"
    assert samples(traffic, f"{lists}_total") == {(one.value,): 2 for one in Source}
    assert samples(traffic, f"{lists}_empty_total") == {(one.value,): 1 for one in Source}


def test_processes_add_up_and_a_successor_counts_on(tmp_path: Path) -> None:
    memory = SharedMemory.create(2)
    metrics, said = tmp_path / "metrics", tmp_path / "said"
    metrics.mkdir()

    def count(name: str, number: int) -> tuple[dict[str, float], dict[str, float]]:
        """Return what a process sees at its start, and once it has counted, too."""

        def work() -> int:
            traffic = ProcessMetrics(ProcessSlot(name, number, memory, metrics))
            connections = samples(traffic, "productrecs_connections")
            gauges = {process: value for (process,), value in connections.items()}
            traffic.add(CounterMetric.EVENTS, 3)
            traffic.set(GaugeMetric.CONNECTIONS, 9)
            answer(traffic, ITEMS, "POST", 200, 0.003)
            traffic.move_durations_to_histogram()
            found = {
                one.name + one.labels.get("le", ""): one.value
                for one in (one for metric in traffic.collect() for one in metric.samples)
            }
            said.write_text(json.dumps([gauges, found]))
            return 0

        assert ForkedProcess(name, work, [memory.file]).wait() == 0
        gauges, found = json.loads(said.read_text())
        return gauges, found

    count("api 1", 0)
    before, _ = count("api 2", 1)
    after, found = count("api 1", 0)  # another process in the same slot

    assert (before, after) == ({"api 1": 9, "api 2": 0}, {"api 1": 0, "api 2": 9})
    assert found["productrecs_events_received_total"] == 9
    assert found[f"{DURATION}_count"] == found[f"{DURATION}_bucket0.005"] == 3
    assert len(list(metrics.iterdir())) == 6  # of two processes, not of three


def test_recorded_times_are_counted_once(traffic: ProcessMetrics) -> None:
    for _ in range(1_000):
        answer(traffic, None, "GET", 404, 0.3)
    assert family(traffic, DURATION).samples == []

    traffic.move_durations_to_histogram()
    traffic.move_durations_to_histogram()

    other = ("other", "other", "404")
    assert samples(traffic, f"{DURATION}_count")[other] == 1_000
    assert samples(traffic, f"{DURATION}_bucket")[*other, "0.25"] == 0
    assert samples(traffic, f"{DURATION}_sum")[other] == pytest.approx(300, rel=0.1)


def test_methods_that_somebody_makes_up_take_no_memory(traffic: ProcessMetrics) -> None:
    for number in range(5_000):
        answer(traffic, ITEMS, f"M{number}", 405, 0)
        if number % 500 == 0:
            traffic.move_durations_to_histogram()
    traffic.move_durations_to_histogram()
    traffic.move_durations_to_histogram()

    assert sum(samples(traffic, f"{DURATION}_count").values()) == 5_000
    assert len(vars(traffic)["_times"]) <= 1_000
