"""Strict HTTP/1.1 request parser: every message has one reading, or is rejected.

The service and a proxy in front of it must agree where each request ends (request
smuggling). The parser rejects an ambiguous message and reads nothing after it. It ignores
`Upgrade`. Decision 0020 says why the service has its own parser.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, Self

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.http.limits.bot_detection import crawler_name

Header = tuple[bytes, bytes]
MayContinue = bool
"""What a step of the parser returns: whether parsing may go on with the buffered data."""

HEAD_LIMIT_BYTES: Final = 64 * 1024
"""The most bytes of a message's head, trailers and chunk extensions together."""
MAX_HEADERS: Final = 256

_REQUEST_LINE: Final = re.compile(rb"([A-Z-]{1,24}) ([!-\"$-~]+) HTTP/1\.([01])\r\n")
_REQUEST_START: Final = re.compile(rb"[A-Z-]{1,24}(?: |\Z)|\r\Z")
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_HEADER: Final = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++):([^\x00-\x08\x0a-\x1f\x7f]*+)"
)
"""A token, a colon right after it, and a value without control characters."""
_ABSOLUTE: Final = re.compile(rb"https?://([^/?]+)(.*)", re.IGNORECASE)
_HOST: Final = re.compile(
    rb"(?:[A-Za-z0-9._~%!$&'()*+;=-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?"
)
_CACHED_LINE_BYTES: Final = 256
"""Header lines up to this length are cached."""
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(;[\t -~\x80-\xff]*+)?\r\n")
_ONCE: Final = frozenset((b"host", b"content-length", b"transfer-encoding", b"expect"))
_BAD_REQUEST_LINE_MESSAGE: Final = (
    "start with `GET /path HTTP/1.1`, and end each line with CR and LF"
)
_LINE_END: Final = b"\r\n"
_HEAD_END: Final = b"\r\n\r\n"
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_BODY_HEADERS: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade")
)
"""Headers that announce a body or a special request."""


class MalformedRequestError(Exception):
    """The message is invalid or ambiguous HTTP/1.1; the text says what to send."""


class HeadersTooLargeError(Exception):
    """The head, the trailers or the chunk extensions are over the limit."""


