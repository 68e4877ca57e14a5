"""Request parser: agrees with other parsers, and rejects ambiguous requests.

The reference is h11. What both accept must be read the same; what only we refuse is in
`STRICTER`. The control is uvicorn with httptools, which mistakes a body for a request.
"""

import itertools
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from productrecs.http.transport import request_parser
from productrecs.http.transport.request_parser import (
    HEAD_LIMIT_BYTES,
    MAX_HEADERS,
    HeadersTooLargeError,
    MalformedRequestError,
    RequestParser,
    parse_head,
)
from tests.http.wire import ParseOutcome, by_h11, served, written

INNER = b"GET /smuggled HTTP/1.1\r\nHost: shop\r\n\r\n"
AFTER = b"GET /after HTTP/1.1\r\nHost: shop\r\n\r\n"


def head(*lines: bytes, first: bytes = b"POST /a HTTP/1.1", host: bytes = b"shop") -> bytes:
    """Return a head with a Host and these lines."""
    return b"\r\n".join((first, b"Host: " + host, *lines, b"", b""))


def sized(*lines: bytes, body: bytes = INNER, first: bytes = b"POST /a HTTP/1.1") -> bytes:
    """Return a request with a Content-Length."""
    return head(*lines, b"Content-Length: %d" % len(body), first=first) + body


