"""Picture fetching: complete, once, and within limits."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from productrecs.core import outbound_http
from productrecs.core.outbound_http import OutboundTarget
from productrecs.records.pictures import fetch_picture as fetching
from productrecs.records.pictures.fetch_picture import (
    CachedValidators,
    HostRateLimiter,
    PictureUnavailableError,
    absolute_url,
    fetch_picture,
)
from tests.core.test_outbound_http import CORPUS, Canaries

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\n"


class PictureHost:
    """Answers each connection by what the path names."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return f"http://{HOST}:{self.port}/{path}"

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                visitor, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(visitor,), daemon=True).start()

    def _answer(self, visitor: socket.socket) -> None:
        with contextlib.suppress(OSError), visitor:
            head = b""
            while b"\r\n\r\n" not in head:
                head += visitor.recv(4096)
            self.requests.append(head)
            path = head.split()[1].decode().strip("/")
            self._behave(path, visitor, head)

    def _behave(self, path: str, visitor: socket.socket, head: bytes) -> None:
        if path in {"drip", "endless"}:
            visitor.sendall(OK + b"\r\n")
            while True:
                visitor.sendall(b"x" if path == "drip" else bytes(1 << 20))
                time.sleep(0.05 if path == "drip" else 0)
        if path == "tarpit":
            time.sleep(3)
        if path.startswith("to/"):
            target = (
                path.removeprefix("to/").replace("~", "/").replace("PORT", str(self.port))
            )
            visitor.sendall(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode())
        if path == "good" and b'If-None-Match: "1"' in head:
            path = "unchanged"
        visitor.sendall(ANSWERS.get(path, b"no HTTP at all\r\n\r\n"))


ANSWERS = {
    "good": OK + b'ETag: "1"\r\nContent-Length: 5\r\n\r\nhello',
    "unchanged": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "loop": b"HTTP/1.1 301 Moved\r\nLocation: /loop\r\n\r\n",
    "404": b"HTTP/1.1 404 X\r\nRetry-After: 7\r\n\r\n",
    "503": b"HTTP/1.1 503 X\r\nRetry-After: 7\r\n\r\n",
    "large": OK + b"Content-Length: 99999999\r\n\r\n",
    "gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
}


@pytest.fixture(scope="module")
def host() -> Iterator[PictureHost]:
    found = PictureHost()
    yield found
    found.close()


def get(
    host: PictureHost,
    path: str,
    seconds: float = 0.5,
    known: CachedValidators | None = None,
) -> object:
    return fetch_picture(host.url(path), known, {HOST}, seconds=seconds)


def test_a_picture_comes_with_its_etag_for_a_conditional_request(host: PictureHost) -> None:
    found = fetch_picture(host.url("good"), None, {HOST})

    assert (found.content, found.etag) == (b"hello", '"1"')
    again = fetch_picture(host.url("good"), CachedValidators(found.etag), {HOST})
    assert (again.content, again.etag) == (None, '"1"')
    sent = host.requests[-1].lower()
    assert b"accept-encoding: identity" in sent
    assert sent.count(b"host:") == 1
    assert not any(word in sent for word in (b"cookie", b"authorization"))


def test_redirects_are_followed_three_times_at_most(host: PictureHost) -> None:
    assert fetch_picture(host.url("to/~good"), None, {HOST}).content == b"hello"
    with pytest.raises(PictureUnavailableError, match="3 redirects") as caught:
        get(host, "loop", 2.0)
    assert not caught.value.is_transient


@pytest.mark.parametrize(
    "target", ["http:~~127.0.0.2:PORT~good", "http:~~10.0.0.1~a", "file:~~~etc~passwd"]
)
def test_where_a_redirect_leads_is_checked_as_well(host: PictureHost, target: str) -> None:
    with pytest.raises(PictureUnavailableError, match="is rejected") as caught:
        get(host, f"to/{target}")

    assert not caught.value.is_transient


@pytest.mark.parametrize("path", ["drip", "tarpit"])
def test_a_slow_host_is_left_after_the_time_for_one_picture(
    host: PictureHost, path: str
) -> None:
    began = time.monotonic()

    with pytest.raises(PictureUnavailableError, match="did not arrive within") as caught:
        get(host, path)

    assert time.monotonic() - began < 8
    assert caught.value.is_transient


