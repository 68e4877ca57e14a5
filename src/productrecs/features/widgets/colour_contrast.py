"""Colour contrast: whether shoppers can read an accent colour where widgets use it."""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from PIL import ImageColor

MIN_CONTRAST: Final = 4.5
"""The ratio that WCAG 2 requires of text of normal size (level AA)."""

WHITE: Final = (255, 255, 255)
BLACK: Final = (0, 0, 0)
_DARK_PAGE: Final = (22, 24, 28)  # of the widgets' dark theme
_BLACK_TEXT_LIGHTNESS: Final = 0.66  # OKLCH lightness from which buttons have black text

_LINEAR_LIMIT: Final = 0.04045  # below it sRGB is linear

Colour: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ContrastCheck:
    """One pair of colours that shoppers read, and its contrast ratio."""

    where: str
    ratio: float

    @property
    def is_readable(self) -> bool:
        """Whether the pair is readable."""
        return self.ratio >= MIN_CONTRAST


def parse_plain_colour(text: str) -> Colour | None:
    """Return a CSS colour as red, green and blue; None for one that is not a plain colour.

    Reads hex, `rgb()`, `hsl()` and names; only a page can resolve `var()` and others.
    """
    try:
        return ImageColor.getrgb(text.strip())[:3]
    except ValueError:
        return None


def contrast_ratio(colour: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    lighter, darker = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def accent_contrasts(css_colour: str, theme: str) -> list[ContrastCheck] | None:
    """Return the ratios of an accent colour where a widget uses it; None if unknown."""
    accent = parse_plain_colour(css_colour)
    if accent is None:
        return None
    label = BLACK if _oklch_lightness(accent) > _BLACK_TEXT_LIGHTNESS else WHITE
    checks = [ContrastCheck("Text on buttons", contrast_ratio(accent, label))]
    if theme != "dark":
        ratio = contrast_ratio(accent, WHITE)
        checks.append(ContrastCheck("Outlined buttons on a white page", ratio))
    if theme != "light":
        ratio = contrast_ratio(accent, _DARK_PAGE)
        checks.append(ContrastCheck("Outlined buttons on a dark page", ratio))
    return checks


def _linear(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= _LINEAR_LIMIT else ((share + 0.055) / 1.055) ** 2.4


def _luminance(colour: Colour) -> float:
    red, green, blue = map(_linear, colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _oklch_lightness(colour: Colour) -> float:
    """Return the OKLCH lightness, by which the widgets choose black or white text."""
    red, green, blue = map(_linear, colour)
    long = 0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue
    medium = 0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue
    short = 0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue
    roots = [math.cbrt(cone) for cone in (long, medium, short)]
    return 0.2104542553 * roots[0] + 0.7936177850 * roots[1] - 0.0040720468 * roots[2]
