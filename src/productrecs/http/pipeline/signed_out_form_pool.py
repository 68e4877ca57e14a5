"""Signed-out form pool: answers forms of people without a session, in its own thread.

A password costs 20 ms of CPU time, so a flood of guesses must not take the threads that
render pages, nor the processor that searches need: the thread pauses as long as it worked.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from productrecs.core.errors import QueueFullError

Result = TypeVar("Result")

MAX_WAITING: Final = 64
"""A form behind more others would wait for seconds."""

_LONGEST_REST: Final = 0.25


class SignedOutFormPool:
    """One thread, and a limited queue."""

    def __init__(self) -> None:
        """Start the thread at the first form."""
        self._thread = ThreadPoolExecutor(1, "login")
        self._waiting = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, run when it is its turn.

        Raises:
            QueueFullError: when too many wait already.
        """
        if self._waiting >= MAX_WAITING:
            message = "too many logins at once; try again in a minute"
            raise QueueFullError(message)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _run_and_pause, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the forms that are being answered."""
        self._thread.shutdown()


def _run_and_pause(work: Callable[[], Result]) -> Result:
    began = time.perf_counter()
    try:
        return work()
    finally:
        time.sleep(min(_LONGEST_REST, time.perf_counter() - began))
