"""File upload forms: a multipart form with one file, streamed to a temporary file.

The fields come first, so that the CSRF token is checked before a byte of the file is
stored. Memory stays bounded: the file is written a mebibyte at a time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from fastapi import Request

from productrecs.dashboard.page import UploadedFile
from productrecs.http.transport.multipart_parser import (
    FIELDS_LIMIT,
    MultipartFormParser,
    body_chunks,
)
from productrecs.http.transport.request_body import BodyTooLargeError, check_body_headers
from productrecs.records.uploads.upload_folder import MIB, UploadFolder, new_upload_id

FILE_FIELD: Final = "file"
_PIECE: Final = MIB  # written in a thread: the event loop never waits for a disk
_ENVELOPE: Final = FIELDS_LIMIT + 64 * 1024  # of the form without the file


class IncomingUploadForm:
    """A form that is being received: its fields first, then its file."""

    def __init__(self, request: Request, path: Path, limit: int) -> None:
        """Start before the first byte.

        Raises:
            BodyTooLargeError: when the declared length is over `limit`.
            NotMultipartError: when the form is not multipart.
        """
        self._limit, self._path, self._size = limit, path, 0
        headers = request.scope["headers"]
        if declared_length(request) > limit + _ENVELOPE:
            raise _too_large_error(limit)
        check_body_headers(headers, limit + _ENVELOPE)
        self._form = MultipartFormParser(headers, FILE_FIELD)
        self._chunks = body_chunks(request.receive, limit + _ENVELOPE)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields received so far."""
        return self._form.fields

    async def receive_fields(self) -> None:
        """Read up to the start of the file, else to the end."""
        async for chunk in self._chunks:
            self._form.feed(chunk)
            if self._form.file_name is not None:
                return

    async def receive_file(self) -> UploadedFile | None:
        """Store the file and read the form to its end; return None without a file.

        Raises:
            BodyTooLargeError: when the file is over its limit.
            InvalidInputError: when the form is incomplete.
        """
        async for chunk in self._chunks:
            self._form.feed(chunk)
            if self._form.waiting >= _PIECE:
                await self._append_pending_bytes()
        self._form.check_complete(needs_file=False)
        name = self._form.file_name
        if not name:
            return None
        await self._append_pending_bytes()
        return UploadedFile(self._path, name[:255], self._size)

    async def _append_pending_bytes(self) -> None:
        piece = self._form.pop_file_bytes()
        self._size += len(piece)
        if self._size > self._limit:
            raise _too_large_error(self._limit)
        await asyncio.to_thread(_append, self._path, piece)


@asynccontextmanager
async def receive_form(
    request: Request, folder: UploadFolder, limit: int
) -> AsyncIterator[IncomingUploadForm]:
    """Yield a form whose file is deleted when the block ends."""
    path = folder.path / new_upload_id()  # the sweep deletes it after a crash
    try:
        yield IncomingUploadForm(request, path, limit)
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)


def is_multipart_form(request: Request) -> bool:
    """Return whether a form may have a file."""
    return request.headers.get("content-type", "").startswith("multipart/")


def declared_length(request: Request) -> int:
    """Return the declared length of the body; 0 without one."""
    length = request.headers.get("content-length", "0")
    return int(length[:20]) if length.isdecimal() else 0


def _append(path: Path, piece: bytes) -> None:
    with path.open("ab") as file:
        file.write(piece)


def _too_large_error(limit: int) -> BodyTooLargeError:
    size = f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"
    return BodyTooLargeError(f"The file may have at most {size}. Send a smaller one.")