def chunked(*lines: bytes, body: bytes = INNER, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a request in one chunk."""
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    return head(*lines, b"Transfer-Encoding: chunked") + chunk + end


UPGRADES = {
    f"{connection.decode()}, {protocol.decode()}": (
        b"Connection: " + connection,
        b"Upgrade: " + protocol,
    )
    for connection in (b"Upgrade", b"upgrade, keep-alive", b"keep-alive, Upgrade")
    for protocol in (b"foo", b"websocket", b"h2c")
}


@pytest.mark.parametrize("lines", UPGRADES.values(), ids=UPGRADES.keys())
def test_an_upgrade_changes_nothing(lines: tuple[bytes, ...]) -> None:
    for request in (sized(*lines), chunked(*lines), sized(*lines, body=b"")):
        plain = by_h11(request + AFTER)

        assert served(request + AFTER) == served(request, AFTER) == plain
        assert [one.target for one in plain.requests] == [b"/a", b"/after"]
    assert served(head(*lines, first=b"GET /a HTTP/1.1") + AFTER).bodies == [b"", b""]


@pytest.mark.parametrize("build", [sized, chunked])
def test_an_upgrade_may_come_in_any_two_pieces(build: Any) -> None:
    sent = build(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c") + AFTER
    whole = served(sent)

    assert [one.target for one in whole.requests] == [b"/a", b"/after"]
    assert whole.bodies == [INNER, b""]
    for at in range(len(sent)):
        assert served(sent[:at], sent[at:]) == whole, at


def test_control_uvicorn_with_httptools_takes_the_body_for_a_request() -> None:
    request = sized(b"Connection: Upgrade", b"Upgrade: foo")
    at = request.index(INNER)

    smuggled = served(request[:at], request[at:], stock=True)
    lost = served(request + AFTER, stock=True)

    assert [one.target for one in smuggled.requests] == [b"/a", b"/smuggled"]
    assert lost.bodies == [b""]  # the body is gone, and so is the request after it


ALIKE = {
    "a plain call": head(first=b"GET /a?b=c HTTP/1.1"),
    "no body": head(b"Content-Length: 0"),
    "a body": sized(),
    "a body of a GET": sized(first=b"GET /a HTTP/1.1"),
    "a body in chunks": chunked(),
    "no chunks": chunked(body=b"", end=b"")[:-4] + b"0\r\n\r\n",
    "trailers": chunked(end=b"0\r\nX-API-Key: sk_1\r\nHost: other\r\n\r\n"),
    "a chunk extension": head(b"Transfer-Encoding: Chunked")
    + b"A;a=b;c\r\n0123456789\r\n0\r\n\r\n",
    "blanks around a value": head(b"A: \t b c \t", b"B:", b"C:d"),
    "a value of UTF-8": head("A: Röd".encode()),
    "a header twice": head(b"A: 1", b"A: 2"),
    "connection: close": sized(b"Connection: close"),
    "close among others": sized(b"Connection: keep-alive", b"Connection: foo, Close"),
    "HTTP/1.0": sized(first=b"POST /a HTTP/1.0"),
    "HTTP/1.0 without a Host": b"GET /a HTTP/1.0\r\n\r\n",
    "an absolute address": head(first=b"GET HTTP://SHOP/a?b HTTP/1.1"),
    "an absolute address without a path": head(first=b"GET http://shop HTTP/1.1"),
    "an absolute address with a query alone": head(first=b"GET http://shop?b HTTP/1.1"),
    "all of the server": head(first=b"OPTIONS * HTTP/1.1"),
    "expects 100-continue": sized(b"Expect: 100-Continue"),
    "an IPv6 host": head(host=b"[::1]:8000"),
    "an empty host": head(host=b""),
    "a method that nobody knows": head(first=b"BREW /a HTTP/1.1"),
}


@pytest.mark.parametrize("request_", ALIKE.values(), ids=ALIKE.keys())
def test_what_is_accepted_is_read_as_h11_reads_it(request_: bytes) -> None:
    expected = by_h11(request_ + AFTER)

    assert expected.requests
    assert not expected.refusal
    assert served(request_ + AFTER) == expected
    assert served(*(bytes([one]) for one in request_ + AFTER)) == expected


NEITHER = {
    "no Host": b"GET /a HTTP/1.1\r\n\r\n",
    "two Hosts": head(b"Host: other"),
    "two Hosts alike": head(b"Host: shop"),
    "two lengths": head(b"Content-Length: 1", b"Content-Length: 2") + b"xx",
    "a list of two lengths": head(b"Content-Length: 1, 2") + b"xx",
    "a signed length": head(b"Content-Length: +1") + b"x",
    "a negative length": head(b"Content-Length: -1") + b"x",
    "a length in hexadecimal digits": head(b"Content-Length: 0x1") + b"x",
    "an empty length": head(b"Content-Length:") + b"x",
    "chunked twice": head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "chunked and identity": head(b"Transfer-Encoding: chunked, identity"),
    "identity": head(b"Transfer-Encoding: identity"),
    "gzip": head(b"Transfer-Encoding: gzip, chunked"),
    "xchunked": head(b"Transfer-Encoding: xchunked"),
    "a blank before the colon": head(b"Content-Length : 1") + b"x",
    "a tab before the colon": head(b"Transfer-Encoding\t: chunked"),
    "a header without a colon": head(b"bad header"),
    "a header without a name": head(b": a"),
    "NUL in a value": head(b"A: a\0b"),
    "CR in a value": head(b"A: a\rb"),
    "no size of a chunk": head(b"Transfer-Encoding: chunked") + b";a\r\n",
    "no hexadecimal size": head(b"Transfer-Encoding: chunked") + b"0x1\r\nx\r\n0\r\n\r\n",
    "a signed size": head(b"Transfer-Encoding: chunked") + b"+1\r\nx\r\n0\r\n\r\n",
    "a chunk that is longer": head(b"Transfer-Encoding: chunked") + b"1\r\nxy\r\n0\r\n\r\n",
    "a chunk line that ends in LF": head(b"Transfer-Encoding: chunked")
    + b"1\nx\r\n0\r\n\r\n",
    "LF in a chunk extension": head(b"Transfer-Encoding: chunked")
    + b"1;\nx\r\nx\r\n0\r\n\r\n",
    "an unwritten trailer": chunked(end=b"0\r\nbad trailer\r\n\r\n"),
    "no version": head(first=b"GET /a"),
    "HTTP/11": head(first=b"GET /a HTTP/11"),
    "a blank in the address": head(first=b"GET /a b HTTP/1.1"),
    "two blanks": head(first=b"GET  /a HTTP/1.1"),
    "a byte beyond ASCII": head(first=b"GET /\xff HTTP/1.1"),
    "a control character": head(first=b"GET /\x01 HTTP/1.1"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nothing but a line": b"nonsense\r\n\r\n",
}

STRICTER = {
    "two lengths alike": head(b"Content-Length: 1", b"Content-Length: 1") + b"x",
    "a list of lengths alike": head(b"Content-Length: 1, 1") + b"x",
    "a length beside chunked": head(b"Content-Length: 1", b"Transfer-Encoding: chunked")
    + b"1\r\nx\r\n0\r\n\r\n",
    "chunked in HTTP/1.0": head(b"Transfer-Encoding: chunked", first=b"POST /a HTTP/1.0")
    + b"0\r\n\r\n",
    "a folded value": head(b"A: a\r\n b"),
    "a folded coding": head(b"Transfer-Encoding:\r\n chunked") + b"0\r\n\r\n",
    "lines that end in LF": head().replace(b"\r", b""),
    "one line that ends in LF": head(b"A: b\nC: d"),
    "a last line that ends in LF": head(b"A: b")[:-4] + b"\n\r\n",
    "an empty line of LF": head(b"A: b")[:-2] + b"\n",
    "a blank after a size": head(b"Transfer-Encoding: chunked") + b"1 \r\nx\r\n0\r\n\r\n",
    "trailers that end in LF": chunked(end=b"0\r\nA: b\n\n"),
    "a size of nine digits": head(b"Transfer-Encoding: chunked")
    + b"000000001\r\nx\r\n0\r\n\r\n",
    "DEL in a value": head(b"A: a\x7fb"),
    "control characters in a value": head(b"A: a\x01b"),
    "an absolute address of another host": head(first=b"GET http://other/a HTTP/1.1"),
    "an absolute address with a user": head(first=b"GET http://a@shop/a HTTP/1.1"),
    "an absolute address that is no page": head(first=b"GET ftp://shop/a HTTP/1.1"),
    "a relative address": head(first=b"GET a HTTP/1.1"),
    "an address with a fragment": head(first=b"GET /a#b HTTP/1.1"),
    "all of the server, by GET": head(first=b"GET * HTTP/1.1"),
    "CONNECT": head(first=b"CONNECT shop:443 HTTP/1.1"),
    "CONNECT with an absolute address": head(first=b"CONNECT http://shop/ HTTP/1.1"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\n",
    "HTTP/1.2": head(first=b"GET /a HTTP/1.2"),
    "HTTP/9.9": head(first=b"GET /a HTTP/9.9"),
    "a method in small letters": head(first=b"get /a HTTP/1.1"),
    "a method with a mark": head(first=b"GET! /a HTTP/1.1"),
    "a Host with a path": head(host=b"shop/a"),
    "a Host with a user": head(host=b"a@shop"),
    "a Host with a comma": head(host=b"shop,other"),
    "a Host with a blank": head(host=b"shop other"),
    "another expectation": sized(b"Expect: y 100-continue"),
    "two expectations": sized(b"Expect: 100-continue", b"Expect: 100-continue"),
    "a length of twenty digits": head(b"Content-Length: " + b"0" * 19 + b"1") + b"x",
}
"""What h11 accepts, or corrects, and we refuse."""


@pytest.mark.parametrize("request_", NEITHER.values(), ids=NEITHER.keys())
def test_what_h11_refuses_is_refused(request_: bytes) -> None:
    assert by_h11(request_).refusal
    check_refused(request_)


@pytest.mark.parametrize("request_", STRICTER.values(), ids=STRICTER.keys())
def test_what_can_be_read_in_two_ways_is_refused(request_: bytes) -> None:
    assert not by_h11(request_).refusal
    check_refused(request_)


def check_refused(request: bytes) -> None:
    for pieces in ([request + AFTER], [request, AFTER], [AFTER, request, AFTER]):
        came = served(*pieces)
        assert came.refusal == "400 bad_request", (pieces, came)
        assert len(came.requests) == len(pieces) // 3, "nothing is read after it"


def test_an_empty_line_before_a_request_is_passed_over_once() -> None:
    """RFC 9112, 2.2: old clients send one after a body."""
    assert served(sized() + b"\r\n" + AFTER).bodies == [INNER, b""]
    assert served(b"\r", b"\n" + AFTER).bodies == [b""]
    assert served(sized() + b"\r\n\r\n" + AFTER).refusal == "400 bad_request"


# ------------------------------------------------------------ made-up requests
LINES = [
    *(line for lines in UPGRADES.values() for line in lines),
    b"Content-Length: 5",
    b"Content-Length: 0",
    b"Content-Length : 5",
    b"content-length: 05",
    b"Content-Length: 5\r\n ",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: chunked",
    b"transfer-encoding: CHUNKED",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\x0bchunked",
    b"Transfer_Encoding: chunked",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: content-length",
    b"Expect: 100-continue",
    b"Host: other",
    b"X: y",
    b"X",
    b" X: y",
    b"",
]
FIRSTS = [
    b"GET /a HTTP/1.1",
    b"POST /a HTTP/1.1",
    b"POST /a?b HTTP/1.1",
    b"POST /a HTTP/1.0",
    b"OPTIONS * HTTP/1.1",
    b"HEAD http://shop/a HTTP/1.1",
    b"CONNECT shop:80 HTTP/1.1",
    b"GET /a",
]
BODIES = [
    b"",
    b"",
    b"hello",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5;x=y\r\nhello\r\n0\r\nHost: a\r\n\r\n",
    b"0\r\n\r\n",
    b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    INNER,
]
ODD = [b"\r", b"\n", b"\r\n", b" ", b"\t", b"\0", b"\x0b", b":", b";", b",", b"0", b"\xff"]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Return some requests, perhaps with something odd in one place."""
    sent = b""
    for _ in range(draw(st.integers(1, 3))):
        lines = draw(st.lists(st.sampled_from(LINES), max_size=4))
        host = draw(st.sampled_from([[b"Host: shop"]] * 6 + [[]]))
        first = draw(st.sampled_from(FIRSTS))
        body = draw(st.sampled_from(BODIES))
        sent += b"\r\n".join((first, *host, *lines, b"", b"")) + body
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(sent)))
        sent = sent[:at] + draw(st.sampled_from(ODD)) + sent[at + draw(st.integers(0, 2)) :]
    return sent


