"""Shop pages and relay: the web around a service under test.

`Pages` serves the pages of a shop, at an origin of its own. `Relay` stands between browsers
and the service and notes every request that passes: what it notes is what the service sees.
"""

import contextlib
import http.client
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final, Self

from tests.support.service import HOST

_OF_ONE_CONNECTION: Final = frozenset(
    ("connection", "keep-alive", "transfer-encoding", "content-length", "server", "date")
)


@dataclass(frozen=True)
class Seen:
    """A request as it passed the relay; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def path(self) -> str:
        """The address without its parameters."""
        return self.target.partition("?")[0]


class _Quiet(BaseHTTPRequestHandler):
    """Answers and writes no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole reply."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """Pass over clients that go away: browsers do, at the end of a test."""


class Web:
    """A small server of this process, on a free port; a context manager."""

    handler: ClassVar[type[_Quiet]]

    def __init__(self, port: int = 0) -> None:
        """Listen, by default on a free port; answer from `__enter__` on."""
        owner = self
        kind = type("Handler", (self.handler,), {"owner": owner})
        self._server = _Server((HOST, port), kind)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Picture(_Quiet):
    owner: "PictureHost"

    def do_GET(self) -> None:
        """Answer every address with the one picture."""
        self.owner.asked += 1
        self.answer(200, {"content-type": "image/jpeg"}, self.owner.picture)


class PictureHost(Web):
    """A shop's host of pictures, where every address is one picture."""

    handler = _Picture

    def __init__(self, picture: bytes, port: int = 0) -> None:
        """Listen, on a free port unless one is given."""
        super().__init__(port)
        self.picture = picture
        self.asked = 0


class _Shop(_Quiet):
    owner: "Pages"

    def do_GET(self) -> None:
        """Answer a page."""
        page = self.owner.pages.get(self.path.partition("?")[0])
        is_picture = self.path.endswith(".svg")
        kind = {
            "content-type": "image/svg+xml" if is_picture else "text/html; charset=utf-8"
        }
        if page is None:
            self.answer(404, kind, b"")
        else:
            self.answer(200, kind | self.owner.headers, page.encode())


class Pages(Web):
    """The pages of a shop, by path; any name below `.example` leads here in the browser."""

    handler = _Shop

    def __init__(
        self, pages: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> None:
        """Serve `pages`, each with `headers`."""
        super().__init__()
        self.pages = dict(pages)
        self.headers = dict(headers or {})

    def origin(self, host: str = "shop.example") -> str:
        """Return the origin under which a browser finds the shop as `host`."""
        return f"http://{host}:{self.port}"


class _Passing(_Quiet):
    owner: "Relay"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.owner.is_down:
            self.close_connection = True
            return
        if self.owner.refusals:
            headers = {"access-control-allow-origin": "*"} | self.owner.refusal_headers
            self.answer(self.owner.refusals.pop(0), headers, b"")
            return
        connection = http.client.HTTPConnection(HOST, self.owner.service_port, timeout=30)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body or None, headers)
            reply = connection.getresponse()
            content = reply.read()
        seen = Seen(self.command, self.path, headers, body, reply.status)
        self.owner.seen.append(seen)
        kept = {
            name.lower(): value
            for name, value in reply.getheaders()
            if name.lower() not in _OF_ONE_CONNECTION
        }
        self.answer(reply.status, kept, content)

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = _pass_on  # noqa: N815


@dataclass
class Relay(Web):
    """Passes all it gets on to the service at `service_port`, and keeps what it saw.

    While it `is_down` it closes every connection without a word; `refusals` are the
    statuses with which it answers the next requests instead of the service, with
    `refusal_headers`.
    """

    service_port: int
    seen: list[Seen] = field(default_factory=list)
    is_down: bool = False
    refusals: list[int] = field(default_factory=list)
    refusal_headers: dict[str, str] = field(default_factory=dict)
    handler = _Passing

    def __post_init__(self) -> None:
        """Listen."""
        super().__init__()

    @property
    def address(self) -> str:
        """The address that pages call instead of the service's own."""
        return f"http://{HOST}:{self.port}"

    def methods(self) -> list[str]:
        """Return the method of each request, in the order in which they were answered."""
        return [one.method for one in self.seen]
