"""Clothing sizes: the same size in the systems of countries, in letters, and by age.

Letters follow the bust and chest girths of EN 13402-3, children's sizes its body heights in
steps of 6 cm. The numbers are those of common shop charts: EU of Germany and the Nordic
countries, UK and US of women; men's UK and US sizes are the chest in inches. France and
Spain count women's sizes 2 higher than EU, Italy 6; men's are those of EU. Jeans count the
waist in inches: W32 is EU 48 of men, 42 of women.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.product_word_translations import ProductWordGroup
from productrecs.engines.text.shoe_sizes import WEARERS

HEIGHT: Final = "cm"
YEARS: Final = "years"
MONTHS: Final = "months"
CHILD_SYSTEMS: Final = frozenset({HEIGHT, YEARS, MONTHS})

WAIST: Final = "waist"
LENGTH: Final = "length"
JEANS_SYSTEMS: Final = frozenset({WAIST, LENGTH})
COUNTRY_SYSTEMS: Final = frozenset({"fr", "es", "it"})
"""Systems that count other numbers than EU for women's clothes, none for shoes."""

HIGH_SYSTEMS: Final = COUNTRY_SYSTEMS | {"eu"}
_LOW_SYSTEMS: Final = ("uk", "us")
NUMBER_SYSTEMS: Final = HIGH_SYSTEMS | {*_LOW_SYSTEMS}

_LOWEST_PLAIN_HEIGHT: Final = 68  # cm: no number of adults' clothes is as high
_LOWEST_OF_EU: Final = 32
_LETTERS: Final = "letters"
_WOMEN: Final = """
    eu fr es it uk us letters
    32 34 34 38  4  0 xs
    34 36 36 40  6  2 xs
    36 38 38 42  8  4  s
    38 40 40 44 10  6  s
    40 42 42 46 12  8  m
    42 44 44 48 14 10  m
    44 46 46 50 16 12  l
    46 48 48 52 18 14  l
    48 50 50 54 20 16 xl
    50 52 52 56 22 18 xl
    52 54 54 58 24 20 xxl
    54 56 56 60 26 22 xxl
"""
_MEN: Final = """
    eu fr es it uk us letters
    42 42 42 42 32 32 xs
    44 44 44 44 34 34  s
    46 46 46 46 36 36  s
    48 48 48 48 38 38  m
    50 50 50 50 40 40  m
    52 52 52 52 42 42  l
    54 54 54 54 44 44  l
    56 56 56 56 46 46 xl
    58 58 58 58 48 48 xl
    60 60 60 60 50 50 xxl
    62 62 62 62 52 52 xxl
    64 64 64 64 54 54 xxxl
"""
_WOMENS_JEANS: Final = """
    eu waist
    32 24
    34 25
    34 26
    36 27
    36 28
    38 29
    40 30
    40 31
    42 32
    42 33
    44 34
    46 36
    48 38
"""
_MENS_JEANS: Final = """
    eu waist
    44 28
    44 29
    46 30
    46 31
    48 32
    48 33
    50 34
    52 36
    54 38
    56 40
    58 42
    60 44
"""
# The oldest age in years or months; "-" where nobody uses it.
_CHILDREN: Final = """
    cm months years
    50   1  -
    56   2  -
    62   4  -
    68   6  -
    74   9  -
    80  12  1
    86  18  -
    92  24  2
    98  36  3
    104  -  4
    110  -  5
    116  -  6
    122  -  7
    128  -  8
    134  -  9
    140  - 10
    146  - 11
    152  - 12
    158  - 13
    164  - 14
    170  - 15
    176  - 16
"""
_CLOTHES_OF_WOMEN: Final = ("dress", "evening dress", "wedding dress", "blouse", "skirt")
# Not jeans: their numbers are inches of the waist.
_CLOTHES: Final = (
    *_CLOTHES_OF_WOMEN, "shirt", "t-shirt", "polo shirt", "sweater", "cardigan",
    "sweatshirt", "jacket", "coat", "winter jacket", "down jacket", "raincoat", "blazer",
    "suit", "waistcoat", "trousers", "leggings", "tracksuit", "overalls", "pyjamas",
    "nightdress", "swimsuit", "swimming trunks", "bikini", "bathrobe", "costume", "shorts",
)  # fmt: skip
_SYSTEM_BY_CURRENCY: Final = MappingProxyType(
    {"GBP": "uk", "AUD": "uk", "NZD": "uk", "USD": "us", "CAD": "us"}
)


