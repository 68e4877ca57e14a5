"""Picture decoding: pixels of an untrusted file; call it only in a sandboxed process.

The size that a header claims is checked before anything is decompressed.
"""

import contextlib
import io
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from productrecs.core.errors import ProductRecsError

MAX_BYTES: Final = 10 << 20
MAX_PIXELS: Final = 25_000_000

MAX_DECODED_PIXELS: Final = 400_000_000
"""Budget for progressive JPEGs: pixels times passes. The largest picture may have sixteen
passes; programs usually write about ten."""

MAX_READS: Final = 30_000
"""Reads per picture: a PNG of 10 MiB in chunks of 2 KiB needs half; they take 60 ms."""

MAX_SIDE: Final = 10_000
MIN_SIDE: Final = 8

Image.MAX_IMAGE_PIXELS = None  # its warning comes too late; the header is checked here

_WHITE: Final = (255, 255, 255, 255)
_GREY: Final = (205, 205, 205, 255)
_NEARLY_WHITE: Final = 235.0  # a white shirt in soft light, on the mean
_SAMPLE_SIDE: Final = 32
_BYTE: Final = 255.0
_LARGE_FACTOR: Final = 8
_LARGE: Final = 8_000_000  # pixels from which a picture is reduced in bands
_BAND: Final = 256  # rows per band: memory cannot hold a second copy of the largest
_JPEG_SCAN: Final = b"\xff\xda"  # start of each JPEG scan; otherwise only in previews
_SIGNATURES: Final[Mapping[str, tuple[int, tuple[bytes, ...]]]] = MappingProxyType(
    {
        "JPEG": (0, (b"\xff\xd8\xff",)),
        "PNG": (0, (b"\x89PNG\r\n\x1a\n",)),
        "GIF": (0, (b"GIF87a", b"GIF89a")),
        "WEBP": (8, (b"WEBP",)),
        "AVIF": (4, (b"ftypavif", b"ftypavis")),
    }
)
_REFUSALS: Final = (  # the library's errors for invalid or damaged files
    UnidentifiedImageError,
    OSError,
    SyntaxError,
    RuntimeError,  # AVIF files with missing parts
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


class UnreadablePictureError(ProductRecsError):
    """No picture can be read: wrong format, damaged, missing, or over a decoding limit."""


class PictureTooLargeError(ProductRecsError):
    """The picture has more pixels or bytes than the limit."""


class PictureRefusal(msgspec.Struct, array_like=True, tag="refusal"):
    """One of these errors, as a process message."""

    reason: str
    is_too_large: bool = False

    @classmethod
    def of(cls, error: UnreadablePictureError | PictureTooLargeError) -> Self:
        """Return the message of an error."""
        return cls(str(error), isinstance(error, PictureTooLargeError))

    def error(self) -> UnreadablePictureError | PictureTooLargeError:
        """Return the error of this message."""
        kind = PictureTooLargeError if self.is_too_large else UnreadablePictureError
        return kind(self.reason)


class _LimitedPictureReader(io.BytesIO):
    """The bytes of a file; limits the number of reads.

    The library reads each PNG chunk, JPEG segment and GIF block separately: 200,000 of
    them took a second.
    """

    _reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes; raise after too many reads."""
        self._reads += 1
        if self._reads > MAX_READS:
            message = "the picture has too many parts; save it again"
            raise UnreadablePictureError(message)
        return super().read(size)


def picture_format(data: bytes) -> str | None:
    """Return the picture format of the first bytes; None if it is not supported."""
    for name, (start, signatures) in _SIGNATURES.items():
        if data.startswith(signatures, start):
            return name
    return None


def decode_to_pixels(data: bytes, max_side: int) -> npt.NDArray[np.uint8]:
    """Return the upright picture as [h, w, 3], its longer side at most `max_side` pixels.

    An animation gives its first frame. A cut-out gets a white background; a white cut-out
    gets a grey one, to remain visible.

    Raises:
        UnreadablePictureError: when it cannot be decoded.
        PictureTooLargeError: judged by its header, before decompression.
    """
    with _open_picture(data) as picture:
        if picture.format == "JPEG":
            picture.draft("RGB", (max_side, max_side))
        picture.load()
        return _upright_scaled_pixels(_halve_large(picture, max_side), max_side)


def read_barcodes(data: bytes, max_side: int) -> list[str]:
    """Return the product codes (EAN, UPC, ISBN) that the barcodes in a picture carry.

    Each once, digits only, with a right check digit. The picture is read in grey, its
    longer side about `max_side` pixels at most: bars of a code that fills a fifth of a
    phone's photo are then two pixels wide.

    Raises:
        UnreadablePictureError: when it cannot be decoded.
        PictureTooLargeError: judged by its header, before decompression.
    """
    import zxingcpp  # noqa: PLC0415 - the decoder's process alone loads it

    with _open_picture(data) as picture:
        if picture.format == "JPEG":
            picture.draft("L", (max_side, max_side))
        picture.load()
        picture.thumbnail((max_side, max_side), Image.Resampling.BOX)
        grey = np.ascontiguousarray(np.asarray(picture.convert("L")))
    formats = zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.EANUPC)
    codes = zxingcpp.read_barcodes(grey, formats=formats)
    return list(dict.fromkeys(code.text for code in codes if code.text.isdecimal()))


@contextlib.contextmanager
def _open_picture(data: bytes) -> Iterator[Image.Image]:
    kind = picture_format(data)
    if kind is None:
        message = "this is not a JPEG, PNG, WebP, AVIF or GIF"
        raise UnreadablePictureError(message)
    try:
        with Image.open(_LimitedPictureReader(data), formats=(kind,)) as picture:
            _check_size(picture, data)
            yield picture
    except _REFUSALS as error:
        message = "the picture is damaged and cannot be read"
        raise UnreadablePictureError(message) from error


def _check_size(picture: Image.Image, data: bytes) -> None:
    width, height = picture.size
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        limit = f"{MAX_PIXELS / 1000000.0:.3g} megapixels are the maximum"
        message = f"the picture has {width} x {height} pixels; {limit}"
        raise PictureTooLargeError(message)
    if min(width, height) < MIN_SIDE:
        message = f"the picture has {width} x {height} pixels, too few for a search"
        raise UnreadablePictureError(message)
    if "progressive" in picture.info:
        scans = data.count(_JPEG_SCAN)
        if width * height * scans > MAX_DECODED_PIXELS:
            size = f"{width} x {height} pixels, drawn in {scans} passes"
            message = f"the picture has {size}; send it with fewer of either"
            raise PictureTooLargeError(message)


def _halve_large(picture: Image.Image, side: int) -> Image.Image:
    """Return a picture that is far too large at half its size, else unchanged."""
    if max(picture.size) >= _LARGE_FACTOR * side:
        # Half the pixels suffice, and the remaining steps take a quarter of the time.
        half = [max(MIN_SIDE, length // 2) for length in picture.size]
        return picture.resize((half[0], half[1]), Image.Resampling.NEAREST)
    width, height = picture.size
    if width * height <= _LARGE or max(width, height) < 2 * side:
        return picture
    halved, max_value = None, _max_value(picture)
    for top in range(0, height, _BAND):
        band = picture.crop((0, top, width, min(top + _BAND, height)))
        band = _to_colour_mode(band, max_value).reduce(2)
        if halved is None:
            halved = Image.new(band.mode, (band.width, (height + 1) // 2))
        halved.paste(band, (0, top // 2))
    assert halved is not None  # noqa: S101 - it has rows
    halved.info = picture.info.copy()  # has the orientation
    return halved


def _upright_scaled_pixels(picture: Image.Image, side: int) -> npt.NDArray[np.uint8]:
    """Return the upright pixels on white, scaled before the colour conversion."""
    ImageOps.exif_transpose(picture, in_place=True)
    picture = _to_colour_mode(picture, _max_value(picture))
    if max(picture.size) > side:
        share = side / max(picture.size)
        size = [max(MIN_SIDE, round(length * share)) for length in picture.size]
        picture = picture.resize(
            (size[0], size[1]), Image.Resampling.BICUBIC, reducing_gap=2
        )
    if picture.mode == "RGBA":
        background = Image.new("RGBA", picture.size, _background_colour(picture))
        picture = Image.alpha_composite(background, picture)
    return np.asarray(picture.convert("RGB"))


def _to_colour_mode(picture: Image.Image, max_value: float) -> Image.Image:
    """Return a picture of any mode as RGB, RGBA or 8-bit grey."""
    if _is_deep(picture):
        return _to_eight_bits(picture, max_value)
    has_transparency = "A" in picture.getbands() or "transparency" in picture.info
    mode = "RGBA" if has_transparency else "RGB"
    return picture if picture.mode == mode else picture.convert(mode)


def _is_deep(picture: Image.Image) -> bool:
    return picture.mode.startswith("I") or picture.mode == "F"


def _max_value(picture: Image.Image) -> float:
    """Return the highest value of a picture with sixteen bits per channel."""
    if not _is_deep(picture):
        return _BYTE
    return float(np.asarray(picture).max(initial=0))


def _background_colour(picture: Image.Image) -> tuple[int, int, int, int]:
    """Return the background of a cut-out: white, or light grey for a white one."""
    pixels = np.asarray(
        picture.resize((_SAMPLE_SIDE, _SAMPLE_SIDE), Image.Resampling.BOX), np.float64
    )
    alpha = pixels[..., 3] / 255.0
    if alpha.sum() < 1.0:
        return _WHITE
    levels = pixels[..., :3].mean(axis=2)
    level = float((levels * alpha).sum() / alpha.sum())
    return _GREY if level > _NEARLY_WHITE else _WHITE


def _to_eight_bits(picture: Image.Image, highest: float) -> Image.Image:
    """Return a 16-bit picture as an 8-bit one."""
    values = np.asarray(picture).astype(np.float64)
    highest = 65_535.0 if highest > _BYTE else _BYTE
    return Image.fromarray((values * (255.0 / highest)).clip(0, 255).astype(np.uint8))
