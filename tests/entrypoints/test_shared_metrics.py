"""Shared metrics: other processes see a process's counters, which outlive it."""

from __future__ import annotations

import subprocess
import sys

from productrecs.entrypoints.shared_metrics import NO_LAYOUT, MetricsSlot, SharedMetrics

LAYOUT = 77
COUNT_IN_A_CHILD = """
import sys
from productrecs.entrypoints.shared_metrics import SharedMetrics
cells = SharedMetrics(int(sys.argv[1])).take(1, int(sys.argv[2])).cells
cells[3] += 2.5
"""


def count_in_a_child(board: SharedMetrics, layout: int = LAYOUT) -> None:
    command = [sys.executable, "-c", COUNT_IN_A_CHILD, str(board.number), str(layout)]
    subprocess.run(command, pass_fds=[board.number], check=True)


def test_a_board_is_shared_and_a_successor_counts_on() -> None:
    board = SharedMetrics.make(["api 1", "api 2"])
    board.take(0, LAYOUT).cells[3] += 1

    count_in_a_child(board)
    count_in_a_child(board)

    rows = {row.role: row.cells[3] for row in board.rows(LAYOUT)}
    assert rows == {"api 1": 1.0, "api 2": 5.0}


def test_a_row_of_another_program_is_not_read_and_begins_anew() -> None:
    board = SharedMetrics.make(["api 1", "api 2"])
    count_in_a_child(board)

    assert list(board.rows(LAYOUT + 1)) == []
    count_in_a_child(board, LAYOUT + 1)

    assert [row.cells[3] for row in board.rows(LAYOUT + 1)] == [2.5]
    assert list(board.rows(LAYOUT)) == []


def test_a_process_that_counts_nothing_is_there_all_the_same() -> None:
    board = SharedMetrics.make(["api 1", "worker"])
    assert list(board.processes()) == []

    board.take(1, NO_LAYOUT)

    assert [role for role, _ in board.processes()] == ["worker"]
    assert list(board.rows(LAYOUT)) == []


def test_a_process_alone_has_a_board_of_its_own() -> None:
    place = MetricsSlot.alone("api")
    place.board.take(place.number, LAYOUT).cells[0] += 1

    assert [(row.role, row.cells[0]) for row in place.board.rows(LAYOUT)] == [("api", 1.0)]