class ClothingSize(NamedTuple):
    """A size, and the system that counts it; a letter has none."""

    value: str
    system: str | None


def usual_size_system(currency: str, language: str) -> str:
    """Return the system of numbers that name none, in a store with these settings."""
    system_of_language = language if language in COUNTRY_SYSTEMS else "eu"
    return _SYSTEM_BY_CURRENCY.get(currency.upper(), system_of_language)


def is_eu_number(value: str) -> bool:
    """Return whether a number without a system is as high as those of EU are."""
    return value.isdecimal() and int(value) >= _LOWEST_OF_EU


def possible_sizes(
    size: ClothingSize, words: Collection[str], usual_system: str
) -> list[ClothingSize]:
    """Return the sizes of clothes that a size may be, each with its system.

    `words` are those of the query: they say whose clothes are meant, if anything does. A
    plain "size 10" is one of `usual_system`; where that counts no lower than EU, it may be
    of each system that counts so low.
    """
    if size.system is not None:
        return [size]
    if size.value.isdecimal() and int(size.value) >= _LOWEST_PLAIN_HEIGHT:
        return [ClothingSize(size.value, HEIGHT)]
    charts = _charts_for(size, words)
    return list(
        dict.fromkeys(
            candidate
            for chart in charts
            for candidate in _sizes_in_chart(size, chart, usual_system)
        )
    )


def equivalent_sizes(
    sizes: Collection[ClothingSize], words: Collection[str]
) -> list[ClothingSize]:
    """Return the same sizes of clothes in the other systems, all candidates of each."""
    equivalents = [
        other
        for size in sizes
        for chart in _charts_for(size, words)
        for row in chart.get(size, ())
        for other in row
    ]
    return [other for other in dict.fromkeys(equivalents) if other not in sizes]


_Chart = Mapping[ClothingSize, tuple[tuple[ClothingSize, ...], ...]]


def _charts_for(size: ClothingSize, words: Collection[str]) -> list[_Chart]:
    if size.system in CHILD_SYSTEMS:
        return [_parse_chart(_CHILDREN)]
    charts = {"women": _WOMEN, "men": _MEN}
    if jeans().is_named(words) and not clothing().is_named(words):
        charts = {"women": _WOMENS_JEANS, "men": _MENS_JEANS}
    named = {WEARERS[word] for word in words if word in WEARERS}
    if not named and womens_clothing().is_named(words):
        named = {"women"}
    return [_parse_chart(charts[wearer]) for wearer in named or charts]


def _sizes_in_chart(
    size: ClothingSize, chart: _Chart, usual_system: str
) -> list[ClothingSize]:
    """Return the sizes of a chart that a size without a system may be."""
    is_low = usual_system in _LOW_SYSTEMS
    high, low = ("eu", (usual_system,)) if is_low else (usual_system, _LOW_SYSTEMS)
    for systems in ((None,), (high,), low):
        sizes = [ClothingSize(size.value, system) for system in systems]
        if any(candidate in chart for candidate in sizes):
            return sizes
    return []


@memoized(RegisteredCache.CONSTANTS)
def _parse_chart(text: str) -> _Chart:
    """Return the rows of a chart by each of their sizes."""
    heading, *lines = (line.split() for line in text.strip().splitlines())
    rows: dict[ClothingSize, list[tuple[ClothingSize, ...]]] = defaultdict(list)
    for line in lines:
        row = tuple(
            ClothingSize(value, None if system == _LETTERS else system)
            for system, value in zip(heading, line, strict=True)
            if value != "-"
        )
        for size in row:
            rows[size].append(row)
    return MappingProxyType({size: tuple(size_rows) for size, size_rows in rows.items()})


@memoized(RegisteredCache.CONSTANTS)
def clothing() -> ProductWordGroup:
    """Return the products whose sizes are those of clothes."""
    return ProductWordGroup(_CLOTHES)


@memoized(RegisteredCache.CONSTANTS)
def jeans() -> ProductWordGroup:
    """Return the products whose numbers are inches of the waist."""
    return ProductWordGroup(("jeans",))


@memoized(RegisteredCache.CONSTANTS)
def womens_clothing() -> ProductWordGroup:
    """Return the clothes that are named after no wearer, but are those of women."""
    return ProductWordGroup(_CLOTHES_OF_WOMEN)
