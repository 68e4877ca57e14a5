"""Picture decoding: upright, on white; other files are rejected with a reason."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from productrecs.records.pictures import decode_picture
from productrecs.records.pictures.decode_picture import (
    MAX_PIXELS,
    PictureTooLargeError,
    UnreadablePictureError,
    decode_to_pixels,
    picture_format,
    read_barcodes,
)
from tests.support.pictures import drawn, encoded, pixels, with_barcode


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "GIF"])
def test_every_kind_is_read_and_scaled_down(kind: str) -> None:
    data = encoded(drawn("red", "ball", side=300), kind)

    found = decode_to_pixels(data, 100)

    assert picture_format(data) == kind
    assert found.shape == (100, 100, 3)
    assert np.abs(found[50, 50].astype(int) - (200, 30, 40)).max() < 40


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_upright_by_its_orientation(orientation: int) -> None:
    upright = drawn("blue", "cross").resize((120, 80))
    upright.paste((255, 0, 0), (0, 0, 30, 20))
    turn = Image.Transpose
    held_by = {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_90,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_270,
    }
    held = upright.transpose(held_by[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation

    found = decode_to_pixels(encoded(held, "JPEG", exif=exif, quality=95), 400)

    assert found.shape == (80, 120, 3)
    assert found[5, 5].tolist()[0] > 200
    assert np.abs(found.astype(int) - pixels(upright)).mean() < 4


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "L", "CMYK", "I;16"])
def test_transparent_pixels_become_white_and_every_mode_is_read(mode: str) -> None:
    if mode in {"RGBA", "LA"}:
        picture = Image.new(mode, (40, 40), 0)
    elif mode == "I;16":
        picture = Image.fromarray(np.full((40, 40), 65_535, np.uint16))
    elif mode == "CMYK":
        picture = Image.new(mode, (40, 40), (0, 0, 0, 0))
    else:
        picture = Image.new("L", (40, 40), 255).convert(mode)
    kind = "JPEG" if mode == "CMYK" else "PNG"

    found = decode_to_pixels(encoded(picture, kind), 64)

    assert found.shape == (40, 40, 3)
    assert found.min() > 240


@pytest.mark.parametrize(("level", "ground"), [(250, 205), (90, 255)])
def test_a_white_cut_out_does_not_vanish_on_white(level: int, ground: int) -> None:
    picture = Image.new("RGBA", (60, 60), (0, 0, 0, 0))
    picture.paste((level, level, level, 255), (15, 15, 45, 45))

    found = decode_to_pixels(encoded(picture, "PNG"), 64)

    assert found[2, 2].tolist() == [ground] * 3
    assert found[30, 30].tolist() == [level] * 3


def test_of_a_moving_picture_the_first_frame_counts() -> None:
    first, second = Image.new("RGB", (20, 20), "red"), Image.new("RGB", (20, 20), "blue")
    saved = io.BytesIO()
    first.save(saved, "GIF", save_all=True, append_images=[second])

    assert decode_to_pixels(saved.getvalue(), 20)[10, 10].tolist()[0] > 200


def header_of_png(width: int, height: int) -> bytes:
    fields = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + fields
    content = struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    packed = zlib.compress(b"\0" * 100)
    body = b"IDAT" + packed
    content += struct.pack(">I", len(packed)) + body + struct.pack(">I", zlib.crc32(body))
    return b"\x89PNG\r\n\x1a\n" + content


def test_a_jpeg_is_refused_for_too_many_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(drawn("red", "ball"), progressive=True)  # 25,600 pixels, ten passes
    monkeypatch.setattr(decode_picture, "MAX_DECODED_PIXELS", 10 * 25_600)
    assert decode_to_pixels(data, 64).shape[0] == 64

    monkeypatch.setattr(decode_picture, "MAX_DECODED_PIXELS", 10 * 25_600 - 1)
    with pytest.raises(PictureTooLargeError, match="drawn in 10 passes"):
        decode_to_pixels(data, 64)
    assert decode_to_pixels(encoded(drawn("red", "ball")), 64).shape[0] == 64


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "I;16"])
def test_a_large_picture_is_made_smaller_in_bands_and_stays_what_it_is(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, columns = np.mgrid[0:300, 0:450]
    level = ((rows + columns) * 0.3).astype(np.uint8)
    if mode == "I;16":
        picture = Image.fromarray(level.astype(np.uint16) * 257)
    else:
        picture = Image.fromarray(np.stack([level, level // 2, 255 - level], -1))
        picture = picture.convert(mode)
    if mode.endswith("A"):
        picture.putalpha(Image.fromarray(255 - level // 4))
    upright = Image.Exif()
    upright[0x0112] = 6  # a quarter turn
    data = encoded(picture, "PNG", exif=upright)

    whole = decode_to_pixels(data, 200)
    monkeypatch.setattr(decode_picture, "_LARGE", 1)
    monkeypatch.setattr(decode_picture, "_BAND", 64)
    banded = decode_to_pixels(data, 200)

    assert banded.shape == whole.shape == (200, 133, 3)
    off = np.abs(banded.astype(int) - whole)  # a palette's dots are what differs most
    assert off.mean() < (3 if mode == "P" else 1)


@pytest.mark.parametrize("size", [(65_535, 65_535), (10_001, 10), (5_001, 5_000)])
def test_too_many_pixels_are_refused_by_the_header_alone(size: tuple[int, int]) -> None:
    with pytest.raises(PictureTooLargeError, match="25 megapixels are the maximum"):
        decode_to_pixels(header_of_png(*size), 100)


def test_the_largest_allowed_picture_is_read() -> None:
    side = int(MAX_PIXELS**0.5)

    assert decode_to_pixels(encoded(Image.new("RGB", (side, side), "green")), 50).shape == (
        50,
        50,
        3,
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        b"SIMPLE  =                    T",
        b"%!PS-Adobe-3.0 EPSF-3.0",
        b"BM" + b"\0" * 60,
        b"II*\0" + b"\0" * 60,
        b"\xff\xd8\xff\xe0" + b"\0" * 10,
        encoded(drawn("red", "box"))[:900],
        encoded(drawn("red", "box"), "PNG")[:300],
        encoded(drawn("red", "box"), "AVIF").replace(b"pitm", b"none"),
        header_of_png(100, 100),
        header_of_png(0, 10),
        encoded(Image.new("RGB", (7, 90))),
    ],
    ids=range(15),
)
def test_what_is_no_whole_picture_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadablePictureError):
        decode_to_pixels(data, 100)


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def in_parts(kind: str, count: int) -> bytes:
    """Return a picture with so many parts that say nothing."""
    data = encoded(drawn("red", "box"), kind)
    begin = {"PNG": 33, "JPEG": 2, "GIF": 13 + 3 * 2 ** ((data[10] & 7) + 1)}[kind]
    part = {"PNG": _chunk(b"prVt", b""), "JPEG": b"\xff\xe5\0\2", "GIF": b"!\xfe\1a\0"}
    return data[:begin] + part[kind] * count + data[begin:]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
def test_a_picture_of_very_many_parts_is_refused(kind: str) -> None:
    assert decode_to_pixels(in_parts(kind, 2_000), 100).shape[2] == 3
    with pytest.raises(UnreadablePictureError, match="too many parts"):
        decode_to_pixels(in_parts(kind, 200_000), 100)


def test_control_without_the_limit_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_picture, "MAX_READS", 10**9)

    assert decode_to_pixels(in_parts("PNG", 200_000), 100).shape[2] == 3


EAN, OTHER_EAN, UPC = "4006381333931", "9783161484100", "036000291452"
BALL = drawn("red", "ball", side=1_200)


@pytest.mark.parametrize(
    ("picture", "codes"),
    [
        (with_barcode(BALL, EAN), [EAN]),
        (with_barcode(BALL, EAN, angle=17), [EAN]),
        (with_barcode(BALL, EAN, angle=90), [EAN]),
        (with_barcode(BALL, UPC), ["0" + UPC]),
        (with_barcode(with_barcode(BALL, EAN), OTHER_EAN, y=700), [EAN, OTHER_EAN]),
        (with_barcode(with_barcode(BALL, EAN), EAN, y=700), [EAN]),
        (with_barcode(drawn("red", "ball", side=3_000), EAN, width=700), [EAN]),
        (with_barcode(BALL, "https://evil.example/", kind="QRCode"), []),
        (with_barcode(BALL, "A1", kind="Code128"), []),
        (BALL, []),
    ],
    ids=["plain", "tilted", "turned", "upc", "two", "twice", "phone", "qr", "code", "none"],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_the_barcodes_of_products_are_read(
    picture: Image.Image, codes: list[str], kind: str
) -> None:
    found = read_barcodes(encoded(picture, kind), 1_280)

    # A tilted code may also be misread with a right check digit; no product has that one.
    assert set(codes) <= set(found)
    assert len(found) == len(set(found))
    assert bool(found) == bool(codes)


@pytest.mark.parametrize("data", [b"", b"GIF89a", encoded(BALL, "JPEG")[:999], b"x" * 99])
def test_barcodes_of_what_is_no_whole_picture_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadablePictureError):
        read_barcodes(data, 1_280)


def test_barcodes_of_too_many_pixels_are_refused_by_the_header_alone() -> None:
    with pytest.raises(PictureTooLargeError):
        read_barcodes(header_of_png(20_000, 20_000), 1_280)
