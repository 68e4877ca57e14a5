"""Picture fetching: complete, once, and within limits."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from productrecs.records.pictures import fetch_picture as fetching
from productrecs.records.pictures.fetch_picture import (
    CachedValidators,
    ForbiddenUrlError,
    HostRateLimiter,
    PictureUnavailableError,
    absolute_url,
    fetch_picture,
    is_public_address,
    resolve_target,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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


# ruff: noqa: S104 - addresses to be refused, none to listen on
PRIVATE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
    "172.16.0.1", "172.31.9.9", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.127.255.255", "192.0.0.8", "192.0.2.7", "198.18.0.1", "198.51.100.4",
    "203.0.113.9", "192.88.99.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::7",
    "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:a00:1::5",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "100::1",
]  # fmt: skip
PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:2800:220:1::1", "64:ff9b::101:101",
          "::ffff:1.1.1.1", "2002:101:101::1", "172.32.0.1", "100.128.0.1"]  # fmt: skip

# Every way in which 127.0.0.1 and the rest can be written in an address.
SPELLINGS = [
    "127.0.0.1", "127.1", "127.0.1", "0", "2130706433", "0x7f000001", "0x7f.1",
    "017700000001", "0177.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "localhost",
    "LOCALHOST", "localhost.", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "3232235777",
    "0xa9fea9fe", "169.254.169.254", "2852039166", "0251.0376.0251.0376", "[fd00::1]",
    "[fe80::1]", "10.1", "0x0a000001", "192.168.257", "①②⑦.⓪.⓪.①", "127。0。0。1",
]  # fmt: skip
SHAPES = [
    "http://{}/a.jpg", "https://{}/a.jpg", "http://{}:80/", "HTTP://{}/", "http://{}",
    "http://{}:22/", "http://{}:8080/a.jpg", "http://user@{}/", "http://1.1.1.1@{}/",
    "http://{}#@example.com/",
]  # fmt: skip
ODD = [
    "", "http://", "https:///a", "file:///etc/passwd", "gopher://127.0.0.1/", "data:,a",
    "ftp://example.com/a.jpg", "//127.0.0.1/a", "/a.jpg", "http:/127.0.0.1/a",
    "http://127.0.0.1\\@example.com/", "http://example.com\\@127.0.0.1/",
    "http://exa mple.com/", "http://example.com/\r\nHost: x", "http://\x00127.0.0.1/",
    "http://[::1/", "http://example.com:99999/", "http://example.com:x/", "http://%31/",
    "http://example.com%2f@127.0.0.1/", "http://" + "a" * 3000, "javascript:alert(1)",
    "http://[fe80::1%25eth0]/", "http://ex\u0000ample.com/",
]  # fmt: skip
CORPUS = [shape.format(host) for host in SPELLINGS for shape in SHAPES] + ODD


class Canaries:
    """Listens at addresses that must not be reached, and counts the connections."""

    def __init__(self) -> None:
        self.visits = 0
        self._sockets: list[socket.socket] = []

    def listen(self, host: str) -> int:
        """Listen on a free port of `host`, and return it."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((host, 0))
        listener.listen(64)
        self._sockets.append(listener)
        threading.Thread(target=self._count, args=(listener,), daemon=True).start()
        return int(listener.getsockname()[1])

    def _count(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                visitor, _ = listener.accept()
                self.visits += 1
                visitor.close()

    def close(self) -> None:
        """Listen no more."""
        for listener in self._sockets:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


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


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_none_however_it_is_wrapped(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_one(address: str) -> None:
    assert is_public_address(address)


def test_no_spelling_of_a_private_address_is_fetched_from() -> None:
    assert len(CORPUS) >= 300
    through = []
    for url in CORPUS:
        with contextlib.suppress(ForbiddenUrlError, OSError):
            through.append((url, resolve_target(url)))

    assert through == []


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
    monkeypatch.setattr(fetching, "is_public_address", lambda _: True)
    monkeypatch.setitem(fetching._PORTS, "http", port)  # noqa: SLF001 - a broken build

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
    resolve = fetching.resolve_target

    def asks_twice(*words: Any, **more: Any) -> fetching.FetchTarget:
        target = resolve(*words, **more)
        return replace(target, address=name.lookup(target.host, target.port)[0])

    monkeypatch.setattr(fetching, "resolve_target", asks_twice)
    with pytest.raises(PictureUnavailableError):
        fetch_picture("http://rebinding.example/a.jpg", lookup=name.lookup)

    assert name.connected == ["127.0.0.1"]


def test_a_target_names_the_host_and_has_the_address_that_was_found() -> None:
    found = resolve_target("https://shop.example/a.jpg?b=ü", lookup=lambda *_: ["1.1.1.1"])
    assert (found.address, found.host, found.port) == ("1.1.1.1", "shop.example", 443)
    assert (found.origin, found.path) == ("shop.example", "/a.jpg?b=%C3%BC")


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(ForbiddenUrlError, match="not a public address"):
        resolve_target("http://a.example/", lookup=lambda *_: ["1.1.1.1", "10.0.0.1"])


def test_a_host_that_the_operator_named_may_be_private_and_on_any_port() -> None:
    found = resolve_target("http://127.0.0.1:8123/a.jpg", {"127.0.0.1"})

    assert (found.address, found.port, found.is_trusted) == ("127.0.0.1", 8123, True)
    assert found.origin == "127.0.0.1:8123"
    with pytest.raises(ForbiddenUrlError):
        resolve_target("http://127.0.0.2/a.jpg", {"127.0.0.1"})
