"""Sandboxed decoder: requests descriptors from a child process, with a time limit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.engines.visual.image_transforms import Descriptor
from productrecs.processes.child_process import WorkerProcess, WorkerTimeouts
from productrecs.records.pictures.decode_picture import (
    PictureRefusal,
    UnreadablePictureError,
)
from productrecs.records.pictures.decoder_process import (
    DESCRIBE,
    DRAW,
    LOOK,
    REGIONS,
    REWRITE,
    DrawnCard,
    PhotoDescription,
    PhotoRegions,
    PictureDescriptor,
    PictureRequest,
    RewrittenPicture,
)
from productrecs.records.pictures.draw_product_card import ProductCard

CPU_SECONDS: Final = 5.0
"""CPU seconds for one picture: thirty times that of a phone's photo, and three times that
of the slowest picture with 25 megapixels (docs/decisions/0056)."""

BATCH_CPU_SECONDS: Final = 15.0
"""CPU seconds for a merchant's picture, which is re-encoded: no page waits for it."""

WAIT_SECONDS: Final = 30.0
"""Elapsed time, including delays by other programs."""

_MAX_REPLIES: Final = 2_000  # then the child is replaced, which bounds memory leaks


_Reply = TypeVar(
    "_Reply",
    PictureDescriptor,
    PhotoDescription,
    PhotoRegions,
    RewrittenPicture,
    DrawnCard,
)


class PhotoRegion(NamedTuple):
    """A region of a photo: its box, its descriptor, and the detector's result."""

    box: tuple[float, float, float, float]
    descriptor: Descriptor
    label: str
    confidence: float | None
    is_garment: bool = False  # where a person's garments are, or usually are

    @property
    def is_thing(self) -> bool:
        """Whether a detector found it that does not say how sure it is."""
        return bool(self.label) and self.confidence is None


class PhotoDescriptors(NamedTuple):
    """Descriptors of a photo, one row each."""

    picture: Descriptor  # one row: as of a product picture
    views: Descriptor  # of the photo and its foreground, to average
    places: Descriptor  # possible products; empty with the operator's model
    is_scene: bool = False  # the photo may show several things: a grid, and found things
    is_upright: bool = False
    codes: tuple[str, ...] = ()  # that its barcodes carry
    lines: tuple[str, ...] = ()  # of printed text, the largest first


class SandboxedDecoder:
    """One sandboxed child process, started on first use; for one thread at a time."""

    def __init__(
        self,
        seconds: float = CPU_SECONDS,
        detectors: Sequence[Path] = (),
        embedder: Path | None = None,
        wait_seconds: float = WAIT_SECONDS,
        text_reader: Path | None = None,
    ) -> None:
        """Set each picture's CPU seconds, and the maximum elapsed time.

        The models are the operator's; `text_reader` is the folder of the packaged one.
        """
        models = (str(embedder or ""), str(text_reader or ""), *map(str, detectors))
        arguments = (str(seconds), *models)
        self._child = WorkerProcess(
            decoder_module(), arguments, WorkerTimeouts(wait_seconds)
        )
        self._reply_count = 0

    def describe(self, data: bytes) -> Descriptor:
        """Return the descriptor of a product's picture.

        Raises:
            UnreadablePictureError: when it is invalid, or decoding exceeds a limit.
            PictureTooLargeError: when it has too many pixels.
        """
        request = PictureRequest(DESCRIBE)
        return np.frombuffer(
            self._request(request, data, PictureDescriptor).descriptor, np.uint8
        )

    def describe_photo(
        self, data: bytes, *, ignores_model: bool = False
    ) -> "PhotoDescriptors":
        """Return the descriptors of a photo: of the whole, and of its likeliest regions.

        With `ignores_model` they are ours, even if the operator has a model.

        Raises:
            UnreadablePictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        reply = self._request(PictureRequest(LOOK, ignores_model), data, PhotoDescription)
        rows = [reply.picture, *reply.views, *reply.places]
        descriptors = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        count = 1 + len(reply.views)
        return PhotoDescriptors(
            descriptors[:1],
            descriptors[1:count],
            descriptors[count:],
            reply.is_scene,
            reply.is_upright,
            tuple(reply.codes),
            tuple(reply.lines),
        )

    def find_regions(
        self, data: bytes, *, ignores_model: bool = False
    ) -> list[PhotoRegion]:
        """Return the regions of a photo that may show objects; at least one.

        With a detector, return its detections, which may be none.

        Raises:
            UnreadablePictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        reply = self._request(PictureRequest(REGIONS, ignores_model), data, PhotoRegions)
        return [
            PhotoRegion(
                region.box,
                np.frombuffer(region.descriptor, np.uint8),
                region.label,
                region.confidence,
                region.is_garment,
            )
            for region in reply.regions
        ]

    def reencode_as_jpeg(self, data: bytes) -> tuple[bytes, int, int]:
        """Return a picture as a new JPEG of at most 1,600 pixels a side, and its size.

        It is upright, with a white background if transparent, and without metadata.

        Raises:
            UnreadablePictureError: as `describe`.
            PictureTooLargeError: as `describe`.
        """
        reply = self._request(PictureRequest(REWRITE), data, RewrittenPicture)
        return reply.jpeg, reply.width, reply.height

    def draw_card(self, card: ProductCard, data: bytes) -> bytes:
        """Return a product's card as a JPEG; its texts alone if the picture is unreadable.

        Raises:
            UnreadablePictureError: when drawing exceeds a limit.
        """
        return self._request(PictureRequest(DRAW, card=card), data, DrawnCard).jpeg

    @property
    def pid(self) -> int | None:
        """The child's process id, or None if it is not running."""
        return self._child.pid

    def start(self) -> None:
        """Start the child before the first request.

        Raises:
            OSError: when it does not start.
        """
        self._child.start()

    def close(self) -> None:
        """Stop the child."""
        self._child.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the child."""
        self.close()

    def _request(self, request: PictureRequest, data: bytes, kind: type[_Reply]) -> _Reply:
        replies: Decoder[_Reply | PictureRefusal] = Decoder(kind | PictureRefusal)
        try:
            reply = self._child.request(request, replies, data)
        except OSError as error:  # it crashed or timed out: either ends the child
            self._reply_count = 0
            message = "the picture takes too long or too much memory to read"
            raise UnreadablePictureError(message) from error
        self._reply_count += 1
        if self._reply_count >= _MAX_REPLIES:
            self._reply_count = 0
            self.close()
        if isinstance(reply, PictureRefusal):
            raise reply.error()
        return reply


def decoder_module() -> str:
    """Return the module that the child runs."""
    return "productrecs.records.pictures.decoder_process"
