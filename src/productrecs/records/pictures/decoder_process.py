"""Picture decoder process: the child's main loop; it may be killed at any moment.

It reads strangers' files, so it holds nothing: no database, no key, no network. A request
is an operation and the bytes of a file, a reply is a status and bytes. The process ends
itself after a limit of processor time, not of elapsed time: on a busy machine a good photo
may wait for long without being at fault.
"""

import io
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from productrecs.engines.visual.array_types import Pixels
from productrecs.engines.visual.foreground import find_foreground
from productrecs.engines.visual.image_descriptor import (
    LEAST_SIDE,
    PICTURE_SIDE,
    describe,
    describe_parts,
    window_in,
)
from productrecs.engines.visual.image_transforms import resized, to_lab
from productrecs.engines.visual.photo_regions import box_window, describe_regions
from productrecs.engines.visual.region_proposals import propose_regions
from productrecs.records.pictures.decode_picture import (
    NotAPictureError,
    PictureTooLargeError,
    decode_to_pixels,
)
from productrecs.records.pictures.onnx_model_file import DETECTOR, EMBEDDER, read_model_file
from productrecs.records.pictures.worker_process import lower_priority, serve_requests


class ObjectDetector(Protocol):
    """A model that says what is where."""

    def detect(self, pixels: Pixels) -> list[tuple[tuple[float, ...], float, str]]:
        """Return boxes, how sure they are, and their labels."""


