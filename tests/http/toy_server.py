"""An API process with a toy application, for tests that stop it.

    python -m tests.http.toy_server LISTENER_FD ready|plain

It writes a line to standard output once it accepts connections. `plain` is the control: the
same application under uvicorn's own start and stop.

`/slow` answers after half a second and `/never` after a minute, `/echo` with its body,
`/pid` with the process; anything else with what the process knows of a stop.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from productrecs.http.transport.connection import (
    ClientTimeouts,
    DrainFlag,
    SharedTransportState,
)
from productrecs.http.transport.server import Application, HttpServerOptions, run_server

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

PATIENCE = ClientTimeouts(head=1, body=1, reading=1, idle=2, body_bytes=1_024)


def application(state: SharedTransportState) -> Application:
    """Return the toy application."""
    draining = state.draining

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        await asyncio.sleep({"/slow": 0.5, "/never": 60.0}.get(scope["path"], 0.0))
        body = str(bool(draining)).encode()
        if scope["path"] == "/echo":
            body = await _body(receive)
        if scope["path"] == "/pid":
            body = str(os.getpid()).encode()
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return


def say_ready() -> None:
    """Tell the test that connections are accepted."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


class _Plain(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        say_ready()


def main(number: int, *, plain: bool) -> None:
    """Serve until SIGTERM."""
    listener = socket.socket(fileno=number)
    if plain:
        config = uvicorn.Config(
            application(SharedTransportState(DrainFlag())), log_level="critical"
        )
        _Plain(config).run(sockets=[listener])
        return
    options = HttpServerOptions(drain_seconds=0.5, timeouts=PATIENCE)
    run_server(application, listener, options, say_ready)


if __name__ == "__main__":
    main(int(sys.argv[1]), plain=sys.argv[2] == "plain")
