"""Measurement units: "10 mm", "10mm" and "10 millimetres" become one word."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

_SPELLINGS: Final = {
    "in": 'in inch inches zoll pouces pulgadas pollici "',
    "ft": "ft foot feet '",
    "yd": "yd yard yards",
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers kilometre kilometres",
    "oz": "oz ounce ounces",
    "lb": "lb lbs pound pounds",
    "mg": "mg milligram milligrams",
    "g": "g gr gram grams gramm",
    "kg": "kg kilo kilos kilogram kilograms kilogramm",
    "ml": "ml milliliter milliliters millilitre millilitres",
    "cl": "cl centiliter centilitre",
    "l": "l liter liters litre litres",
    "qt": "qt quart quarts",
    "gal": "gal gallon gallons",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb megabyte megabytes",
    "gb": "gb gig gigs gigabyte gigabytes",
    "tb": "tb terabyte terabytes",
    "w": "w watt watts",
    "kw": "kw kilowatt kilowatts",
    "v": "v volt volts",
    "mah": "mah",
    "hz": "hz hertz",
    "mhz": "mhz megahertz",
    "ghz": "ghz gigahertz",
    "mp": "mp megapixel megapixels",
    "pk": "pk pack packs",
    "pc": "pc pcs piece pieces",
    "ct": "ct count",
    "p": "p",
    "k": "k",
    "x": "x",
}
UNITS: Final[Mapping[str, str]] = MappingProxyType(
    {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}
)
"""Every spelling of a unit, in folded letters, with the one it is kept as."""

# As often a word or a part of a name as a unit: read so only without a preceding blank.
JOINED_ONLY: Final = frozenset({"p", "k", "x", "ct", "count"})
_MOST_DIGITS: Final = 15


def normalized_number(text: str) -> str:
    """Return the one spelling of a number: "2,000" is 2000, "1/2" is 0.5, "1,5" is 1.5."""
    whole, slash, part = text.partition("/")
    if len(text) > _MOST_DIGITS:
        return text
    if slash:
        if not whole.isdecimal() or not part.isdecimal() or int(part) == 0:
            return text
        return _short(float(Fraction(int(whole), int(part))))
    if "," in text and "." not in text and len(text.rpartition(",")[2]) != 3:  # noqa: PLR2004
        text = text.replace(",", ".", 1)
    text = text.replace(",", "")
    if text.count(".") > 1:
        return text
    return _short(float(text)) if "." in text else text


def _short(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
