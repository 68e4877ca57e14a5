"""Colours: RGB values of the catalog's colour names, with tints, shades and backdrops."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Colour: TypeAlias = tuple[int, int, int]

WHITE: Final = (255, 255, 255)
BLACK: Final = (24, 20, 18)
# The values of a product's `colour`.
COLOURS: Final[Mapping[str, Colour]] = MappingProxyType(
    {
        "amber": (226, 158, 48),
        "brass": (198, 156, 76),
        "brown": (118, 76, 50),
        "charcoal": (66, 70, 76),
        "clay": (196, 112, 82),
        "cream": (240, 229, 206),
        "flax": (206, 194, 164),
        "ink": (44, 62, 96),
        "moss": (108, 128, 78),
        "oak": (196, 150, 98),
        "red": (190, 62, 54),
        "rust": (176, 86, 46),
        "sand": (212, 190, 156),
        "sky": (132, 176, 204),
        "steel": (166, 176, 184),
        "straw": (222, 192, 118),
        "violet": (136, 112, 168),
        "white": (247, 244, 238),
    }
)
# The other materials of drawings.
_MATERIALS: Final[Mapping[str, Colour]] = MappingProxyType(
    {
        **COLOURS,
        "ink": (48, 50, 56),
        "leaf": (96, 136, 84),
        "paper": (251, 247, 238),
        "steel-dark": (122, 132, 142),
        "wood": (186, 138, 88),
    }
)
GLASS: Final = (214, 230, 232)
# Backdrops: their lightness differs from that of the objects before them.
_PALE: Final[tuple[Colour, ...]] = (
    (243, 237, 226),
    (233, 238, 231),
    (231, 236, 241),
    (244, 232, 224),
    (239, 235, 240),
)
_DEEP: Final[tuple[Colour, ...]] = (
    (205, 190, 166),
    (176, 190, 172),
    (172, 187, 199),
    (214, 182, 164),
    (190, 180, 196),
)
_BRIGHT: Final = 205


def blend(colour: Colour, second: Colour, share: float) -> Colour:
    """Return the colour with that share (0 to 1) of the other in it."""
    red, green, blue = (
        round(channel * (1 - share) + new * share)
        for channel, new in zip(colour, second, strict=True)
    )
    return (red, green, blue)


def tone_colour(name: str, base: Colour, backdrop: Colour) -> Colour:
    """Return the colour of a tone of a drawing whose product has the colour `base`.

    Raises:
        KeyError: when no tone has this name.
    """
    if name == "backdrop":
        return backdrop
    if name in {"dark", "deep", "light", "pale", "base"}:
        return _tint_or_shade(name, base)
    return GLASS if name == "glass" else _MATERIALS[name]


def backdrop_colour(base: Colour, department_number: int) -> Colour:
    """Return the backdrop of a product; its department selects the hue."""
    ground = _DEEP if lightness(base) > _BRIGHT else _PALE
    return ground[department_number % len(ground)]


def lightness(colour: Colour) -> float:
    """Return the perceived lightness, 0 to 255."""
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _tint_or_shade(name: str, base: Colour) -> Colour:
    # Light colours get little shade, or they would look dirty.
    shade = 0.75 if lightness(base) > _BRIGHT else 1.0
    if name == "dark":
        return blend(base, BLACK, 0.22 * shade)
    if name == "deep":
        return blend(base, BLACK, 0.42 * shade)
    if name == "light":
        return blend(base, WHITE, 0.3)
    return base if name == "base" else blend(base, WHITE, 0.58)
