"""Shoe sizes: the same size of adults in the systems EU, UK and US.

The systems count the length of the last (ISO/TS 19407): EU sizes are Paris points, two
thirds of a centimetre; UK sizes are barleycorns, a third of an inch, from 25 on; US sizes
of men are one above UK. US sizes of women are 1 to 1.5 above those of men, by maker.
"""

from collections.abc import Collection, Iterator
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.product_word_translations import ProductWordGroup

_PARIS_POINTS: Final = 1.27  # in a barleycorn
_FIRST_BARLEYCORN: Final = 25
_TOLERANCE: Final = 0.5  # Paris points: makers round to half or whole sizes
_ADULTS: Final = MappingProxyType({"eu": (35, 50), "uk": (2, 14), "us": (3, 16)})
_US_OFFSETS: Final = MappingProxyType({"men": (1.0,), "women": (2.0, 2.5)})
_MEN: Final = "men mens man herren homme hommes hombre hombres uomo heren meskie"
_WOMEN: Final = (
    "women womens woman ladies damen femme femmes mujer mujeres donna dames damskie"
)
WEARERS: Final = MappingProxyType(
    {**dict.fromkeys(_MEN.split(), "men"), **dict.fromkeys(_WOMEN.split(), "women")}
)
_FOOTWEAR: Final = (
    "shoe", "trainers", "boots", "ankle boots", "hiking boots", "wellies", "sandals",
    "flip-flops", "slippers", "heels", "loafers", "clogs",
)  # fmt: skip


class ShoeSize(NamedTuple):
    """A size, and the system that counts it."""

    value: str
    system: str


def equivalent_sizes(value: str, system: str, words: Collection[str]) -> list[ShoeSize]:
    """Return a shoe size in the other systems, all candidates if makers differ.

    `words` are those of the query: they say whose shoes are meant, if anything does. A
    size that is none of an adult's shoe, such as UK 38, has none.
    """
    named = {WEARERS[word] for word in words if word in WEARERS}
    equivalents: dict[ShoeSize, None] = {}
    for wearer in named if len(named) == 1 else _US_OFFSETS:
        lengths = list(_lengths_in_paris_points(value, system, wearer))
        for other, (low, high) in _ADULTS.items():
            for half_sizes in range(2 * low, 2 * high + 1) if other != system else ():
                text = f"{half_sizes / 2:g}"
                if _is_close(lengths, list(_lengths_in_paris_points(text, other, wearer))):
                    equivalents[ShoeSize(text, other)] = None
    return list(equivalents)


def _lengths_in_paris_points(value: str, system: str, wearer: str) -> Iterator[float]:
    """Yield the possible lengths of a size's last in Paris points."""
    try:
        number = float(value)
    except ValueError:
        return
    low, high = _ADULTS[system]
    if not low <= number <= high:
        return
    if system == "eu":
        yield number
        return
    for offset in _US_OFFSETS[wearer] if system == "us" else (0.0,):
        yield _PARIS_POINTS * (number - offset + _FIRST_BARLEYCORN)


def _is_close(lengths: Collection[float], others: Collection[float]) -> bool:
    return any(abs(length - other) <= _TOLERANCE for length in lengths for other in others)


@memoized(RegisteredCache.CONSTANTS)
def shoes() -> ProductWordGroup:
    """Return the products whose sizes are those of shoes."""
    return ProductWordGroup(_FOOTWEAR, ("schuh", "schoen"))
