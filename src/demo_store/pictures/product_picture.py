"""Product picture: draws a product as WebP, deterministically."""

import io
import re
from typing import Final

from demo_store.departments import DemoProduct
from demo_store.pictures.canvas import Canvas, Drawing
from demo_store.pictures.colours import COLOURS, backdrop
from demo_store.pictures.drawing_files import drawing_of_product

CARD: Final = 480
LARGE: Final = 1_000
_QUALITY: Final = 82
_EFFORT: Final = 1
_LINES: Final = 3
_AMOUNT: Final = re.compile(r" (no\.|\d).*")
_SMALL_WORDS: Final = frozenset(("and", "with", "of", "the", "in", "for"))


def draw_product(product: DemoProduct, place: int, size: int = CARD) -> bytes:
    """Return the picture of a product as a square WebP of `size` pixels.

    `place` is its department's number, which selects the background.

    Raises:
        KeyError: when no drawing shows the product.
    """
    canvas = Canvas((size, size), backdrop(COLOURS[product.colour], place))
    canvas.paint(drawing_of(product).shifted(7, 6, 0.86))
    return encoded(canvas)


def drawing_of(product: DemoProduct) -> Drawing:
    """Return a product to paint on its own sheet."""
    subject = drawing_of_product(product.id)
    return Drawing(
        subject.drawing,
        COLOURS[product.colour],
        subject.pattern,
        _label(product.title),
    )


def encoded(canvas: Canvas) -> bytes:
    """Return the painted picture as WebP."""
    buffer = io.BytesIO()
    canvas.finished().save(buffer, "WEBP", quality=_QUALITY, method=_EFFORT)
    return buffer.getvalue()


def _label(title: str) -> tuple[str, ...]:
    """Return the text of a package label: the name without its amount, in lines."""
    name = _AMOUNT.sub("", title.split(",", maxsplit=1)[0])
    lines: list[str] = []
    for word in name.split()[:5]:
        if lines and (lines[-1].lower() in _SMALL_WORDS or len(lines) == _LINES):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)
