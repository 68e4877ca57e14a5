"""Product card drawing: a product's picture, title and price as one JPEG for mails.

Call it only in a sandboxed process: the picture is an untrusted file.
"""

import io
import unicodedata
from collections.abc import Iterator
from importlib import resources
from typing import Final

import msgspec
from PIL import Image, ImageDraw, ImageFont, features

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
    decode_to_pixels,
)

MIN_WIDTH, MAX_WIDTH = 120, 800

_FONT_FILE: Final = resources.files("productrecs") / "assets" / "fonts" / "DejaVuSans.ttf"
_WHITE, _INK, _WARNING = (255, 255, 255), (32, 33, 36), (138, 83, 0)
_MAX_CHARACTERS: Final = 160
_TITLE_LINES, _LINES_WITHOUT_PICTURE = 2, 5
_QUALITY: Final = 85
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})
_NO_GLYPH: Final = chr(0x10FFFF)  # never a character
_MIN_READABLE_SHARE: Final = 0.7  # of a title's characters; below, it is left out


class ProductCard(msgspec.Struct, array_like=True, frozen=True):
    """The texts of a card, and its width in pixels.

    `note` is drawn on a card without picture, such as why it has none.
    """

    title: str
    price: str
    width: int
    note: str = ""


def card_height(width: int) -> int:
    """Return the height of a card in pixels: that of a square and the lines below it."""
    line, price_line, gap = _line_heights(width)
    return width + gap + _TITLE_LINES * line + price_line + gap


def _line_heights(width: int) -> tuple[int, int, int]:
    """Return the heights of a title's line, of the price's, and of a gap."""
    return round(width * 0.075), round(width * 0.1), round(width * 0.04)


def draw_product_card(card: ProductCard, data: bytes) -> bytes:
    """Return a card as a JPEG; without a readable picture, with its texts alone.

    The height follows from the width, so that a mail's layout does not depend on products.
    """
    width = min(max(card.width, MIN_WIDTH), MAX_WIDTH)
    title_font, price_font = (
        _load_font(round(width * 0.055)),
        _load_font(round(width * 0.07)),
    )
    line, price_line, gap = _line_heights(width)
    height = card_height(width)
    canvas = Image.new("RGB", (width, height), _WHITE)
    picture = _decode_to_fit(data, width)
    if picture is not None:
        place = ((width - picture.width) // 2, (width - picture.height) // 2)
        canvas.paste(picture, place)
    lines = _TITLE_LINES if picture is not None else _LINES_WITHOUT_PICTURE
    title = _drawable_text(card.title, title_font)
    texts = list(_wrap_lines(title, title_font, width - gap, lines))
    top = width + gap
    if picture is None:
        top = (height - len(texts) * line - price_line) // 2
    draw = ImageDraw.Draw(canvas)
    for text in texts:
        draw.text((width // 2, top + line // 2), text, _INK, title_font, anchor="mm")
        top += line
    price = _drawable_text(card.price, price_font)
    middle = (width // 2, top + price_line // 2)
    draw.text(middle, price, _INK, price_font, anchor="mm", stroke_width=width // 300)
    if picture is None and card.note:
        _draw_note(draw, card.note, width)
    buffer = io.BytesIO()
    canvas.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return buffer.getvalue()


def _draw_note(draw: ImageDraw.ImageDraw, note: str, width: int) -> None:
    """Write a note at the upper edge."""
    font, line = _load_font(round(width * 0.05)), round(width * 0.07)
    text = _drawable_text(note, font)
    lines = _wrap_lines(text, font, width - line, _LINES_WITHOUT_PICTURE)
    for number, part in enumerate(lines, 1):
        draw.text((width // 2, number * line), part, _WARNING, font, anchor="mm")


@memoized(RegisteredCache.CARD_FONTS)
def _load_font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(io.BytesIO(_FONT_FILE.read_bytes()), size)


def _decode_to_fit(data: bytes, side: int) -> Image.Image | None:
    """Return a picture that fits into a square; None if it cannot be read."""
    if not data:
        return None
    try:
        picture = Image.fromarray(decode_to_pixels(data, side))
    except (UnreadablePictureError, PictureTooLargeError):
        return None
    share = side / max(picture.size)
    size = [max(1, round(length * share)) for length in picture.size]
    return picture.resize((size[0], size[1]), Image.Resampling.BICUBIC)


def _drawable_text(text: str, font: ImageFont.FreeTypeFont) -> str:
    """Return a text without characters that the font lacks; empty if most are missing.

    Without the library that orders them, texts from right to left are left out too.
    """
    text = " ".join(text[:_MAX_CHARACTERS].split())
    if not features.check("raqm") and any(
        unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text
    ):
        return ""
    missing = _glyph_bitmap(font, _NO_GLYPH)
    drawable = [c for c in text if c == " " or _glyph_bitmap(font, c) != missing]
    is_readable = len(drawable) >= _MIN_READABLE_SHARE * len(text)
    return " ".join("".join(drawable).split()) if is_readable else ""


def _glyph_bitmap(
    font: ImageFont.FreeTypeFont, character: str
) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(character)
    return mask.size, bytes(mask)


def _wrap_lines(
    text: str, font: ImageFont.FreeTypeFont, width: int, max_lines: int
) -> Iterator[str]:
    """Yield the first lines of a text; the last ends in an ellipsis if it is cut."""
    words = text.split()
    for number in range(1, max_lines + 1):
        line, is_last = "", number == max_lines
        while words:
            longer = f"{line} {words[0]}".strip()
            if font.getlength(longer) > width and line:
                break
            line = longer
            del words[0]
        cut, is_cut = line, is_last and bool(words)
        while cut and font.getlength(f"{cut}…" if is_cut else cut) > width:
            cut, is_cut = cut[:-1], True
        if line:
            yield f"{cut.rstrip()}…" if is_cut else line
