"""Outbound HTTP: no spelling of a private address is connected to."""

import contextlib
import socket
import threading

import pytest

from productrecs.core.outbound_http import (
    ForbiddenUrlError,
    is_public_address,
    resolve_target,
)

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
