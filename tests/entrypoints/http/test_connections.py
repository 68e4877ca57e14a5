"""Does a request leave nothing behind that only a search through all memory would find?"""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any
from unittest import mock

from uvicorn.config import Config

from productrecs.entrypoints.http import connections
from productrecs.entrypoints.http.connections import (
    Connection,
    Draining,
    State,
    answer_whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
REQUEST = b"GET / HTTP/1.1\r\nhost: shop\r\n\r\n"
REQUESTS = 50


async def application(scope: Any, _receive: Any, _send: Any) -> None:
    assert answer_whole(scope, WHOLE)


async def left_behind() -> tuple[int, int]:
    """Return how many requests were answered, and how many objects they left in circles."""
    transport = mock.Mock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = None
    config = Config(application, log_config=None, access_log=False, lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    connection = Connection(config, State(Draining()), {}, loop)
    connection.connection_made(transport)
    gc.collect()
    gc.disable()
    try:
        for _ in range(REQUESTS):
            connection.data_received(REQUEST)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        answered = sum(call.args == (WHOLE,) for call in transport.write.call_args_list)
        return answered, gc.collect()
    finally:
        gc.enable()
        connection.connection_lost(None)


def test_requests_leave_no_circles_behind() -> None:
    answered, circles = asyncio.run(left_behind())

    assert answered == REQUESTS
    assert circles < REQUESTS


def test_control_a_scope_that_holds_its_cycle_leaves_one_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def held(one: object) -> Callable[[], object]:
        return lambda: one

    monkeypatch.setattr(connections, "ref", held)

    answered, circles = asyncio.run(left_behind())

    assert answered == REQUESTS
    assert circles >= REQUESTS
