"""Form uploads: a multipart form with one file, streamed to a temporary file.

The fields come first, so that the CSRF token is checked before a byte of the file is
stored. Memory stays bounded: the file is written a mebibyte at a time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from fastapi import Request

from productrecs.entrypoints.http.dashboard.page import SentFile
from productrecs.entrypoints.http.transport.multipart_file_stream import (
    FIELDS_LIMIT,
    MultipartForm,
    body_chunks,
)
from productrecs.entrypoints.http.transport.request_body import (
    BodyTooLargeError,
    check_headers,
)
from productrecs.records.orders.uploads.upload import new_upload_id
from productrecs.records.orders.uploads.upload_folder import MIB, UploadFolder

FILE_FIELD: Final = "file"
_PIECE: Final = MIB  # written at once, in a thread: the event loop never waits for a disk
_ENVELOPE: Final = FIELDS_LIMIT + 64 * 1024  # of the form around the file


class IncomingForm:
    """A form on its way in: its fields first, then its file."""

    def __init__(self, request: Request, path: Path, limit: int) -> None:
        """Begin before the first byte.

        Raises:
            BodyTooLargeError: when the declared length is over `limit`.
            NotMultipartError: when it is another kind of form.
        """
        self._limit, self._path, self._size = limit, path, 0
        headers = request.scope["headers"]
        if declared_length(request) > limit + _ENVELOPE:
            raise _too_large(limit)
        check_headers(headers, limit + _ENVELOPE)
        self._form = MultipartForm(headers, FILE_FIELD)
        self._chunks = body_chunks(request.receive, limit + _ENVELOPE)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields that came so far."""
        return self._form.fields

    async def receive_fields(self) -> None:
        """Read up to where the file begins, else to the end."""
        async for chunk in self._chunks:
            self._form.feed(chunk)
            if self._form.file_name is not None:
                return

    async def receive_file(self) -> SentFile | None:
        """Store the file and read the form to its end; None where none was chosen.

        Raises:
            BodyTooLargeError: when the file is over its limit.
            BodyError: when the form breaks off.
        """
        async for chunk in self._chunks:
            self._form.feed(chunk)
            if self._form.waiting >= _PIECE:
                await self._store()
        self._form.finish(needs_file=False)
        name = self._form.file_name
        if not name:
            return None
        await self._store()
        return SentFile(self._path, name[:255], self._size)

    async def _store(self) -> None:
        piece = self._form.take()
        self._size += len(piece)
        if self._size > self._limit:
            raise _too_large(self._limit)
        await asyncio.to_thread(_append, self._path, piece)


@asynccontextmanager
async def received_form(
    request: Request, folder: UploadFolder, limit: int
) -> AsyncIterator[IncomingForm]:
    """Give a form whose file is deleted when the block ends."""
    path = folder.path / new_upload_id()  # so a sweep finds what a crash leaves behind
    try:
        yield IncomingForm(request, path, limit)
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)


def has_multipart(request: Request) -> bool:
    """Return whether a form may hold a file."""
    return request.headers.get("content-type", "").startswith("multipart/")


def declared_length(request: Request) -> int:
    """Return how long the body says it is; 0 where it does not say."""
    length = request.headers.get("content-length", "0")
    return int(length[:20]) if length.isdecimal() else 0


def _append(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)


def _too_large(limit: int) -> BodyTooLargeError:
    size = f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"
    return BodyTooLargeError(f"The file may have at most {size}. Send a smaller one.")
