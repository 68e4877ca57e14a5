"""Request metrics: counted in the right series, summed over all processes."""

from __future__ import annotations

import time

import pytest

from productrecs.entrypoints.http.pipeline.authentication import ROUTES, Route
from productrecs.entrypoints.http.pipeline.request_metrics import (
    BUCKETS,
    CounterMetric,
    GaugeMetric,
    MetricTotals,
    RequestMetrics,
    RouteTimings,
)
from productrecs.entrypoints.shared_metrics import MetricsSlot, SharedMetrics
from productrecs.features.recommendations.request import Source


@pytest.fixture
def board() -> SharedMetrics:
    return SharedMetrics.make(["api 1", "api 2"])


def answer(
    traffic: RequestMetrics, route: Route | None, method: str, status: int, seconds: float
) -> None:
    """Note an answer that took so long."""
    traffic.answered(route, method, status, time.monotonic() - seconds)


def test_requests_are_told_by_route_method_and_status_over_all_processes(
    board: SharedMetrics,
) -> None:
    first, second = (
        RequestMetrics(MetricsSlot(board, 0)),
        RequestMetrics(MetricsSlot(board, 1)),
    )
    items = ROUTES["/v1/items"]
    answer(first, items, "POST", 200, 0.003)
    answer(second, items, "POST", 200, 0.03)
    answer(second, items, "POST", 402, 20)
    answer(second, items, "PATCH", 405, 0)
    answer(second, None, "GET", 404, 0)
    answer(second, items, "POST", 418, 0)

    first.settle()
    second.settle()
    found = {one[:3]: one for one in MetricTotals(board).timings()}

    assert found.keys() == {
        ("/v1/items", "POST", "200"),
        ("/v1/items", "POST", "402"),
        ("/v1/items", "POST", "other"),
        ("/v1/items", "other", "405"),
        ("other", "other", "404"),
    }
    pushed = found["/v1/items", "POST", "200"]
    assert [n for n, count in enumerate(pushed.buckets) if count] == [
        BUCKETS.index(0.005),
        BUCKETS.index(0.05),
    ]
    assert pushed.seconds == pytest.approx(0.033, abs=0.02)
    assert found["/v1/items", "POST", "402"].buckets[-1] == 1


def test_no_two_counters_share_a_cell(board: SharedMetrics) -> None:
    traffic = RequestMetrics(MetricsSlot(board, 0))
    for route in ROUTES.values():
        for method in route.methods:
            answer(traffic, route, method, 200, 0)
    for count in CounterMetric:
        traffic.add(count, 10 + count)
    for gauge in GaugeMetric:
        traffic.set(gauge, 100 + gauge)
    for source in Source:
        traffic.listed(source, is_empty=False)
        traffic.listed(source, is_empty=True)
    traffic.settle()

    totals = MetricTotals(board)

    every = [method for route in ROUTES.values() for method in route.methods]
    assert [sum(one.buckets) for one in totals.timings()] == [1] * len(every)
    assert [totals.count(count) for count in CounterMetric] == [
        10 + count for count in CounterMetric
    ]
    assert [list(totals.gauges(gauge)) for gauge in GaugeMetric] == [
        [("api 1", 100 + gauge)] for gauge in GaugeMetric
    ]
    assert set(totals.lists()) == {(source.value, 2, 1) for source in Source}


def test_a_successor_goes_on_with_the_counters_and_not_with_what_stood(
    board: SharedMetrics,
) -> None:
    before = RequestMetrics(MetricsSlot(board, 0))
    before.add(CounterMetric.EVENTS, 3)
    before.set(GaugeMetric.CONNECTIONS, 9)

    RequestMetrics(MetricsSlot(board, 0)).add(CounterMetric.EVENTS)

    totals = MetricTotals(board)
    assert totals.count(CounterMetric.EVENTS) == 4
    assert list(totals.gauges(GaugeMetric.CONNECTIONS)) == [("api 1", 0.0)]
    assert list(totals.timings()) == list[RouteTimings]()


def test_what_was_noted_is_told_once_it_is_settled_and_once_only(
    board: SharedMetrics,
) -> None:
    traffic = RequestMetrics(MetricsSlot(board, 0))
    for _ in range(1_000):
        answer(traffic, None, "GET", 404, 0.3)
    assert list(MetricTotals(board).timings()) == []

    traffic.settle()
    traffic.settle()

    (told,) = MetricTotals(board).timings()
    assert sum(told.buckets) == told.buckets[BUCKETS.index(0.5)] == 1_000
    assert told.seconds == pytest.approx(300, rel=0.1)


def test_methods_that_somebody_makes_up_take_no_memory(board: SharedMetrics) -> None:
    traffic = RequestMetrics(MetricsSlot(board, 0))
    for number in range(5_000):
        answer(traffic, ROUTES["/v1/items"], f"M{number}", 405, 0)
        if number % 500 == 0:
            traffic.settle()
    traffic.settle()
    traffic.settle()

    assert sum(sum(one.buckets) for one in MetricTotals(board).timings()) == 5_000
    assert len(vars(traffic)["_times"]) <= 1_000