@given(streams(), st.lists(st.integers(0, 400), max_size=4))
@example(sized(b"Connection: Upgrade", b"Upgrade: foo") + AFTER, [100])
def test_whatever_comes_is_read_as_h11_reads_it(sent: bytes, cuts: list[int]) -> None:
    """We read the same requests, or stop before one that h11 may read."""
    edges = [0, *sorted(cuts), len(sent)]
    ours = served(*(sent[a:b] for a, b in itertools.pairwise(edges)))
    theirs = by_h11(sent)

    assert ours == served(sent)
    if ours.refusal:
        assert ours.requests == theirs.requests[: len(ours.requests)]
        return
    assert ours.requests == theirs.requests
    if theirs.refusal:  # we wait for the end of the head or line, to refuse it then
        assert served(sent + b"\0\r\n\r\n").refusal


# ------------------------------------------------------------ limits
def key_of(outcome: ParseOutcome) -> list[bytes]:
    return [value for name, value in outcome.requests[0].headers if name == b"x-api-key"]


def test_a_trailer_is_no_header_whenever_it_comes() -> None:
    sent = chunked(end=b"0\r\nX-API-Key: sk_1\r\n\r\n")

    for pieces in (
        [sent],
        [sent[:40], sent[40:-4], sent[-4:]],
        [bytes([one]) for one in sent],
    ):
        assert key_of(served(*pieces)) == []


