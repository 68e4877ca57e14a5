"""Who looks at strangers' pictures? A child process, killed when one takes too long."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from productrecs.engines.visual.types import Descriptor
from productrecs.records.pictures.child import (
    DESCRIBE,
    HEAD,
    LOOK,
    LOOK_OWN,
    NO_PICTURE,
    REGION,
    REGIONS,
    REGIONS_OWN,
    REWRITE,
    SEEN,
    SIZE,
    TOO_LARGE,
)
from productrecs.records.pictures.decoding import NotAPictureError, PictureTooLargeError

SECONDS: Final = 2.0
"""Of processor time for one picture: a hundred times what a photo takes."""

PATIENT_SECONDS: Final = 15.0
"""For a merchant's own picture, which is also written anew: no page waits for it."""

WAIT_SECONDS: Final = 30.0
"""By the clock on the wall, whatever else the machine does meanwhile."""

_START_SECONDS: Final = 30.0
_MOST_ANSWERS: Final = 2_000  # then a fresh child: no leak of a decoder grows for ever
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Region:
    """A place in a photo: its box, what it looks like, and what a detector says of it."""

    box: tuple[float, float, float, float]
    descriptor: Descriptor
    label: str
    confidence: float | None


class Viewer:
    """One child, started when it is first asked; for one thread at a time."""

    def __init__(
        self,
        seconds: float = SECONDS,
        detector: Path | None = None,
        embedder: Path | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Give each picture so many seconds of processor time; wait as long as said.

        The models are the operator's.
        """
        self._seconds, self._wait_seconds = seconds, wait_seconds
        self._models = (str(detector or ""), str(embedder or ""))
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._answers = 0

    def describe(self, data: bytes) -> Descriptor:
        """Return the descriptor of a product's picture.

        Raises:
            NotAPictureError: when it is none, or takes too long or too much to read.
            PictureTooLargeError: when it has too many pixels.
        """
        return np.frombuffer(self._ask(DESCRIBE, data), dtype=np.uint8)

    def look(self, data: bytes, *, own: bool = False) -> Descriptor:
        """Return descriptors of a photo and of what stands in its front, rows to average.

        What counts more stands there more often. With `own` they are ours, also where there
        is a model of the operator's.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        told = self._ask(LOOK_OWN if own else LOOK, data)
        return np.frombuffer(told, dtype=np.uint8, offset=1).reshape(told[0], -1)

    def regions(self, data: bytes, *, own: bool = False) -> list[Region]:
        """Return the places of a photo where something could be; at least one.

        With a detector what it detects, and none where it detects nothing.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        told, found, start = (
            self._ask(REGIONS_OWN if own else REGIONS, data),
            list[Region](),
            0,
        )
        while start < len(told):
            *box, score, length, size = REGION.unpack_from(told, start)
            start += REGION.size
            label = told[start : start + length].decode()
            start += length
            seen = np.frombuffer(told, np.uint8, size, start)
            start += size
            x, y, width, height = box
            sure = None if score < 0 else float(score)
            found.append(Region((x, y, width, height), seen, label, sure))
        return found

    def rewrite(self, data: bytes) -> tuple[bytes, int, int]:
        """Return a picture anew, as a JPEG of at most 1,600 pixels a side, and its size.

        It is upright, on white where it was transparent, and carries nothing but pixels.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        told = self._ask(REWRITE, data)
        width, height = SIZE.unpack_from(told)
        return told[SIZE.size :], width, height

    @property
    def pid(self) -> int | None:
        """The child's id, while there is one."""
        return self._process.pid if self._process else None

    def close(self) -> None:
        """Let the child go."""
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is not None:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the child go."""
        self.close()

    def _ask(self, operation: bytes, data: bytes) -> bytes:
        line = self._started()
        try:
            status, content = _exchange(line, operation, data, self._wait_seconds)
        except OSError as error:  # it died of it, or takes too long: both are its end
            self.close()
            message = "the picture takes too long or too much memory to read"
            raise NotAPictureError(message) from error
        self._answers += 1
        if self._answers >= _MOST_ANSWERS:
            self.close()
        if status == SEEN:
            return content
        words = content.decode("utf-8", "replace")
        if status == TOO_LARGE:
            raise PictureTooLargeError(words)
        assert status == NO_PICTURE, status  # noqa: S101 - our own child says no other
        raise NotAPictureError(words)

    def _started(self) -> socket.socket:
        """Return the line to a child that lives and has finished starting."""
        if self._line is not None and self._process is not None:
            if self._process.poll() is None:
                return self._line
            self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            # Nothing of the service's environment: there may be secrets in it.
            environment = {k: v for k in _ENVIRONMENT if (v := os.environ.get(k))}
            environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            told = (str(theirs.fileno()), str(self._seconds), *self._models)
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", child_module(), *told],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment,
            )
        self._line, self._answers = ours, 0
        # The first question waits for its start; no picture is to be blamed for that.
        with contextlib.suppress(OSError):
            _exchange(ours, DESCRIBE, b"", _START_SECONDS)
        return ours


def child_module() -> str:
    """Return the module that the child runs."""
    return "productrecs.records.pictures.child"


def _exchange(
    line: socket.socket, operation: bytes, data: bytes, seconds: float
) -> tuple[bytes, bytes]:
    until = time.monotonic() + seconds
    line.settimeout(seconds)
    line.sendall(HEAD.pack(operation, len(data)))
    line.sendall(data)
    status, length = HEAD.unpack(_exactly(line, HEAD.size, until))
    return status, _exactly(line, length, until)


def _exactly(line: socket.socket, length: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < length:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        line.settimeout(left)
        part = line.recv(length - len(data))
        if not part:
            message = "the child is gone"
            raise ConnectionError(message)
        data += part
    return bytes(data)
