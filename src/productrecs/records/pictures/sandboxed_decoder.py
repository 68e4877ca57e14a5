"""Sandboxed decoder: asks a child process for descriptors, and kills it at a time limit."""

from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.engines.visual.image_transforms import Descriptor
from productrecs.processes.worker_process import ProcessTimeouts, WorkerProcess
from productrecs.records.pictures.decode_picture import NotAPictureError, PictureRefusal
from productrecs.records.pictures.decoder_process import (
    DESCRIBE,
    LOOK,
    REGIONS,
    REWRITE,
    Description,
    PhotoRegions,
    PhotoViews,
    PictureRequest,
    RewrittenPicture,
)

CPU_SECONDS: Final = 5.0
"""Of processor time for one picture: thirty times what a phone's photo takes, and three
times what the dearest of 25 megapixels does (docs/decisions/0074)."""

BATCH_CPU_SECONDS: Final = 15.0
"""For a merchant's own picture, which is also written anew: no page waits for it."""

WAIT_SECONDS: Final = 30.0
"""By the clock on the wall, whatever else the machine does meanwhile."""

_MOST_ANSWERS: Final = 2_000  # then a fresh child: no leak of a decoder grows for ever


_Reply = TypeVar("_Reply", Description, PhotoViews, PhotoRegions, RewrittenPicture)


class PhotoRegion(NamedTuple):
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
    is_scene: bool = False  # its places are a grid: several things may stand in it


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
        request = PictureRequest(DESCRIBE)
        return np.frombuffer(self._ask(request, data, Description).descriptor, np.uint8)

    def look(self, data: bytes, *, own: bool = False) -> "PhotoDescriptors":
        """Return what is seen of a photo: as a whole, and in its likeliest places.

        With `own` they are ours, also where there
        is a model of the operator's.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        found = self._ask(PictureRequest(LOOK, own), data, PhotoViews)
        rows = [found.picture, *found.views, *found.places]
        seen = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        count = 1 + len(found.views)
        return PhotoDescriptors(seen[:1], seen[1:count], seen[count:], found.is_scene)

    def regions(self, data: bytes, *, own: bool = False) -> list[PhotoRegion]:
        """Return the places of a photo where something could be; at least one.

        With a detector what it detects, and none where it detects nothing.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        found = self._ask(PictureRequest(REGIONS, own), data, PhotoRegions)
        return [
            PhotoRegion(
                one.box, np.frombuffer(one.descriptor, np.uint8), one.label, one.confidence
            )
            for one in found.regions
        ]

    def rewrite(self, data: bytes) -> tuple[bytes, int, int]:
        """Return a picture as a new JPEG of at most 1,600 pixels a side, and its size.

        It is upright, on white where it was transparent, and carries nothing but pixels.

        Raises:
            NotAPictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        written = self._ask(PictureRequest(REWRITE), data, RewrittenPicture)
        return written.jpeg, written.width, written.height

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

    def _ask(self, request: PictureRequest, data: bytes, kind: type[_Reply]) -> _Reply:
        replies: Decoder[_Reply | PictureRefusal] = Decoder(kind | PictureRefusal)
        try:
            reply = self._child.ask(request, replies, data)
        except OSError as error:  # it died of it, or takes too long: both are its end
            self._answers = 0
            message = "the picture takes too long or too much memory to read"
            raise NotAPictureError(message) from error
        self._answers += 1
        if self._answers >= _MOST_ANSWERS:
            self._answers = 0
            self.close()
        if isinstance(reply, PictureRefusal):
            raise reply.error()
        return reply


def decoder_module() -> str:
    """Return the module that the child runs."""
    return "productrecs.records.pictures.decoder_process"
