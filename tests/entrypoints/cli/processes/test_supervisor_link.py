"""Supervisor link: a process stops whenever it is told to."""

import signal
import threading
from collections.abc import Callable

from productrecs.entrypoints.cli.processes.child_process import ForkedProcess
from productrecs.entrypoints.cli.processes.supervisor_link import stop_at_signals

Stop = Callable[[], None]


def told_while_it_holds_the_lock(
    listen: Callable[[Stop], None], patience: float
) -> Callable[[], int]:
    """Return work that is 0 where a stop comes through, though it came at a bad moment."""

    def work() -> int:
        lock, stopped = threading.Lock(), threading.Event()

        def stop() -> None:
            if lock.acquire(timeout=patience):
                stopped.set()

        listen(stop)
        with lock:  # as at the beginning and the end of every wait for an event
            signal.raise_signal(signal.SIGTERM)
        return 0 if stopped.wait(patience) else 1

    return work


def test_a_signal_may_come_while_the_lock_is_held_that_a_stop_waits_for() -> None:
    work = told_while_it_holds_the_lock(stop_at_signals, 30)

    assert ForkedProcess("toy", work, ()).wait() == 0


def test_control_a_handler_that_stops_by_itself_waits_for_its_own_thread() -> None:
    def directly(stop: Stop) -> None:
        signal.signal(signal.SIGTERM, lambda _number, _frame: stop())

    assert ForkedProcess("toy", told_while_it_holds_the_lock(directly, 0.1), ()).wait() == 1
