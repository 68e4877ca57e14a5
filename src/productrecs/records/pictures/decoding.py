"""Which pixels are in this file? Only ever called in a child process that may be killed.

What a header claims is checked before anything is unpacked.
"""

import io
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.PngImagePlugin import PngImageFile

from productrecs.core.errors import ProductRecsError

MOST_BYTES: Final = 10 << 20
MOST_PIXELS: Final = 25_000_000

MOST_WHOLE_PIXELS: Final = 8_000_000
"""Of a shopper's WebP or AVIF, which are only read whole."""

MOST_UNPACKED_BYTES: Final = 24 << 20
"""Of a shopper's PNG: the dearest of its filters takes ten nanoseconds a byte."""

MOST_PASSED_PIXELS: Final = 150_000_000
"""Of a shopper's JPEG that is drawn in passes: all its pixels, once for each of them."""

MOST_SIDE: Final = 10_000
LEAST_SIDE: Final = 8

Image.MAX_IMAGE_PIXELS = None  # it warns far too late; the header is checked here

_WHITE: Final = (255, 255, 255, 255)
_GREY: Final = (205, 205, 205, 255)
_NEARLY_WHITE: Final = 235.0  # a white shirt in soft light, on the mean
_FEW: Final = 32
_FAR_TOO_LARGE: Final = 8
_WHOLE: Final = frozenset({"WEBP", "AVIF"})  # whose libraries know no smaller reading
_PASS: Final = b"\xff\xda"  # begins each in a JPEG, and stands nowhere else but in previews
_SIGNS: Final[Mapping[str, tuple[int, tuple[bytes, ...]]]] = MappingProxyType(
    {
        "JPEG": (0, (b"\xff\xd8\xff",)),
        "PNG": (0, (b"\x89PNG\r\n\x1a\n",)),
        "GIF": (0, (b"GIF87a", b"GIF89a")),
        "WEBP": (8, (b"WEBP",)),
        "AVIF": (4, (b"ftypavif", b"ftypavis")),
    }
)
_REFUSALS: Final = (  # what the library raises of files that are none, or broken
    UnidentifiedImageError,
    OSError,
    SyntaxError,
    RuntimeError,  # of AVIF, for parts that are missing
    struct.error,
    AttributeError,
    AssertionError,
    ZeroDivisionError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    EOFError,
    MemoryError,
    Image.DecompressionBombError,
)


class NotAPictureError(ProductRecsError):
    """It is no JPEG, PNG, WebP, AVIF or GIF, or a broken one."""


class PictureTooLargeError(ProductRecsError):
    """The picture has more pixels, or bytes, than anybody needs to see what it shows."""


def format_of(data: bytes) -> str | None:
    """Return which kind of picture the first bytes say it is; None for none we read."""
    for name, (start, signs) in _SIGNS.items():
        if data.startswith(signs, start):
            return name
    return None


def decode(data: bytes, side: int, *, is_photo: bool = False) -> npt.NDArray[np.uint8]:
    """Return the upright picture as [h, w, 3], its longer side at most `side` pixels.

    Of a moving picture the first frame. A cut-out stands on white, a white one on grey: it
    would be gone otherwise. A shopper's photo, which somebody waits for, may have fewer
    pixels where its kind is slow to read.

    Raises:
        NotAPictureError: when it is none that can be read.
        PictureTooLargeError: by its header alone, before it is unpacked.
    """
    kind = format_of(data)
    if kind is None:
        message = "this is no JPEG, PNG, WebP, AVIF or GIF"
        raise NotAPictureError(message)
    try:
        with Image.open(io.BytesIO(data), formats=(kind,)) as picture:
            _check_size(*picture.size, _most_of(picture, data) if is_photo else MOST_PIXELS)
            if kind == "JPEG":
                picture.draft("RGB", (side, side))
            ImageOps.exif_transpose(picture, in_place=True)
            return _pixels(picture, side)
    except _REFUSALS as error:
        message = "the picture is damaged and cannot be read"
        raise NotAPictureError(message) from error


def _most_of(picture: Image.Image, data: bytes) -> int:
    """Return how many pixels a shopper's photo may have, by its header and its passes."""
    most = MOST_PIXELS
    if picture.format in _WHOLE:
        most = MOST_WHOLE_PIXELS
    elif isinstance(picture, PngImageFile):
        is_deep = any("16" in str(tile.args) for tile in picture.tile)
        most = MOST_UNPACKED_BYTES // (len(picture.getbands()) * (1 + is_deep))
    elif "progressive" in picture.info:
        most = MOST_PASSED_PIXELS // max(1, data.count(_PASS))
    return min(most, MOST_PIXELS)


def _check_size(width: int, height: int, most: int) -> None:
    if width * height > most or max(width, height) > MOST_SIDE:
        told = f"{most / 1e6:.3g} megapixels are the most"
        told += "" if most == MOST_PIXELS else " of its kind; a plain JPEG may have 25"
        message = f"the picture has {width} x {height} pixels; {told}"
        raise PictureTooLargeError(message)
    if min(width, height) < LEAST_SIDE:
        message = f"the picture has {width} x {height} pixels, too few to see anything"
        raise NotAPictureError(message)


def _pixels(picture: Image.Image, side: int) -> npt.NDArray[np.uint8]:
    """Return the pixels on white, scaled down; scaled before it is coloured."""
    if max(picture.size) >= _FAR_TOO_LARGE * side:
        # Every other pixel is more than enough, and the rest takes a quarter of the time.
        half = [max(LEAST_SIDE, length // 2) for length in picture.size]
        picture = picture.resize((half[0], half[1]), Image.Resampling.NEAREST)
    is_clear = "A" in picture.getbands() or "transparency" in picture.info
    if picture.mode.startswith("I") or picture.mode == "F":
        picture = _eight_bits(picture)
    elif is_clear:
        picture = picture.convert("RGBA")
    elif picture.mode != "RGB":
        picture = picture.convert("RGB")
    if max(picture.size) > side:
        share = side / max(picture.size)
        size = [max(LEAST_SIDE, round(length * share)) for length in picture.size]
        picture = picture.resize(
            (size[0], size[1]), Image.Resampling.BICUBIC, reducing_gap=2
        )
    if picture.mode == "RGBA":
        ground = Image.new("RGBA", picture.size, _ground_of(picture))
        picture = Image.alpha_composite(ground, picture)
    return np.asarray(picture.convert("RGB"))


def _ground_of(picture: Image.Image) -> tuple[int, int, int, int]:
    """Return what a cut-out stands on: white, but for what is white itself: light grey."""
    pixels = np.asarray(picture.resize((_FEW, _FEW), Image.Resampling.BOX), np.float64)
    seen = pixels[..., 3] / 255.0
    if seen.sum() < 1.0:
        return _WHITE
    levels = pixels[..., :3].mean(axis=2)
    level = float((levels * seen).sum() / seen.sum())
    return _GREY if level > _NEARLY_WHITE else _WHITE


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Return a picture of sixteen bits as one of eight."""
    values = np.asarray(picture).astype(np.float64)
    highest = 65_535.0 if values.max(initial=0) > 255 else 255.0  # noqa: PLR2004 - a byte
    return Image.fromarray((values * (255.0 / highest)).clip(0, 255).astype(np.uint8))
