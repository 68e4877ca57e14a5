"""Picture decoder process: the child's main loop; it may be killed at any moment.

It reads untrusted files, so it has no access to the database, keys or network. A request is
an operation with the bytes of a file attached. The process ends itself after a limit of
CPU time, not of elapsed time: on a busy machine a valid photo may wait long.
"""

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

from productrecs.engines.visual.foreground import find_foreground
from productrecs.engines.visual.image_descriptor import (
    MIN_SIDE,
    PICTURE_SIDE,
    describe,
    describe_parts,
    foreground_window_and_share,
)
from productrecs.engines.visual.image_transforms import Pixels, resize, to_lab
from productrecs.engines.visual.region_proposals import (
    Boxes,
    box_window,
    describe_photo_and_regions,
    propose_regions,
)
from productrecs.processes.child_process import (
    limit_cpu,
    limit_memory,
    lower_priority_and_ignore_stops,
    serve_requests,
)
from productrecs.processes.process_messages import ParentConnection
from productrecs.records.pictures.decode_picture import (
    PictureRefusal,
    PictureTooLargeError,
    UnreadablePictureError,
    decode_to_pixels,
    read_barcodes,
)
from productrecs.records.pictures.draw_product_card import (
    ProductCard,
    draw_product_card,
)
from productrecs.records.pictures.onnx_model_file import (
    BODY,
    DETECTOR,
    EMBEDDER,
    SSD,
    OnnxModelFile,
    read_model_file,
)
from productrecs.records.pictures.packaged_ocr_models import (
    TEXT_DETECTOR,
    TEXT_RECOGNIZER,
)
from productrecs.records.pictures.text_boxes import TextBox

Box = tuple[float, ...]
"""x, y, width and height, fractions of the photo."""

_FoundBox = tuple[Box, float | None, str]  # with a confidence, if there is one, and a label


class ObjectDetector(Protocol):
    """A model that detects objects."""

    def detect(self, pixels: Pixels) -> list[tuple[Box, float, str]]:
        """Return boxes with confidences and labels."""


class ThingFinder(Protocol):
    """A model that finds things, which may be products or not."""

    def find_things(self, pixels: Pixels) -> list[tuple[Box, str]]:
        """Return the boxes of things with their labels, the surest first."""


class GarmentFinder(Protocol):
    """A model that finds the garments of a person in a photo."""

    def find_garments(self, pixels: Pixels) -> Boxes:
        """Return the places of the person's garments; none without a person."""


class TextReader(Protocol):
    """Models that find and read printed text."""

    def find_boxes(self, pixels: Pixels) -> list[TextBox]:
        """Return the boxes of the lines of text in a photo, the largest first."""

    def read_lines(self, pixels: Pixels, boxes: Sequence[TextBox]) -> list[str]:
        """Return the text of the first boxes, without lines that cannot be read."""


class PictureEmbedder(Protocol):
    """A model that computes a picture's embedding."""

    @property
    def is_fused(self) -> bool:
        """Whether our own descriptors complete its embedding."""

    def embed(self, pixels: Pixels, *, is_part: bool = False) -> npt.NDArray[np.float32]:
        """Return the embedding of a picture, or of a part, which takes less time."""


DESCRIBE, LOOK, REGIONS, REWRITE = "describe", "look", "regions", "rewrite"
DRAW: Final = "draw"

REWRITTEN_SIDE: Final = 1_600
_QUALITIES: Final = (86, 74, 58, 40)
_REWRITTEN_BYTES: Final = 1 << 20  # target size in bytes, if a lower quality reaches it


class PictureRequest(msgspec.Struct, array_like=True):
    """An operation on a picture, with our descriptors or the operator's models."""

    operation: str
    ignores_model: bool = False
    card: ProductCard | None = None  # to draw with the picture; no other operation then


class PictureDescriptor(msgspec.Struct, array_like=True, tag="description"):
    """The descriptor of a picture."""

    descriptor: bytes


class PhotoDescription(msgspec.Struct, array_like=True, tag="views"):
    """Descriptors of a photo, and the codes and lines printed on what it shows.

    The first is that of a product picture; the next are of the photo and its foreground.
    """

    picture: bytes
    views: list[bytes]
    places: list[bytes]  # empty with the operator's model
    is_scene: bool = False
    is_upright: bool = False
    codes: list[str] = msgspec.field(default_factory=list)  # that its barcodes carry
    lines: list[str] = msgspec.field(default_factory=list)  # of text, the largest first


