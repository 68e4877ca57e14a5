"""In-process client: calls the HTTP application without a socket, so tests can break it.

`Inside` runs the application of one API process on an event loop of its own, in this
process, and passes it requests as the server would.
"""

import asyncio
import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import unquote

from productrecs.application import create_application
from productrecs.http.dispatch.dispatcher import Application, Dispatcher
from productrecs.http.transport.request_parser import RequestHeaders
from productrecs.services import Services
from tests.support.service import Reply, eventually

_SECONDS: Final = 30


@dataclass
class _Exchange:
    """The messages of one request, both ways."""

    body: bytes
    status: int = 0
    headers: list[tuple[str, str]] | None = None
    sent: bytes = b""
    is_received: bool = False

    async def receive(self) -> MutableMapping[str, Any]:
        if self.is_received:
            await asyncio.Event().wait()  # the caller stays for the whole reply
        self.is_received = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [(k.decode(), v.decode()) for k, v in message["headers"]]
        else:
            self.sent += message.get("body", b"")


class Inside:
    """An application, started; use it as a context."""

    def __init__(self, application: Application, ready: str = "/health/ready") -> None:
        """Prepare; entering starts it, and waits until `ready` answers 200."""
        self.application = application
        self._ready = ready
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._life: asyncio.Queue[str] = asyncio.Queue()
        self._running: Any = None

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Pass one request in and return what came out."""
        raw_path, _, query = target.partition("?")
        named = {"host": "127.0.0.1", **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw_path),
            "raw_path": raw_path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (k.lower().encode(), v.encode("latin-1")) for k, v in named.items()
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        exchange = _Exchange(body or b"")
        self._call(self.application(scope, exchange.receive, exchange.send), exchange)
        assert exchange.headers is not None, "nothing was answered"
        return Reply(exchange.status, exchange.headers, exchange.sent)

    def fast_reply(self, target: str, headers: Mapping[str, str]) -> Reply | None:
        """Return what a GET is answered the short way; None where that is closed to it."""
        named = [(k.lower().encode(), v.encode("latin-1")) for k, v in headers.items()]

        async def answer() -> bytes | None:
            assert isinstance(self.application, Dispatcher)
            short = self.application.fast_path
            return short.try_reply_and_meter(
                target.encode(), RequestHeaders.of(named), "127.0.0.1"
            )

        answering = asyncio.run_coroutine_threadsafe(answer(), self._loop)
        sent = answering.result(_SECONDS)
        return None if sent is None else _read(sent)

    def __enter__(self) -> Self:
        """Start the application and wait until it is ready."""
        self._thread.start()
        started = threading.Event()

        async def receive() -> MutableMapping[str, Any]:
            return {"type": f"lifespan.{await self._life.get()}"}

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message["type"].endswith(".complete"), message
            started.set()

        self._running = asyncio.run_coroutine_threadsafe(
            self._alive(receive, send), self._loop
        )
        self._tell("startup")
        assert started.wait(_SECONDS)
        eventually(lambda: self.ask("GET", self._ready).status == 200, _SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it and let go of everything."""
        self._tell("shutdown")
        self._running.result(_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    async def _alive(self, receive: Any, send: Any) -> None:
        await self.application({"type": "lifespan", "state": {}}, receive, send)

    def _tell(self, word: str) -> None:
        self._loop.call_soon_threadsafe(self._life.put_nowait, word)

    def _call(self, coroutine: Any, exchange: _Exchange) -> None:
        try:
            asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_SECONDS)
        except Exception:
            if exchange.headers is None:  # else a server would send what came before it
                raise


def _read(sent: bytes) -> Reply:
    """Return a reply as it went over the wire."""
    head, _, body = sent.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    return Reply(int(first.split()[1]), [(name, value) for name, value in pairs], body)


def of_our_own(services: Services) -> Dispatcher:
    """Return the application of one API process, as the server is given it."""
    gate = create_application(services, draining=False)
    assert isinstance(gate, Dispatcher)
    return gate
