"""Search thread pool: runs searches off the event loop, on their own threads."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from productrecs.core.errors import QueueFullError

Result = TypeVar("Result")

_THREADS: Final = 2
_MAX_WAITING: Final = 200
"""A longer queue would wait too long for search as you type."""


class _SearchTask(NamedTuple):
    """One search, and the future and loop that wait for it."""

    action: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    awaited: asyncio.Future[Any]


class SearchThreadPool:
    """Search threads; the library releases the GIL while it searches.

    An executor would work, but its two futures and their locks cost a tenth more per
    reply.
    """

    def __init__(self) -> None:
        """Start no thread; the first search starts them."""
        self._tasks: SimpleQueue[_SearchTask | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        self._is_closed = False

    async def run(self, action: Callable[[], Result]) -> Result:
        """Return the result of `action`, run when it is its turn.

        Raises:
            QueueFullError: when too many wait already.
        """
        if self._waiting >= _MAX_WAITING or self._is_closed:
            message = "too many searches at once; retry"
            raise QueueFullError(message)
        if not self._threads:
            self._start_threads()
        loop = asyncio.get_running_loop()
        awaited: asyncio.Future[Result] = loop.create_future()
        self._waiting += 1
        try:
            self._tasks.put(_SearchTask(action, loop, awaited))
            return await awaited
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the running searches."""
        self._is_closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _start_threads(self) -> None:
        for number in range(_THREADS):
            name = f"search_{number}"
            thread = threading.Thread(target=self._run_tasks, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _run_tasks(self) -> None:
        while (task := self._tasks.get()) is not None:
            if task.awaited.cancelled():
                continue  # the caller is gone
            try:
                found = task.action()
            except BaseException as error:  # raised in the caller
                complete = partial(_set_result_or_error, task.awaited, None, error)
            else:
                complete = partial(_set_result_or_error, task.awaited, found, None)
            with contextlib.suppress(RuntimeError):  # the loop may be closed
                task.loop.call_soon_threadsafe(complete)


def _set_result_or_error(
    awaited: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    if awaited.done():
        return
    if error is not None:
        awaited.set_exception(error)
    else:
        awaited.set_result(result)