class DescribedRegion(msgspec.Struct, array_like=True):
    """A region of a photo: its box, its descriptor, and the detector's result."""

    box: tuple[float, float, float, float]
    descriptor: bytes
    label: str
    confidence: float | None
    is_garment: bool = False  # where a person's garments are, or usually are


class PhotoRegions(msgspec.Struct, array_like=True, tag="regions"):
    """The regions of a photo that may show objects."""

    regions: list[DescribedRegion]


class DrawnCard(msgspec.Struct, array_like=True, tag="card"):
    """A product's card as a JPEG."""

    jpeg: bytes


class RewrittenPicture(msgspec.Struct, array_like=True, tag="rewritten"):
    """A picture as a JPEG without metadata, and its size."""

    jpeg: bytes
    width: int
    height: int


PictureReply = (
    PictureDescriptor
    | PhotoDescription
    | PhotoRegions
    | RewrittenPicture
    | DrawnCard
    | PictureRefusal
)

MODEL_ROOM_BYTES: Final = 1 << 30
MODEL_SECONDS: Final = 15.0
"""CPU seconds for the operator's models: twenty regions of a photo, once each."""

ROOM_BYTES: Final = 540 << 20
"""Memory for a picture besides the program's own."""

_DETECTED_SIDE: Final = 640  # pixels for the operator's detector, and for found things
_MIN_KINDS, _MAX_SEARCHED_THINGS = 2, 8  # of things in a scene: a pair of shoes is one kind
_DETECTORS: Final[list[ObjectDetector]] = []  # the operator's detector, if any
_THING_FINDERS: Final[list[ThingFinder]] = []
_GARMENT_FINDERS: Final[list[GarmentFinder]] = []
_EMBEDDERS: Final[list[PictureEmbedder]] = []
_TEXT_READERS: Final[list[TextReader]] = []  # the packaged text reader, if installed
_PRINT_SIDE: Final = 1_280  # pixels to read barcodes and text from
_VIEW_SIDE: Final = 320  # pixels for a shopper's photo, to analyse its foreground


def handle_request(request: PictureRequest, data: bytes) -> PictureReply:
    """Return the reply to a picture request."""
    try:
        if request.card is not None:
            return DrawnCard(draw_product_card(request.card, data))
        return _OPERATIONS[request.operation](data, request.ignores_model)
    except (UnreadablePictureError, PictureTooLargeError) as error:
        return PictureRefusal.of(error)
    except MemoryError:
        return PictureRefusal("the picture takes too much memory to read")


def _describe_photo(data: bytes, ignores_model: bool) -> PhotoDescription:  # noqa: FBT001 - a row of the table
    """Return the descriptors of a photo and of its regions.

    An operator's model would take too long for regions, unless it is fused with ours.
    Things are looked for in a scene only, so that other photos take no longer.
    """
    pixels, region_bytes = decode_to_pixels(data, _VIEW_SIDE), list[bytes]()
    is_scene = is_upright = False
    if ignores_model or not _EMBEDDERS or _EMBEDDERS[0].is_fused:
        picture = describe(_shrink_to_picture_side(pixels)).tobytes()
        things = list[_FoundBox]()

        def finds_things() -> bool:
            things.extend(_find_things_of_scene(pixels))
            return bool(things)

        view_descriptors, region_descriptors, foreground, windows, is_scene, is_upright = (
            describe_photo_and_regions(pixels, finds_things)
        )
        views = [descriptor.tobytes() for descriptor in view_descriptors]
        region_bytes = [descriptor.tobytes() for descriptor in region_descriptors]
        if not ignores_model and _EMBEDDERS:
            whole_features = _embedding_bytes(pixels)
            foreground_features = _embedding_bytes(pixels[foreground], is_part=is_scene)
            picture += whole_features
            views = [
                views[0] + whole_features,
                *(descriptor + foreground_features for descriptor in views[1:]),
            ]
            features = [
                _embedding_bytes(pixels[window], is_part=True) for window in windows
            ]
            region_bytes = [
                descriptor + feature
                for descriptor, feature in zip(region_bytes, features, strict=True)
            ]
        region_bytes += _describe_things(data, things, ignores_model=ignores_model)
    else:
        lab = to_lab(pixels)
        window, _ = foreground_window_and_share(lab, find_foreground(lab))
        picture = _descriptor_bytes(pixels)
        views = [picture, _descriptor_bytes(np.ascontiguousarray(pixels[window]))]
    codes, lines = read_barcodes(data, _PRINT_SIDE), _read_printed_lines(data, pixels)
    return PhotoDescription(
        picture, views, region_bytes, is_scene, is_upright, codes, lines
    )