def test_control_uvicorn_with_httptools_makes_headers_of_trailers() -> None:
    sent = chunked(end=b"0\r\nX-API-Key: sk_1\r\n\r\n")

    assert key_of(served(sent, stock=True)) == [b"sk_1"]


ENDLESS = {
    "headers": (head()[:-2], b"a:\r\n" * 60),
    "one header": (head()[:-2] + b"a: ", b"x" * 999),
    "trailers": (chunked(end=b"0\r\n"), b"a:\r\n" * 99),
    "one trailer": (chunked(end=b"0\r\na: "), b"x" * 999),
    "chunk extensions": (chunked(end=b""), b"1;%b\r\nx\r\n" % (b"x" * 999)),
    "one chunk extension": (chunked(end=b"1;"), b"x" * 999),
    "a chunk line": (chunked(end=b"1"), b"\r"),
}


def refused_after(begin: bytes, more: bytes) -> str:
    """Return the refusal of a head or body without an end, at most 1 MiB of it."""
    pieces = [begin, *[more * (4_096 // len(more) + 1)] * 256]
    return served(*pieces).refusal


@pytest.mark.parametrize(("begin", "more"), ENDLESS.values(), ids=ENDLESS.keys())
def test_what_comes_beside_the_body_has_the_limit_of_the_head(
    begin: bytes, more: bytes
) -> None:
    assert refused_after(begin, more) == "431 headers_too_large"


def test_control_without_the_limit_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_parser, "HEAD_LIMIT_BYTES", 1 << 40)

    assert [refused_after(*one) for one in ENDLESS.values()] == [""] * len(ENDLESS)


class _Nobody:
    is_answering = False

    def on_request(self, _request: object) -> None: ...

    def on_body(self, _body: bytes) -> None: ...

    def on_message_complete(self) -> None: ...


def kept_of(begin: bytes, more: bytes) -> int:
    """Return how many bytes a parser keeps of what it takes before it refuses."""
    reader, nobody = RequestParser(), _Nobody()
    reader.feed(begin, nobody)
    tracemalloc.start()
    try:
        for _ in range(2_000):
            reader.feed(more, nobody)
    except HeadersTooLargeError:
        pass
    kept = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return kept


@pytest.mark.parametrize(("begin", "more"), ENDLESS.values(), ids=ENDLESS.keys())
def test_memory_is_bounded(begin: bytes, more: bytes) -> None:
    assert kept_of(begin, more) < 8 * HEAD_LIMIT_BYTES


def test_a_head_at_the_limit_is_read_and_one_byte_more_is_refused() -> None:
    def padded(size: int) -> bytes:
        empty = head(b"A: ", first=b"GET /a HTTP/1.1")
        return empty[:-4] + b"x" * (size - len(empty)) + empty[-4:]

    assert served(padded(HEAD_LIMIT_BYTES)).requests
    assert served(padded(HEAD_LIMIT_BYTES + 1)).refusal == "431 headers_too_large"


def test_more_headers_than_anybody_sends_are_refused() -> None:
    assert served(head(*[b"a:"] * (MAX_HEADERS - 1))).requests
    assert served(head(*[b"a:"] * MAX_HEADERS)).refusal == "431 headers_too_large"


# ------------------------------------------------------------ replies
def statuses(came: bytes) -> list[bytes]:
    return [one[:3] for one in came.split(b"HTTP/1.1 ")[1:]]


def test_a_refusal_comes_after_the_replies_to_the_requests_before_it() -> None:
    assert statuses(written(sized() + AFTER + b"nonsense\r\n\r\n")) == [
        b"200",
        b"200",
        b"400",
    ]


def test_a_request_has_one_reply_even_when_its_body_is_malformed() -> None:
    broken = chunked(end=b"zz\r\n\r\n")

    assert statuses(written(broken, AFTER)) == [b"400"]


def test_nothing_is_read_after_a_request_that_ends_the_connection() -> None:
    for last in (b"Connection: close", b"Connection: Upgrade, close"):
        assert statuses(written(sized(last) + AFTER, AFTER)) == [b"200"]


def test_continue_is_said_where_a_body_is_waited_for() -> None:
    expecting = sized(b"Expect: 100-continue", body=b"hello")

    assert statuses(written(expecting[:-5], b"hello")) == [b"100", b"200"]
    assert statuses(written(expecting)) == [b"200"]
    assert statuses(written(sized(b"Expect: 100-continue", body=b""))) == [b"200"]
    old = sized(b"Expect: 100-continue", body=b"hello", first=b"POST /a HTTP/1.0")
    assert statuses(written(old[:-5], b"hello")) == [b"200"]


# ------------------------------------------------------------ remembered lines
def test_a_header_line_is_read_the_same_each_time() -> None:
    lines = [b"A: b", b"a:  b ", b"A: " + b"x" * 300]
    first, second = (parse_head(head(*lines)).headers for _ in range(2))

    assert first == second
    assert first.lines[1:] == [(b"a", b"b"), (b"a", b"b"), (b"a", b"x" * 300)]
    for _ in range(2):
        with pytest.raises(MalformedRequestError):
            parse_head(head(b"A : b"))
