"""Import chunks: a transaction holds the lock no longer than allowed."""

from productrecs.records.orders.order_history_import import (
    MAX_LINES,
    MIN_LINES,
    TRANSACTION_SECONDS,
    AdaptiveChunkSize,
)


def held(size: AdaptiveChunkSize, seconds_a_line: float, times: int = 30) -> int:
    for _ in range(times):
        size.adapt_to(size.lines, size.lines * seconds_a_line)
    return size.lines


def test_it_holds_as_many_lines_as_fit_the_time() -> None:
    size = AdaptiveChunkSize()

    assert held(size, TRANSACTION_SECONDS / 700) == 700
    assert held(size, TRANSACTION_SECONDS / 80) == 80  # the disk became slow
    assert held(size, TRANSACTION_SECONDS / 900) == 900


def test_it_has_a_least_and_a_most() -> None:
    assert held(AdaptiveChunkSize(), 1.0) == MIN_LINES
    assert held(AdaptiveChunkSize(), 0.0) == MAX_LINES


def test_one_that_was_held_up_changes_little() -> None:
    size = AdaptiveChunkSize()
    before = held(size, TRANSACTION_SECONDS / 600)

    size.adapt_to(before, 10 * TRANSACTION_SECONDS)

    assert size.lines == before // 2
    assert held(size, TRANSACTION_SECONDS / 600, times=3) > 0.9 * before
