"""Sandboxed decoder: asks a child process for descriptors, and kills it at a time limit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np

from productrecs.engines.visual.array_types import Descriptor
from productrecs.records.pictures.decode_picture import (
    NotAPictureError,
    PictureTooLargeError,
)
from productrecs.records.pictures.decoder_process import (
    DECODED,
    DESCRIBE,
    LOOK,
    LOOK_OWN,
    NO_PICTURE,
    REGION,
    REGIONS,
    REGIONS_OWN,
    REWRITE,
    SIZE,
    TOO_LARGE,
)
from productrecs.records.pictures.worker_process import ProcessTimeouts, WorkerProcess

CPU_SECONDS: Final = 5.0
"""Of processor time for one picture: thirty times what a phone's photo takes, and three
times what the dearest of 25 megapixels does (docs/decisions/0074)."""

BATCH_CPU_SECONDS: Final = 15.0
"""For a merchant's own picture, which is also written anew: no page waits for it."""

WAIT_SECONDS: Final = 30.0
"""By the clock on the wall, whatever else the machine does meanwhile."""

_MOST_ANSWERS: Final = 2_000  # then a fresh child: no leak of a decoder grows for ever


@dataclass(frozen=True, slots=True)
class PhotoRegion:
    """A place in a photo: its box, what it looks like, and what a detector says of it."""

    box: tuple[float, float, float, float]
    descriptor: Descriptor
    label: str
    confidence: float | None


class PhotoDescriptors(NamedTuple):
    """Descriptors of a photo, a row each."""

    picture: Descriptor  # one row: as if it were a product's own picture
    views: Descriptor  # it and its foreground, to average
    places: Descriptor  # what may be a product by itself; none by the operator's model


class SandboxedDecoder:
    """One sandboxed child process, started on first use; for one thread at a time."""

    def __init__(
        self,
        seconds: float = CPU_SECONDS,
        detector: Path | None = None,
        embedder: Path | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Give each picture so many seconds of processor time; wait as long as said.

        The models are the operator's.
        """
        models = (str(detector or ""), str(embedder or ""))
        arguments = (str(seconds), *models)
        self._child = WorkerProcess(
            decoder_module(), arguments, ProcessTimeouts(wait_seconds)
        )
        self._answers = 0

    def describe(self, data: bytes) -> Descriptor:
        """Return the descriptor of a product's picture.

        Raises:
            NotAPictureError: when it is none, or takes too long or too much to read.
            PictureTooLargeError: when it has too many pixels.
        """
        return np.frombuffer(self._ask(DESCRIBE, data), dtype=np.uint8)

    def look(self, data: bytes, *, own: bool = False) -> "PhotoDescriptors":
        """Return what is seen of a photo: as a whole, and in its likeliest places.

        With `own` they are ours, also where there
        is a model of the operator's.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        answer = self._ask(LOOK_OWN if own else LOOK, data)
        count, rows = answer[0], answer[0] + answer[1]
        seen = np.frombuffer(answer, dtype=np.uint8, offset=2).reshape(1 + rows, -1)
        return PhotoDescriptors(seen[:1], seen[1 : 1 + count], seen[1 + count :])

    def regions(self, data: bytes, *, own: bool = False) -> list[PhotoRegion]:
        """Return the places of a photo where something could be; at least one.

        With a detector what it detects, and none where it detects nothing.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        answer, found, start = (
            self._ask(REGIONS_OWN if own else REGIONS, data),
            list[PhotoRegion](),
            0,
        )
        while start < len(answer):
            *box, score, length, size = REGION.unpack_from(answer, start)
            start += REGION.size
            label = answer[start : start + length].decode()
            start += length
            seen = np.frombuffer(answer, np.uint8, size, start)
            start += size
            x, y, width, height = box
            sure = None if score < 0 else float(score)
            found.append(PhotoRegion((x, y, width, height), seen, label, sure))
        return found

    def rewrite(self, data: bytes) -> tuple[bytes, int, int]:
        """Return a picture as a new JPEG of at most 1,600 pixels a side, and its size.

        It is upright, on white where it was transparent, and carries nothing but pixels.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        answer = self._ask(REWRITE, data)
        width, height = SIZE.unpack_from(answer)
        return answer[SIZE.size :], width, height

    @property
    def pid(self) -> int | None:
        """The child's id, while there is one."""
        return self._child.pid

    def start(self) -> None:
        """Start the child before the first request.

        Raises:
            OSError: when it does not start.
        """
        self._child.start()

    def close(self) -> None:
        """Let the child go."""
        self._child.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the child go."""
        self.close()

    def _ask(self, operation: bytes, data: bytes) -> bytes:
        try:
            status, content = self._child.ask(operation, data)
        except OSError as error:  # it died of it, or takes too long: both are its end
            self._answers = 0
            message = "the picture takes too long or too much memory to read"
            raise NotAPictureError(message) from error
        self._answers += 1
        if self._answers >= _MOST_ANSWERS:
            self._answers = 0
            self.close()
        if status == DECODED:
            return content
        words = content.decode("utf-8", "replace")
        if status == TOO_LARGE:
            raise PictureTooLargeError(words)
        assert status == NO_PICTURE, status  # noqa: S101 - our own child says no other
        raise NotAPictureError(words)


def decoder_module() -> str:
    """Return the module that the child runs."""
    return "productrecs.records.pictures.decoder_process"