class PictureEmbedder(Protocol):
    """A model that turns a picture into numbers."""

    @property
    def is_fused(self) -> bool:
        """Whether our own descriptors go with its numbers."""

    def embed(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        """Return the picture's numbers."""


DESCRIBE, LOOK, REGIONS, REWRITE = b"d", b"l", b"r", b"w"
LOOK_OWN, REGIONS_OWN = b"L", b"R"
"""The same in our own way, whatever model of the operator's there is."""

SIZE: Final = struct.Struct("<II")
"""Of a picture that was written anew: width and height, before the JPEG."""

REWRITTEN_SIDE: Final = 1_600
_QUALITIES: Final = (86, 74, 58, 40)
_MOST_REWRITTEN: Final = 1 << 20  # bytes, wherever a lower quality brings it there

REGION: Final = struct.Struct("<fffffII")
"""A box, how sure a detector is (below 0 without one), lengths of label and descriptor."""
DECODED, NO_PICTURE, TOO_LARGE = b"+", b"-", b">"

MODEL_ROOM_BYTES: Final = 1 << 30
MODEL_SECONDS: Final = 15.0
"""What the operator's models may take beside ours: twenty places of a photo, each once."""

ROOM_BYTES: Final = 540 << 20
"""What a picture may take beside the program itself."""

_DETECTED_SIDE: Final = 640
_DETECTORS: Final[list[ObjectDetector]] = []  # the operator's, if there is one
_EMBEDDERS: Final[list[PictureEmbedder]] = []
_VIEW_SIDE: Final = 320  # of a shopper's photo: its front is looked at closely


def handle_request(operation: bytes, data: bytes) -> tuple[bytes, bytes]:
    """Return the status and the bytes that answer a request."""
    try:
        return DECODED, _OPERATIONS[operation](data)
    except NotAPictureError as error:
        return NO_PICTURE, str(error).encode()
    except PictureTooLargeError as error:
        return TOO_LARGE, str(error).encode()
    except MemoryError:
        return NO_PICTURE, b"the picture takes too much memory to read"


def _views(data: bytes, *, own: bool = False) -> bytes:
    """Return how many descriptors there are of a photo and of places in it, and all.

    First that of a product's picture, as if it were one; then of it and its front. For
    places an operator's model would take too long, unless it is fused with ours.
    """
    pixels, places = decode_to_pixels(data, _VIEW_SIDE), list[bytes]()
    if own or not _EMBEDDERS or _EMBEDDERS[0].is_fused:
        picture = describe(_shrunk(pixels)).tobytes()
        seen, around, front, windows = describe_regions(pixels)
        views, places = [one.tobytes() for one in seen], [one.tobytes() for one in around]
        if not own and _EMBEDDERS:
            whole, shown = _features(pixels), _features(pixels[front])
            picture += whole
            views = [views[0] + whole, *(one + shown for one in views[1:])]
            features = [_features(pixels[window]) for window in windows]
            places = [one + more for one, more in zip(places, features, strict=True)]
    else:
        lab = to_lab(pixels)
        window, _ = window_in(lab, find_foreground(lab))
        picture = _descriptor(pixels)
        views = [picture, _descriptor(np.ascontiguousarray(pixels[window]))]
    return bytes([len(views), len(places)]) + b"".join([picture, *views, *places])


def _rewritten(data: bytes) -> bytes:
    """Return a picture as a JPEG without metadata."""
    picture, written = Image.fromarray(decode_to_pixels(data, REWRITTEN_SIDE)), b""
    for quality in _QUALITIES:
        saved = io.BytesIO()
        picture.save(saved, "JPEG", quality=quality, progressive=True, optimize=True)
        written = saved.getvalue()
        if len(written) <= _MOST_REWRITTEN:
            break
    return SIZE.pack(*picture.size) + written


def _descriptor(pixels: Pixels) -> bytes:
    """Return the descriptor of a picture: ours, the numbers of the model, or both."""
    if not _EMBEDDERS:
        return describe(pixels).tobytes()
    if _EMBEDDERS[0].is_fused:
        return describe(_shrunk(pixels)).tobytes() + _features(pixels)
    return _features(pixels)


def _features(pixels: Pixels) -> bytes:
    return _EMBEDDERS[0].embed(np.ascontiguousarray(pixels)).astype("<f4").tobytes()


def _side() -> int:
    return _VIEW_SIDE if _EMBEDDERS else PICTURE_SIDE


def _regions(data: bytes, *, own: bool = False) -> bytes:
    """Return the places of a photo where something could be, each with its descriptor."""
    side = _DETECTED_SIDE if _DETECTORS else _VIEW_SIDE
    pixels = decode_to_pixels(data, side)
    if _DETECTORS:
        found = _DETECTORS[0].detect(pixels)
    else:
        found = [(tuple(box), -1.0, "") for box in propose_regions(pixels).tolist()]
    windows = [box_window(pixels, box) for box, _, _ in found]
    is_fused = bool(_EMBEDDERS) and _EMBEDDERS[0].is_fused
    if _EMBEDDERS and not own and not is_fused:
        seen = [_descriptor(_shrunk(pixels[window])) for window in windows]
    else:
        seen = [one.tobytes() for one in describe_parts(pixels, windows)]
        if is_fused and not own:
            features = [_features(pixels[window]) for window in windows]
            seen = [one + more for one, more in zip(seen, features, strict=True)]
    parts = []
    for (box, score, label), descriptor in zip(found, seen, strict=True):
        name = label.encode()
        parts += [REGION.pack(*box, score, len(name), len(descriptor)), name, descriptor]
    return b"".join(parts)


def _shrunk(part: Pixels) -> Pixels:
    most = max(part.shape[:2])
    if most > PICTURE_SIDE:
        size = [max(LEAST_SIDE, side * PICTURE_SIDE // most) for side in part.shape[:2]]
        part = resized(part.astype(np.float32), size[0], size[1]).clip(0, 255)
    return np.ascontiguousarray(part.astype(np.uint8))


def _description(data: bytes) -> bytes:
    return _descriptor(decode_to_pixels(data, _side()))


_OPERATIONS: Final[Mapping[bytes, Callable[[bytes], bytes]]] = MappingProxyType(
    {
        DESCRIBE: _description,
        LOOK: _views,
        LOOK_OWN: partial(_views, own=True),
        REGIONS: _regions,
        REGIONS_OWN: partial(_regions, own=True),
        REWRITE: _rewritten,
    }
)


def main() -> None:
    """Answer requests until the other side closes the socket."""
    import scipy.ndimage  # noqa: F401, PLC0415 - no picture is to wait for it

    _load(*sys.argv[3:])
    seconds = float(sys.argv[2]) + (MODEL_SECONDS if _DETECTORS or _EMBEDDERS else 0.0)
    lower_priority()
    _limit()

    def timed(operation: bytes, data: bytes) -> tuple[bytes, bytes]:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time: it ends us
        reply = handle_request(operation, data)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return reply

    serve_requests(socket.socket(fileno=int(sys.argv[1])), timed)


def _load(detector: str = "", embedder: str = "") -> None:
    """Load the operator's models, where there are any."""
    if detector:
        from productrecs.records.pictures.yolox_detector import YoloxDetector  # noqa: PLC0415

        _DETECTORS.append(YoloxDetector(read_model_file(Path(detector), DETECTOR)))
    if embedder:
        from productrecs.records.pictures.onnx_embedder import OnnxEmbedder  # noqa: PLC0415

        _EMBEDDERS.append(OnnxEmbedder(read_model_file(Path(embedder), EMBEDDER)))


def _limit() -> None:
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) if _HAS_PROC else 0
    room = used * resource.getpagesize() + ROOM_BYTES
    room += MODEL_ROOM_BYTES if _DETECTORS or _EMBEDDERS else 0
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


_HAS_PROC: Final = Path("/proc/self/statm").exists()


if __name__ == "__main__":
    main()
