"""Is everything counted where it belongs, and added up over all processes?"""

from __future__ import annotations

import time

import pytest

from productrecs.entrypoints.board import Board, Place
from productrecs.entrypoints.http.authentication import ROUTES, Route
from productrecs.entrypoints.http.traffic import (
    BUCKETS,
    Count,
    Gauge,
    Timing,
    Totals,
    Traffic,
)
from productrecs.features.recommendations.request import Source


@pytest.fixture
def board() -> Board:
    return Board.make(["api 1", "api 2"])


def answer(
    traffic: Traffic, route: Route | None, method: str, status: int, seconds: float
) -> None:
    """Note an answer that took so long."""
    traffic.answered(route, method, status, time.monotonic() - seconds)


def test_requests_are_told_by_route_method_and_status_over_all_processes(
    board: Board,
) -> None:
    first, second = Traffic(Place(board, 0)), Traffic(Place(board, 1))
    items = ROUTES["/v1/items"]
    answer(first, items, "POST", 200, 0.003)
    answer(second, items, "POST", 200, 0.03)
    answer(second, items, "POST", 402, 20)
    answer(second, items, "PATCH", 405, 0)
    answer(second, None, "GET", 404, 0)
    answer(second, items, "POST", 418, 0)

    first.settle()
    second.settle()
    found = {one[:3]: one for one in Totals(board).timings()}

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


def test_no_two_counters_share_a_cell(board: Board) -> None:
    traffic = Traffic(Place(board, 0))
    for route in ROUTES.values():
        for method in route.methods:
            answer(traffic, route, method, 200, 0)
    for count in Count:
        traffic.add(count, 10 + count)
    for gauge in Gauge:
        traffic.set(gauge, 100 + gauge)
    for source in Source:
        traffic.listed(source, is_empty=False)
        traffic.listed(source, is_empty=True)
    traffic.settle()

    totals = Totals(board)

    every = [method for route in ROUTES.values() for method in route.methods]
    assert [sum(one.buckets) for one in totals.timings()] == [1] * len(every)
    assert [totals.count(count) for count in Count] == [10 + count for count in Count]
    assert [list(totals.gauges(gauge)) for gauge in Gauge] == [
        [("api 1", 100 + gauge)] for gauge in Gauge
    ]
    assert set(totals.lists()) == {(source.value, 2, 1) for source in Source}


def test_a_successor_goes_on_with_the_counters_and_not_with_what_stood(
    board: Board,
) -> None:
    before = Traffic(Place(board, 0))
    before.add(Count.EVENTS, 3)
    before.set(Gauge.CONNECTIONS, 9)

    Traffic(Place(board, 0)).add(Count.EVENTS)

    totals = Totals(board)
    assert totals.count(Count.EVENTS) == 4
    assert list(totals.gauges(Gauge.CONNECTIONS)) == [("api 1", 0.0)]
    assert list(totals.timings()) == list[Timing]()


def test_what_was_noted_is_told_once_it_is_settled_and_once_only(board: Board) -> None:
    traffic = Traffic(Place(board, 0))
    for _ in range(1_000):
        answer(traffic, None, "GET", 404, 0.3)
    assert list(Totals(board).timings()) == []

    traffic.settle()
    traffic.settle()

    (told,) = Totals(board).timings()
    assert sum(told.buckets) == told.buckets[BUCKETS.index(0.5)] == 1_000
    assert told.seconds == pytest.approx(300, rel=0.1)


def test_methods_that_somebody_makes_up_take_no_memory(board: Board) -> None:
    traffic = Traffic(Place(board, 0))
    for number in range(5_000):
        answer(traffic, ROUTES["/v1/items"], f"M{number}", 405, 0)
        if number % 500 == 0:
            traffic.settle()
    traffic.settle()
    traffic.settle()

    assert sum(sum(one.buckets) for one in Totals(board).timings()) == 5_000
    assert len(vars(traffic)["_times"]) <= 1_000