def valid_request_id(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the request id that the client sent, if it is valid."""
    request_id = headers.get(b"x-request-id")
    return request_id if request_id and _REQUEST_ID.fullmatch(request_id) else None


class RequestHeaders(NamedTuple):
    """The headers of a request; names are in lower case."""

    lines: Sequence[Header]
    by_name: Mapping[bytes, bytes]
    request_id: bytes | None  # sent by the client, if valid
    is_plain: bool  # no header announces a body, a special request or a crawler

    @classmethod
    def of(cls, lines: Sequence[Header]) -> Self:
        """Return the headers with these lines."""
        named = dict(lines)
        is_plain = (
            _BODY_HEADERS.isdisjoint(named)
            and crawler_name(named.get(b"user-agent", b"")) is None
        )
        return cls(lines, named, valid_request_id(named), is_plain)


class ParsedRequest(NamedTuple):
    """The parsed head of a request."""

    method: bytes
    target: bytes  # in origin form: the path and the query
    version: str
    headers: RequestHeaders
    keeps_alive: bool
    length: int | None  # of the body; None where it is chunked
    expects_continue: bool


class RequestReceiver(Protocol):
    """Receives the parsed requests of one connection."""

    @property
    def is_answering(self) -> bool:
        """Whether the present request is not answered yet; the next one waits."""

    def on_request(self, request: ParsedRequest) -> None:
        """Start to answer."""

    def on_body(self, body: bytes) -> None:
        """Receive a part of the body."""

    def on_message_complete(self) -> None:
        """Note that the body is complete."""


class RequestParser:
    """Incremental parser of the requests of one connection.

    It parses the head of a request once the previous request is answered, and buffers the
    bytes until then. The receiver is an argument to avoid a reference cycle.
    """

    def __init__(self) -> None:
        """Start before the first request."""
        self.is_between_messages = True
        """Whether the next byte starts a request."""
        self._data = b""
        self._at = 0  # the first unread byte
        self._searched = 0  # no head ends before here
        self._step: Callable[[RequestParser, RequestReceiver], MayContinue] = (
            RequestParser._parse_head_if_complete
        )
        self._remaining = 0  # bytes of the body, or of the chunk
        self._chunks: list[bytes] = []
        self._overhead = 0  # bytes of the head, the trailers and the chunk extensions
        self._skipped_line = False
        self._is_last = False
        self._is_over = False

    @property
    def is_in_head(self) -> bool:
        """Whether a part of the next head was received."""
        return (
            self._at < len(self._data)
            and self._step is RequestParser._parse_head_if_complete
        )

    @property
    def is_in_body(self) -> bool:
        """Whether the present body is incomplete."""
        return self._step is not RequestParser._parse_head_if_complete

    def feed(self, data: bytes, receiver: RequestReceiver) -> None:
        """Parse received data as far as possible.

        Raises:
            MalformedRequestError: nothing is read after it.
            HeadersTooLargeError: nothing is read after it.
        """
        if self._is_over:
            return
        if self._at < len(self._data):
            self._searched -= self._at
            data = self._data[self._at :] + data
        else:
            self._searched = 0
        self._data, self._at = data, 0
        self.resume(receiver)

    def resume(self, receiver: RequestReceiver) -> None:
        """Parse buffered data after a request is answered.

        Raises:
            MalformedRequestError: nothing is read after it.
            HeadersTooLargeError: nothing is read after it.
        """
        try:
            while self._step(self, receiver):
                pass
            self._hand_over_chunks(receiver)
        except (MalformedRequestError, HeadersTooLargeError):
            self._stop()
            raise
        finally:
            is_all_read = self._at == len(self._data) and not self._is_over
            self.is_between_messages = (
                is_all_read and self._step is RequestParser._parse_head_if_complete
            )

    def _stop(self) -> None:
        self._is_over = True
        self._data, self._at, self._chunks = b"", 0, []

    def _parse_head_if_complete(self, receiver: RequestReceiver) -> MayContinue:
        data, at = self._data, self._at
        if at == len(data) or receiver.is_answering:
            return False
        if not self._skipped_line and data.startswith(_LINE_END, at):
            # RFC 9112, 2.2: old clients send an empty line after a body.
            self._at, self._skipped_line = at + len(_LINE_END), True
            return True
        end = data.find(_HEAD_END, max(at, self._searched - len(_HEAD_END)))
        self._overhead = (len(data) if end < 0 else end + len(_HEAD_END)) - at
        self._check_overhead()
        if end < 0:
            # Reject TLS and bare LF at once: the end of the head may never arrive.
            request_start = _REQUEST_START.match(data, at)
            if not request_start or _BARE_LF.search(data, max(at, self._searched)):
                raise MalformedRequestError(_BAD_REQUEST_LINE_MESSAGE)
            self._searched = len(data)
            return False
        request = parse_head(data[at : end + len(_HEAD_END)])
        self._at = self._searched = end + len(_HEAD_END)
        self._skipped_line = False
        self._is_last = not request.keeps_alive
        if request.length is None:
            self._step = RequestParser._read_chunk_line
        elif request.length:
            self._step, self._remaining = RequestParser._read_body, request.length
        receiver.on_request(request)
        if request.length == 0:
            self._complete_message(receiver)
        return not self._is_over

    def _check_overhead(self) -> None:
        if self._overhead > HEAD_LIMIT_BYTES:
            raise HeadersTooLargeError

    def _complete_message(self, receiver: RequestReceiver) -> None:
        self._step = RequestParser._parse_head_if_complete
        if self._is_last:
            self._stop()
        receiver.on_message_complete()

    def _read_body(self, receiver: RequestReceiver) -> MayContinue:
        part = self._take_body_bytes()
        if part:
            receiver.on_body(part)
        if self._remaining:
            return False
        self._complete_message(receiver)
        return not self._is_over

    def _take_body_bytes(self) -> bytes:
        """Return the received bytes of the body or the chunk."""
        part = self._data[self._at : self._at + self._remaining]
        self._at += len(part)
        self._remaining -= len(part)
        return part

    def _hand_over_chunks(self, receiver: RequestReceiver) -> None:
        if self._chunks:
            body, self._chunks = b"".join(self._chunks), []
            receiver.on_body(body)

    def _read_chunk_line(self, _receiver: RequestReceiver) -> MayContinue:
        found = _CHUNK_LINE.match(self._data, self._at)
        if found is None:
            self._check_line_is_incomplete(
                "a chunk must start with its size in hexadecimal digits"
            )
            return False
        size, extension = found.groups()
        self._overhead += len(extension or b"")
        self._check_overhead()
        self._at = found.end()
        self._remaining = int(size, 16)
        self._step = (
            RequestParser._read_chunk if self._remaining else RequestParser._read_trailers
        )
        return True

    def _check_line_is_incomplete(self, error_text_if_complete: str) -> None:
        """Wait for the rest of a line.

        Raises:
            MalformedRequestError: when the line is complete, with the given text.
            HeadersTooLargeError: when it is too long.
        """
        if self._data.find(b"\n", self._at) >= 0:
            raise MalformedRequestError(error_text_if_complete)
        if self._overhead + len(self._data) - self._at > HEAD_LIMIT_BYTES:
            raise HeadersTooLargeError

    def _read_chunk(self, _receiver: RequestReceiver) -> MayContinue:
        if self._remaining:
            self._chunks.append(self._take_body_bytes())
        if self._remaining:
            return False
        after = self._data[self._at : self._at + len(_LINE_END)]
        if not _LINE_END.startswith(after):
            raise MalformedRequestError("a chunk must end with CR and LF")
        if after != _LINE_END:
            return False
        self._at += len(_LINE_END)
        self._step = RequestParser._read_chunk_line
        return True

    def _read_trailers(self, receiver: RequestReceiver) -> MayContinue:
        """Validate trailers and drop them: they arrive after the request was admitted."""
        if self._data.startswith(_LINE_END, self._at):
            self._at += len(_LINE_END)
            self._hand_over_chunks(receiver)
            self._complete_message(receiver)
            return not self._is_over
        end = self._data.find(_LINE_END, self._at)
        if end < 0:
            self._check_line_is_incomplete("a trailer must end with CR and LF")
            return False
        _parse_header(self._data[self._at : end])
        self._overhead += end + len(_LINE_END) - self._at
        self._check_overhead()
        self._at = end + len(_LINE_END)
        return True


def parse_head(data: bytes) -> ParsedRequest:
    """Return a parsed head; `data` ends with the empty line after it.

    Raises:
        MalformedRequestError: when it is invalid or ambiguous.
        HeadersTooLargeError: when it has too many headers.
    """
    request_line = _REQUEST_LINE.match(data)
    if request_line is None:
        raise MalformedRequestError(_BAD_REQUEST_LINE_MESSAGE)
    lines = data[request_line.end() : -len(_LINE_END)].split(_LINE_END)
    del lines[-1]  # empty
    if len(lines) > MAX_HEADERS:
        raise HeadersTooLargeError
    head = RequestHeaders.of([_parse_header_cached(line) for line in lines])
    if len(head.by_name) < len(head.lines):
        _check_repeated_headers(head.lines)
    method, target, minor_version = request_line.groups()
    is_http_1_0 = minor_version == b"0"
    host = head.by_name.get(b"host")
    if host is None and not is_http_1_0:
        raise MalformedRequestError("send a Host header")
    if target[:1] != b"/":
        target = _origin_form(method, target, host)
    length, expects_continue = (
        (0, False)
        if head.is_plain
        else _body_length_and_expectation(head, is_http_1_0=is_http_1_0)
    )
    version = "1.0" if is_http_1_0 else "1.1"
    keeps_alive = not is_http_1_0 and _keeps_alive(head)
    return ParsedRequest(
        method, target, version, head, keeps_alive, length, expects_continue
    )


def _parse_header(line: bytes) -> Header:
    header = _HEADER.fullmatch(line)
    if header is None:
        raise MalformedRequestError("write each header as `Name: value` in one line")
    name, value = header[1].lower(), header[2].strip(b" \t")
    if name == b"host" and not _HOST.fullmatch(value):
        raise MalformedRequestError("the Host header must be a host name or address")
    return name, value


_cached_header = memoized(RegisteredCache.HEADER_LINES)(_parse_header)


def _parse_header_cached(line: bytes) -> Header:
    return _cached_header(line) if len(line) <= _CACHED_LINE_BYTES else _parse_header(line)


def _check_repeated_headers(lines: Sequence[Header]) -> None:
    names = [name for name, _ in lines if name in _ONCE]
    for name in names:
        if names.count(name) > 1:
            raise MalformedRequestError(f"send one {name.decode().title()} header")


def _origin_form(method: bytes, target: bytes, host: bytes | None) -> bytes:
    """Return the origin form (path and query) of a target in another form."""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None and method != b"CONNECT":
        if host is None or absolute[1].lower() != host.lower():
            raise MalformedRequestError(
                "the Host header must match the host of the address"
            )
        return absolute[2] if absolute[2][:1] == b"/" else b"/" + absolute[2]
    if target == b"*" and method == b"OPTIONS":
        return target
    raise MalformedRequestError("the address must start with a slash")


def _keeps_alive(head: RequestHeaders) -> bool:
    connection_header = head.by_name.get(b"connection")
    if connection_header is None or (
        connection_header == b"keep-alive" and len(head.by_name) == len(head.lines)
    ):
        return True
    options = b",".join([value for name, value in head.lines if name == b"connection"])
    return b"close" not in [option.strip(b" \t") for option in options.lower().split(b",")]


def _body_length_and_expectation(
    head: RequestHeaders, *, is_http_1_0: bool
) -> tuple[int | None, bool]:
    """Return the body's length (None if chunked), and whether 100 Continue is expected."""
    coding = head.by_name.get(b"transfer-encoding")
    length = head.by_name.get(b"content-length")
    expect = head.by_name.get(b"expect")
    if expect is not None and not is_http_1_0 and expect.lower() != b"100-continue":
        raise MalformedRequestError("the only value of Expect is 100-continue")
    if coding is not None and length is not None:
        raise MalformedRequestError("send Content-Length or Transfer-Encoding, not both")
    if coding is not None:
        if is_http_1_0 or coding.lower() != b"chunked":
            raise MalformedRequestError(
                "the only Transfer-Encoding is chunked, in HTTP/1.1"
            )
        return None, expect is not None
    if length is None:
        return 0, False
    if not _LENGTH.fullmatch(length):
        raise MalformedRequestError("Content-Length must be a number of bytes")
    size = int(length)
    return size, expect is not None and size > 0 and not is_http_1_0
