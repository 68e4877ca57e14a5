"""Parallel loops: two background loops in one process, which end together."""

import logging
import threading
from typing import Protocol

_log = logging.getLogger(__name__)


class BackgroundLoop(Protocol):
    """A background loop that runs until `stop`."""

    def run(self) -> None:
        """Work until `stop` is called."""

    def stop(self) -> None:
        """Let `run` return; thread-safe."""


class ParallelLoops:
    """Two loops in one process; the second one is mostly idle.

    When one ends, the other ends too, so that a supervisor restarts both.
    """

    def __init__(self, first: BackgroundLoop, second: BackgroundLoop) -> None:
        """Start no loop yet."""
        self._first = first
        self._second = second

    def run(self) -> None:
        """Work until `stop` is called."""
        second_thread = threading.Thread(
            target=self._run_second_loop, name="second loop", daemon=True
        )
        second_thread.start()
        try:
            self._first.run()
        finally:
            self._second.stop()
            second_thread.join()

    def _run_second_loop(self) -> None:
        try:
            self._second.run()
        except Exception:
            _log.exception("background loop crashed")
        finally:
            self._first.stop()

    def stop(self) -> None:
        """Let both end after their current work."""
        self._first.stop()
        self._second.stop()
