"""Measurement units: their spellings in many languages, numbers, and equal quantities."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

_SPELLINGS: Final = {
    "in": "in inch inches zoll pouce pouces pulgada pulgadas pollice pollici polegada "
    'polegadas tum tomme tommer duim дюим дюима дюимов "',
    "ft": "ft foot feet fuss pied pieds piedi '",
    "yd": "yd yds yard yards",
    "mm": "mm millimeter millimeters millimetre millimetres milimetro milimetros "
    "millimetri милиметр мм",
    "cm": "cm centimeter centimeters centimetre centimetres zentimeter centimetro "
    "centimetros centimetri см",
    "m": "m meter meters metre metres metro metros metri metrow metru м метр метра метров",
    "km": "km kilometer kilometers kilometre kilometres",
    "sqft": "sqft",
    "m2": "m2 sqm qm",
    "cuft": "cuft",
    "m3": "m3 cbm",
    "oz": "oz ounce ounces",
    "lb": "lb lbs pound pounds",
    "mg": "mg milligram milligrams milligramm",
    "g": "g gr gram grams gramm gramme grammes gramo gramos grammi gramas г гр",  # noqa: RUF001 - Russian
    "kg": "kg kilo kilos kilogram kilograms kilogramm kilogrammes kilogramos quilo "
    "quilos кг",
    "ml": "ml milliliter milliliters millilitre millilitres mililitros millilitri мл",
    "cl": "cl centiliter centiliters centilitre centilitres zentiliter",
    "l": "l liter liters litre litres litro litros litri litrow litru л литр литра литров",
    "pt": "pt pint pints",
    "qt": "qt quart quarts",
    "gal": "gal gals gallon gallons",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb megabyte megabytes",
    "gb": "gb gig gigs gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
    "w": "w watt watts vatios вт",
    "kw": "kw kilowatt kilowatts квт",
    "v": "v volt volts voltios",
    "a": "a amp amps ampere amperes",
    "mah": "mah",
    "ah": "ah",
    "hp": "hp horsepower",
    "psi": "psi",
    "rpm": "rpm",
    "btu": "btu btus",
    "lm": "lm lumen lumens",
    "ga": "ga gauge",
    "grit": "grit",
    "hz": "hz hertz",
    "mhz": "mhz megahertz",
    "ghz": "ghz gigahertz",
    "mp": "mp megapixel megapixels",
    "pk": "pk pack packs",
    "pc": "pc pcs piece pieces stuck stuks piezas pezzi pecas szt sztuk ks kusu шт",
    "ct": "ct count",
    "p": "p",
    "k": "k",
    "x": "x",
}
UNITS: Final[Mapping[str, str]] = MappingProxyType(
    {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}
)
"""Spellings of units, in folded letters, mapped to the canonical one."""

# Ambiguous with words and names: a unit only without a preceding blank.
JOINED_ONLY: Final = frozenset({"a", "p", "k", "x", "ct", "count"})

UNIT_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {"fl": "", "fluid": "", "sq": "sq", "square": "sq", "cu": "cu", "cubic": "cu"}
)
"""Modifiers before a unit, with the resulting unit: "sq ft" is sqft, "fl oz" is oz."""

TIMES: Final = frozenset(
    {"x", "\u0445", "\u03c7", "by", "mal", "par", "per", "por", "sur", "на"}
)
"""Separators between the sides of a size: the letter x of three scripts, or a word."""

LENGTHS: Final = frozenset({"mm", "cm", "m", "in", "ft"})
"""Units that may follow a size once, for all of its sides."""

# Units of one quantity, in multiples of the smallest: "0.75 l" is also 750ml and 75cl.
_METRIC: Final = (
    {"mm": 1, "cm": 10, "m": 1000},
    {"ml": 1, "cl": 10, "l": 1000},
    {"g": 1, "kg": 1000},
)
_IMPERIAL: Final = ({"in": 1, "ft": 12}, {"qt": 1, "gal": 4})
# Limits: 0.01 m, 0.125 kg, or 1.25 ft are unusual spellings.
_MIN_EQUIVALENT, _MAX_EQUIVALENT = 0.1, 10_000
_UNIT_FAMILY: Final = {
    unit: (family, parts)
    for families, parts in ((_METRIC, 100), (_IMPERIAL, 1))
    for family in families
    for unit in family
}
_MAX_DIGITS: Final = 15


def normalize_number(text: str) -> str:
    """Return the canonical number: "2,000" is 2000, "1/2" is 0.5, "1,5" is 1.5."""
    whole, slash, part = text.partition("/")
    if len(text) > _MAX_DIGITS:
        return text
    if slash:
        if not whole.isdecimal() or not part.isdecimal() or int(part) == 0:
            return text
        return _format_number(float(Fraction(int(whole), int(part))))
    if "," in text and "." not in text and len(text.rpartition(",")[2]) != 3:  # noqa: PLR2004
        text = text.replace(",", ".", 1)
    text = text.replace(",", "")
    if text.count(".") > 1:
        return text
    return _format_number(float(text)) if "." in text else text


def equivalent_quantities(number: str, unit: str) -> tuple[str, ...]:
    """Return a quantity in the other units of its family that are in common use.

    Feet, quarts and gallons must be whole; litres, metres and kilograms have up to two
    decimals.
    """
    if unit not in _UNIT_FAMILY or not number.replace(".", "", 1).isdecimal():
        return ()
    family, parts = _UNIT_FAMILY[unit]
    amount = Fraction(number) * family[unit]
    return tuple(
        _format_number(float(amount / size)) + other
        for other, size in family.items()
        if other != unit and _MIN_EQUIVALENT <= amount / size < _MAX_EQUIVALENT
        if (amount / size * parts).denominator == 1
    )


def _format_number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
