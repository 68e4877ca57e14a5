"""Multipart parser: streams one uploaded file while the form arrives.

It buffers only the bytes since the last `pop_file_bytes`. A form has exactly one file of
the given name, and a few small fields, as browsers, curl and HTTP libraries send it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from productrecs.core.errors import ProductRecsError
from productrecs.http.transport.request_body import (
    BodyTooLargeError,
    ClientDisconnectedError,
    EncodedBodyError,
    Headers,
    Receive,
)
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it logs content

MAX_PARTS: Final = 10
FIELDS_LIMIT: Final = 64 * 1024
"""The most bytes of all parts except the file."""

_IDENTITY_ENCODINGS: Final = frozenset({b"", b"7bit", b"8bit", b"binary"})
_WINDOW_SECONDS: Final = 25.0
"""Less than the connection's own limit, so that a stalled upload still gets a reply."""
_WINDOW_BYTES: Final = 64 * 1024


class NotMultipartError(ProductRecsError):
    """The body is not multipart/form-data."""


class UploadStalledError(ProductRecsError):
    """The client sends too slowly, or stopped sending."""


class MultipartFormParser:
    """Incremental parser of a form with one file named `name`."""

    def __init__(self, headers: Headers, name: str) -> None:
        """Start before the first byte of a body.

        Raises:
            NotMultipartError: when the content type is not multipart/form-data.
            InvalidInputError: when the content type has no boundary.
        """
        self.waiting = 0
        self.file_name: str | None = None  # None: no file has begun
        self._name = name
        self._fields: list[tuple[bytes, bytearray]] = []
        self._chunks: list[bytes] = []
        self._parts = 0
        self._other_bytes = 0
        self._found = False
        self._ended = False
        self._in_file = False
        self._header = (b"", b"")
        self._headers: dict[bytes, bytes] = {}
        self._parser = MultipartParser(
            _boundary(headers),
            {
                "on_part_begin": self._on_part_begin,
                "on_part_data": self._on_part_data,
                "on_header_begin": self._on_header_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_end": self._on_end,
            },
        )

    def feed(self, chunk: bytes) -> None:
        """Parse the next bytes of the body.

        Raises:
            InvalidInputError: when the form is malformed, or has not exactly one file.
            BodyTooLargeError: when the other fields are too large.
            EncodedBodyError: when the file is encoded in the form.
        """
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise _malformed_error(str(error)) from None

    def pop_file_bytes(self) -> bytes:
        """Return the bytes of the file since the last call."""
        chunk = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks, self.waiting = [], 0
        return chunk

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields received so far, without the file."""
        return [
            (name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
            for name, value in self._fields
        ]

    def check_complete(self, *, needs_file: bool = True) -> None:
        """Check that the form is complete and has its file.

        Raises:
            InvalidInputError: when it is not.
        """
        if not self._ended:
            raise _malformed_error("the form ends before its last boundary")
        if needs_file and not self._found:
            message = f"the form has no part named {self._name!r} with the CSV"
            raise InvalidInputError(
                [ValidationProblem(("body", self._name), message, "missing")]
            )

    def _on_part_begin(self) -> None:
        self._headers, self._in_file = {}, False
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise self._form_error(f"the form has more than {MAX_PARTS} parts", "too_long")

    def _on_header_begin(self) -> None:
        self._header = (b"", b"")

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _on_header_end(self) -> None:
        name, value = self._header
        self._headers[name.lower()] = value.strip()

    def _on_headers_finished(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"").decode("latin-1")
        options = parse_options_header(disposition)[1]
        is_file_field = options.get(b"name") == self._name.encode()
        if not is_file_field and b"filename" not in options:
            self._fields.append((options.get(b"name", b""), bytearray()))
            return
        if not is_file_field or self._found:
            raise self._form_error(
                f"send exactly one file, as the part {self._name!r}", "too_many_files"
            )
        coding = self._headers.get(b"content-transfer-encoding", b"").lower()
        if coding not in _IDENTITY_ENCODINGS:
            message = "send the file without Content-Transfer-Encoding"
            raise EncodedBodyError(message)
        self.file_name = options.get(b"filename", b"").decode("utf-8", "replace")
        self._found = self._in_file = True

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._chunks.append(data[start:end])
            self.waiting += end - start
            return
        self._other_bytes += end - start
        if self._other_bytes > FIELDS_LIMIT:
            message = f"the form's other fields may have at most {FIELDS_LIMIT} bytes"
            raise BodyTooLargeError(message)
        self._fields[-1][1].extend(data[start:end])

    def _on_end(self) -> None:
        self._ended = True

    def _form_error(self, message: str, kind: str) -> InvalidInputError:
        return InvalidInputError([ValidationProblem(("body", self._name), message, kind)])


async def body_chunks(
    receive: Receive,
    limit: int,
    window_bytes: int = _WINDOW_BYTES,
    window_seconds: float = _WINDOW_SECONDS,
) -> AsyncIterator[bytes]:
    """Yield a body's chunks; the whole may take any time unless the client stalls.

    Raises:
        BodyTooLargeError: when the body has more than `limit` bytes.
        ClientDisconnectedError: when the client closes before the end.
        UploadStalledError: when fewer than `window_bytes` arrive in `window_seconds`.
    """
    clock = asyncio.get_running_loop().time
    waited_seconds, received_bytes, size, has_more = 0.0, 0, 0, True
    while has_more:
        began = clock()
        try:
            async with asyncio.timeout(window_seconds - waited_seconds):
                message = await receive()
        except TimeoutError:
            reason = "the upload stalled; send it again"
            raise UploadStalledError(reason) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        chunk: bytes = message.get("body", b"")
        has_more = message.get("more_body", False)
        size += len(chunk)
        received_bytes += len(chunk)
        if size > limit:
            raise BodyTooLargeError(f"the body may be at most {limit} bytes")
        waited_seconds += clock() - began  # excludes the time of our disk writes
        if received_bytes >= window_bytes:
            waited_seconds, received_bytes = 0.0, 0
        yield chunk


def _boundary(headers: Headers) -> bytes:
    content_type = _header(headers, b"content-type").decode("latin-1")
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data":
        message = "send the file as multipart/form-data, in a part named 'file'"
        raise NotMultipartError(message)
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 70:  # noqa: PLR2004 - RFC 2046
        raise _malformed_error("the content type has no boundary of 1 to 70 characters")
    return boundary


def _header(headers: Iterable[tuple[bytes, bytes]], header_name: bytes) -> bytes:
    return next((value for name, value in headers if name == header_name), b"")


def _malformed_error(reason: str) -> InvalidInputError:
    message = f"the form cannot be read: {reason}"
    return InvalidInputError([ValidationProblem(("body",), message, "multipart_invalid")])
