"""Picture fetching: complete, once, and within limits."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from productrecs.records.pictures.fetch_picture import (
    CachedValidators,
    HostRateLimiter,
    PictureUnavailableError,
    fetch_picture,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\n"


class Host:
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
def host() -> Iterator[Host]:
    found = Host()
    yield found
    found.close()


def get(
    host: Host, path: str, seconds: float = 0.5, known: CachedValidators | None = None
) -> object:
    return fetch_picture(host.url(path), known, {HOST}, seconds=seconds)


def test_a_picture_comes_with_what_it_may_be_asked_by_again(host: Host) -> None:
    found = fetch_picture(host.url("good"), None, {HOST})

    assert (found.content, found.etag) == (b"hello", '"1"')
    again = fetch_picture(host.url("good"), CachedValidators(found.etag), {HOST})
    assert (again.content, again.etag) == (None, '"1"')
    sent = host.requests[-1].lower()
    assert b"accept-encoding: identity" in sent
    assert sent.count(b"host:") == 1
    assert not any(word in sent for word in (b"cookie", b"authorization"))


def test_redirects_are_followed_three_times_at_most(host: Host) -> None:
    assert fetch_picture(host.url("to/~good"), None, {HOST}).content == b"hello"
    with pytest.raises(PictureUnavailableError, match="3 redirects") as caught:
        get(host, "loop", 2.0)
    assert not caught.value.is_transient


@pytest.mark.parametrize(
    "target", ["http:~~127.0.0.2:PORT~good", "http:~~10.0.0.1~a", "file:~~~etc~passwd"]
)
def test_where_a_redirect_leads_is_checked_as_well(host: Host, target: str) -> None:
    with pytest.raises(PictureUnavailableError, match="is rejected") as caught:
        get(host, f"to/{target}")

    assert not caught.value.is_transient


@pytest.mark.parametrize("path", ["drip", "tarpit"])
def test_a_slow_host_is_left_after_the_time_for_one_picture(host: Host, path: str) -> None:
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
def test_what_cannot_be_had_is_said_in_words(
    host: Host,
    path: str,
    words: str,
    may_pass: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    with pytest.raises(PictureUnavailableError, match=words) as caught:
        get(host, path, 5.0)

    assert caught.value.is_transient is may_pass
    assert caught.value.wait_seconds == (7 if path.isdecimal() else 0)
    assert caught.value.should_back_off is (path == "503")


def test_a_host_is_asked_twice_a_second_by_two_at_most_and_rests_when_it_asks_to() -> None:
    now = [0.0]
    pace = HostRateLimiter(lambda: now[0])
    asked = []
    for step in range(200):
        now[0] = step * 0.05
        if pace.try_take("a"):
            asked.append(now[0])
            pace.end("a")

    assert len(asked) <= 2.2 * 10 + 1
    assert pace.try_take("b")
    now[0] += 0.5
    assert pace.try_take("b")
    now[0] += 0.5
    assert not pace.try_take("b")  # two are under way
    pace.end("b", wait_seconds=True, seconds=30)
    now[0] += 29
    assert not pace.try_take("b")
    assert pace.seconds_until_free({"b"}) == pytest.approx(1.0)
    now[0] += 1.1
    assert pace.try_take("b")
    assert all(pace.try_take("ours", is_own_host=True) for _ in range(5))