def _find_things_of_scene(pixels: Pixels) -> list[_FoundBox]:
    things = _find_things(pixels)[:_MAX_SEARCHED_THINGS]
    kinds = {label for _, _, label in things}
    return things if len(kinds) >= _MIN_KINDS else []


def _read_printed_lines(data: bytes, pixels: Pixels) -> list[str]:
    """Return the lines of text in a photo; it is decoded again only if it shows any."""
    if not _TEXT_READERS or not (boxes := _TEXT_READERS[0].find_boxes(pixels)):
        return []
    large = decode_to_pixels(data, _PRINT_SIDE)
    scale = np.array(large.shape[1::-1]) / np.array(pixels.shape[1::-1])
    return _TEXT_READERS[0].read_lines(large, [box.scaled(scale) for box in boxes])


def _reencode_as_jpeg(data: bytes, _ignores_model: bool) -> RewrittenPicture:  # noqa: FBT001 - as above
    picture, jpeg = Image.fromarray(decode_to_pixels(data, REWRITTEN_SIDE)), b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=quality, progressive=True, optimize=True)
        jpeg = buffer.getvalue()
        if len(jpeg) <= _REWRITTEN_BYTES:
            break
    return RewrittenPicture(jpeg, *picture.size)


def _descriptor_bytes(pixels: Pixels) -> bytes:
    """Return a picture's descriptor: ours, the model's embedding, or both."""
    if not _EMBEDDERS:
        return describe(pixels).tobytes()
    if _EMBEDDERS[0].is_fused:
        return describe(_shrink_to_picture_side(pixels)).tobytes() + _embedding_bytes(
            pixels
        )
    return _embedding_bytes(pixels)


def _embedding_bytes(pixels: Pixels, *, is_part: bool = False) -> bytes:
    numbers = _EMBEDDERS[0].embed(np.ascontiguousarray(pixels), is_part=is_part)
    return numbers.astype("<f4").tobytes()


def _description_side() -> int:
    return _VIEW_SIDE if _EMBEDDERS else PICTURE_SIDE


def _find_and_describe_regions(data: bytes, ignores_model: bool) -> PhotoRegions:  # noqa: FBT001 - as above
    side = _DETECTED_SIDE if _DETECTORS else _VIEW_SIDE
    pixels = decode_to_pixels(data, side)
    boxes, things, garment_count = _boxes_things_and_garment_count(pixels)
    descriptors = _describe_boxes(pixels, boxes, ignores_model=ignores_model)
    descriptors += _describe_things(data, things, ignores_model=ignores_model)
    regions = []
    described = zip([*boxes, *things], descriptors, strict=True)
    for index, ((box, score, label), descriptor) in enumerate(described):
        x, y, width, height = map(float, box)
        confidence = None if score is None else float(score)
        regions.append(
            DescribedRegion(
                (x, y, width, height), descriptor, label, confidence, index < garment_count
            )
        )
    return PhotoRegions(regions)


def _boxes_things_and_garment_count(
    pixels: Pixels,
) -> tuple[list[_FoundBox], list[_FoundBox], int]:
    """Return the boxes of a photo, the things in it, and the count of garments, the first.

    Where a person was found, only the garments and our proposals count. Otherwise the
    operator's detector has the last word; without one, what `objects` finds is looked at
    beside our proposals.
    """
    garments = _find_garments_of_person(pixels)
    if _DETECTORS and garments is None:
        return [*_DETECTORS[0].detect(pixels)], [], 0
    proposed, garment_count = propose_regions(pixels, garments)
    boxes: list[_FoundBox] = [(tuple(box), None, "") for box in proposed.tolist()]
    return boxes, [] if garments is not None else _find_things(pixels), garment_count


def _find_things(pixels: Pixels) -> list[_FoundBox]:
    """Return what `objects` finds, the surest first; nothing in a photo of a person."""
    return [
        (box, None, label)
        for finder in _THING_FINDERS
        for box, label in finder.find_things(pixels)
    ]


def _describe_things(
    data: bytes, things: Sequence[_FoundBox], *, ignores_model: bool
) -> list[bytes]:
    """Return the descriptors of found things, from the photo decoded in more detail."""
    if not things:
        return []
    return _describe_boxes(
        decode_to_pixels(data, _DETECTED_SIDE), things, ignores_model=ignores_model
    )


