"""Supervisor link: the socket pair between the supervisor and a child.

The kernel closes an end when its process dies for any reason. The child sends `+` once it
is ready; the supervisor sends `.` when the whole service stops.
"""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

import click

from productrecs.entrypoints.shared_metrics import MetricsSlot, SharedMetrics

READY: Final = b"+"
STOP: Final = b"."


def metrics_slot_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the hidden option that names a process's row in the shared metrics."""

    def opened(
        _context: click.Context, _option: click.Parameter, option: str | None
    ) -> MetricsSlot | None:
        if option is None:
            return None
        board, _, place = option.partition(":")
        return MetricsSlot(SharedMetrics(int(board)), int(place))

    return click.option("--place", callback=opened, hidden=True)(command)


def stop_at_signals(stop: Callable[[], None]) -> None:
    """Call `stop`, from a thread, at every SIGTERM and SIGINT.

    A signal handler may run between any two steps of the main thread, which may hold
    the lock that `stop` needs; a thread avoids that deadlock.
    """
    signals: SimpleQueue[None] = (
        SimpleQueue()
    )  # whose `put` never waits, not even for itself

    def wait() -> None:
        while True:
            signals.get()
            stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: signals.put(None))


class SupervisorLink:
    """The child's end of the connection to the supervisor."""

    def __init__(self, number: int) -> None:
        """Take the inherited socket `number`, and do not pass it on to child processes."""
        self._socket = socket.socket(fileno=number)
        self._socket.set_inheritable(False)
        self.number = number

    def ready(self) -> None:
        """Report to the supervisor that this process is ready."""
        with contextlib.suppress(OSError):  # it is gone: the watch will say so
            self._socket.send(READY)

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop`, from a thread, when the supervisor asks for it or is gone."""

        def wait() -> None:
            with contextlib.suppress(OSError):
                self._socket.recv(1)
            stop()

        threading.Thread(target=wait, name="lifeline", daemon=True).start()