@pytest.mark.parametrize(
    ("path", "words", "may_pass"),
    [
        ("endless", "10 MiB", False),
        ("large", "10 MiB", False),
        ("gzip", "compressed", False),
        ("nonsense", "cannot be reached", True),
        ("404", "answered 404", False),
        ("503", "answered 503", True),
    ],
)
def test_a_failed_fetch_says_why_in_words(
    host: PictureHost,
    path: str,
    words: str,
    may_pass: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    with pytest.raises(PictureUnavailableError, match=words) as caught:
        get(host, path, 5.0)

    assert caught.value.is_transient is may_pass
    assert caught.value.wait_seconds == (7 if path.isdecimal() else 0)
    assert caught.value.should_back_off is (path == "503")


def test_a_host_gets_two_requests_a_second_and_a_pause_when_it_asks_for_one() -> None:
    now = [0.0]
    pace = HostRateLimiter(lambda: now[0])
    taken_at = []
    for step in range(200):
        now[0] = step * 0.05
        if pace.try_begin_request("a"):
            taken_at.append(now[0])
            pace.end_request("a")

    assert len(taken_at) <= 2.2 * 10 + 1
    assert pace.try_begin_request("b")
    now[0] += 0.5
    assert pace.try_begin_request("b")
    now[0] += 0.5
    assert not pace.try_begin_request("b")  # two are under way
    pace.end_request("b", must_pause=True, pause_seconds=30)
    now[0] += 29
    assert not pace.try_begin_request("b")
    assert pace.seconds_until_free({"b"}) == pytest.approx(1.0)
    now[0] += 1.1
    assert pace.try_begin_request("b")
    assert all(pace.try_begin_request("ours", is_own_host=True) for _ in range(5))


@pytest.fixture
def canaries() -> Iterator[Canaries]:
    found = Canaries()
    yield found
    found.close()


def test_a_path_is_an_address_of_the_shops_own() -> None:
    for url, absolute in {
        "/a.jpg": "https://shop.example/a.jpg",
        "a.jpg": "https://shop.example/a.jpg",
        "//cdn.example/a": "https://cdn.example/a",
        "http://i.example/a": "http://i.example/a",
        "ftp://i.example/a": "ftp://i.example/a",
        "http://[": "http://[",
    }.items():
        assert absolute_url(url, "shop.example") == absolute


def test_no_address_of_the_corpus_reaches_a_canary_on_any_port(canaries: Canaries) -> None:
    """The same with the ports open, so that only the address stands between."""
    ports = [canaries.listen("127.0.0.1"), canaries.listen("::1")]
    for url in CORPUS:
        if "{" in url or ":22/" not in url:
            continue
        for port in ports:
            with pytest.raises(PictureUnavailableError):
                fetch_picture(url.replace(":22/", f":{port}/"), seconds=1.0)

    assert canaries.visits == 0


def test_a_control_that_checks_no_address_does_reach_the_canary(
    canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = canaries.listen("127.0.0.1")
    monkeypatch.setattr(outbound_http, "is_public_address", lambda _: True)
    monkeypatch.setitem(outbound_http._PORTS, "http", port)  # noqa: SLF001 - a broken build

    with pytest.raises(PictureUnavailableError):
        fetch_picture(f"http://2130706433:{port}/", seconds=1.0)

    assert canaries.visits == 1


class Rebinding:
    """A name that has a public address at every odd question, and a private one else."""

    def __init__(self) -> None:
        self.lookups = 0
        self.connected: list[str] = []

    def lookup(self, _host: str, _port: int) -> Sequence[str]:
        """Return the addresses of this question."""
        self.lookups += 1
        return ["1.1.1.1"] if self.lookups % 2 else ["127.0.0.1"]

    def connect(self, address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        """Note where a fetch connects to, and refuse."""
        self.connected.append(address[0])
        raise ConnectionRefusedError


@pytest.mark.parametrize("turns", [100, pytest.param(1_000, marks=pytest.mark.trust)])
def test_a_name_is_resolved_once_and_that_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    name = Rebinding()
    monkeypatch.setattr(socket, "create_connection", name.connect)

    for _ in range(turns):
        with pytest.raises(PictureUnavailableError):
            fetch_picture("http://rebinding.example/a.jpg", lookup=name.lookup)

    assert name.lookups == turns
    assert name.connected == ["1.1.1.1"] * (turns // 2)


def test_control_a_name_that_is_resolved_twice_is_connected_to_a_private_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = Rebinding()
    monkeypatch.setattr(socket, "create_connection", name.connect)
    resolve = outbound_http.resolve_target

    def asks_twice(*words: Any, **more: Any) -> OutboundTarget:
        target = resolve(*words, **more)
        return replace(target, address=name.lookup(target.host, target.port)[0])

    monkeypatch.setattr(fetching, "resolve_target", asks_twice)
    with pytest.raises(PictureUnavailableError):
        fetch_picture("http://rebinding.example/a.jpg", lookup=name.lookup)

    assert name.connected == ["127.0.0.1"]