def _describe_boxes(
    pixels: Pixels, boxes: Sequence[_FoundBox], *, ignores_model: bool
) -> list[bytes]:
    windows = [box_window(pixels, box) for box, _, _ in boxes]
    is_fused = bool(_EMBEDDERS) and _EMBEDDERS[0].is_fused
    if _EMBEDDERS and not ignores_model and not is_fused:
        return [
            _descriptor_bytes(_shrink_to_picture_side(pixels[window])) for window in windows
        ]
    descriptors = [descriptor.tobytes() for descriptor in describe_parts(pixels, windows)]
    if ignores_model or not is_fused:
        return descriptors
    features = [_embedding_bytes(pixels[window], is_part=True) for window in windows]
    return [
        descriptor + extra for descriptor, extra in zip(descriptors, features, strict=True)
    ]


def _find_garments_of_person(pixels: Pixels) -> Boxes | None:
    """Return the places of a person's garments; None where nobody was found."""
    for finder in _GARMENT_FINDERS:
        if len(places := finder.find_garments(pixels)):
            return places
    return None


def _shrink_to_picture_side(part: Pixels) -> Pixels:
    longer_side = max(part.shape[:2])
    if longer_side > PICTURE_SIDE:
        size = [
            max(MIN_SIDE, side * PICTURE_SIDE // longer_side) for side in part.shape[:2]
        ]
        part = resize(part.astype(np.float32), size[0], size[1]).clip(0, 255)
    return np.ascontiguousarray(part.astype(np.uint8))


def _describe(data: bytes, _ignores_model: bool) -> PictureDescriptor:  # noqa: FBT001 - as above
    return PictureDescriptor(_descriptor_bytes(decode_to_pixels(data, _description_side())))


_OPERATIONS: Final[Mapping[str, Callable[[bytes, bool], PictureReply]]] = MappingProxyType(
    {
        DESCRIBE: _describe,
        LOOK: _describe_photo,
        REGIONS: _find_and_describe_regions,
        REWRITE: _reencode_as_jpeg,
    }
)


def main() -> None:
    """Answer requests until the other side closes the socket."""
    import zxingcpp  # noqa: F401, PLC0415 - imported before the first picture

    _load_models(*sys.argv[3:])
    seconds = float(sys.argv[2]) + (MODEL_SECONDS if _has_models() else 0.0)
    lower_priority_and_ignore_stops()
    _limit_memory()

    def answer(request: PictureRequest, data: bytes) -> PictureReply:
        with limit_cpu(seconds):
            return handle_request(request, data)

    parent = ParentConnection.inherited(int(sys.argv[1]))
    serve_requests(parent, msgspec.msgpack.Decoder(PictureRequest), answer)


def _load_models(embedder: str = "", text_reader: str = "", *detectors: str) -> None:
    """Load the operator's models and the text reader, if any."""
    for detector in detectors:
        _load_detector(read_model_file(Path(detector), DETECTOR))
    if embedder:
        from productrecs.records.pictures.onnx_embedder_and_detector import OnnxEmbedder  # noqa: PLC0415

        _EMBEDDERS.append(OnnxEmbedder(read_model_file(Path(embedder), EMBEDDER)))
    if text_reader:
        from productrecs.records.pictures.printed_text import PrintedTextReader  # noqa: PLC0415

        folder = Path(text_reader)
        _TEXT_READERS.append(
            PrintedTextReader(folder / TEXT_DETECTOR, folder / TEXT_RECOGNIZER)
        )


def _load_detector(model: OnnxModelFile) -> None:
    if model.finds == BODY:
        from productrecs.records.pictures.body_landmarks import LandmarkGarmentFinder  # noqa: PLC0415

        _GARMENT_FINDERS.append(LandmarkGarmentFinder(model))
    elif model.network == SSD:
        from productrecs.records.pictures.ssd_detector import SsdDetector  # noqa: PLC0415

        _THING_FINDERS.append(SsdDetector(model))
    else:
        from productrecs.records.pictures.onnx_embedder_and_detector import YoloxDetector  # noqa: PLC0415

        _DETECTORS.append(YoloxDetector(model))


def _has_models() -> bool:
    return any((_DETECTORS, _THING_FINDERS, _GARMENT_FINDERS, _EMBEDDERS, _TEXT_READERS))


def _limit_memory() -> None:
    model_bytes = MODEL_ROOM_BYTES if _has_models() else 0
    limit_memory(ROOM_BYTES + model_bytes)


if __name__ == "__main__":
    main()
