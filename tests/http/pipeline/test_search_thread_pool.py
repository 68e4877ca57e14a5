"""Search pool: bounded waiting for a thread, and errors are passed on."""

import asyncio
import threading

import pytest

from productrecs.core.errors import QueueFullError
from productrecs.http.pipeline.search_thread_pool import SearchThreadPool


def test_a_search_returns_what_it_found_from_another_thread() -> None:
    searching = SearchThreadPool()

    thread_id = asyncio.run(searching.run(threading.get_ident))

    assert thread_id != threading.get_ident()
    searching.close()


def test_what_a_search_raises_reaches_whoever_waits() -> None:
    searching = SearchThreadPool()

    def fail() -> None:
        message = "damaged"
        raise ValueError(message)

    async def ask() -> int:
        with pytest.raises(ValueError, match="damaged"):
            await searching.run(fail)
        return await searching.run(lambda: 7)  # the thread goes on

    assert asyncio.run(ask()) == 7
    searching.close()


def test_too_many_searches_are_refused_and_abandoned_ones_not_done() -> None:
    searching, gate, done = SearchThreadPool(), threading.Event(), []

    async def crowd() -> None:
        held = [asyncio.create_task(searching.run(gate.wait)) for _ in range(2)]
        waiting = [
            asyncio.create_task(searching.run(lambda: done.append(1))) for _ in range(198)
        ]
        await asyncio.sleep(0)  # lets all of them begin to wait
        with pytest.raises(QueueFullError):
            await searching.run(lambda: None)
        for one in waiting[:100]:
            one.cancel()
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*held, *waiting, return_exceptions=True)

    asyncio.run(crowd())

    assert len(done) == 98
    searching.close()
    with pytest.raises(QueueFullError):
        asyncio.run(searching.run(lambda: 1))
