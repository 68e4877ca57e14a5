"""Product picture: draws a product as WebP, deterministically."""

import io
import re
from typing import Final

from demo_store.departments import DemoProduct
from demo_store.pictures.canvas import Canvas, Drawing
from demo_store.pictures.colours import COLOURS, backdrop_colour
from demo_store.pictures.drawing_files import find_product_drawing

CARD: Final = 480
LARGE: Final = 1_000
_QUALITY: Final = 82
_EFFORT: Final = 1
_LINES: Final = 3
_AMOUNT: Final = re.compile(r" (no\.|\d).*")
_SMALL_WORDS: Final = frozenset(("and", "with", "of", "the", "in", "for"))


def draw_product(product: DemoProduct, department_number: int, size: int = CARD) -> bytes:
    """Return the picture of a product as a square WebP of `size` pixels.

    Its department selects the background.

    Raises:
        KeyError: when no drawing shows the product.
    """
    canvas = Canvas(
        (size, size), backdrop_colour(COLOURS[product.colour], department_number)
    )
    canvas.paint(make_drawing(product).transform(7, 6, 0.86))
    return encode_webp(canvas)


def make_drawing(product: DemoProduct) -> Drawing:
    """Return a product to paint on its own sheet."""
    subject = find_product_drawing(product.id)
    return Drawing(
        subject.drawing,
        COLOURS[product.colour],
        subject.pattern,
        _label_lines(product.title),
    )


def encode_webp(canvas: Canvas) -> bytes:
    """Return the painted picture as WebP."""
    buffer = io.BytesIO()
    canvas.to_image().save(buffer, "WEBP", quality=_QUALITY, method=_EFFORT)
    return buffer.getvalue()


def _label_lines(title: str) -> tuple[str, ...]:
    """Return the text of a package label: the name without its amount, in lines."""
    name = _AMOUNT.sub("", title.split(",", maxsplit=1)[0])
    lines: list[str] = []
    for word in name.split()[:5]:
        if lines and (lines[-1].lower() in _SMALL_WORDS or len(lines) == _LINES):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)
