"""Written numbers: reads decimal points and commas, as people and files write them."""

import math
import re
from typing import Final

NUMERAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_DECORATION: Final = re.compile(r"[\s\u00a0\u202f'\u2019$€£¥]+")
_MINUS: Final = "\u2212"
_POINTED: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_COMMAED: Final = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*|\.\d{3})", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d*,\d+", re.ASCII)
_CURRENCIES: Final = frozenset("$€£¥")
_AMBIGUOUS: Final = re.compile(r"[1-9]\d{0,2}[.,]\d{3}", re.ASCII)


def normalise_number(text: str, cell_separator: str) -> str:
    """Return `text` with a decimal point and without thousands marks, if it is a number.

    In `1,234` the comma is decimal unless commas separate the file's cells: writers of
    decimal commas do not separate cells by commas.
    """
    stripped = _DECORATION.sub("", text).replace(_MINUS, "-")
    if _POINTED.fullmatch(stripped) and (
        "." in stripped or stripped.count(",") > 1 or cell_separator == ","
    ):
        return stripped.replace(",", "")
    if _COMMAED.fullmatch(stripped) or _DECIMAL_COMMA.fullmatch(stripped):
        return stripped.replace(".", "").replace(",", ".")
    return stripped if NUMERAL.fullmatch(stripped) or not stripped else text


def parse_typed_number(text: str) -> float:
    """Return a finite number that somebody typed, such as 19.90, 19,90 or 1.299,00.

    Raises:
        ValueError: when it is none, or has a currency.
    """
    numeral = normalise_number(text, "")
    value = float(numeral) if NUMERAL.fullmatch(numeral) else math.nan
    if not math.isfinite(value) or _CURRENCIES & set(text):
        message = f"{text[:40]!r} is not a number"
        raise ValueError(message)
    return value


def typed_amount(value: float | None) -> str:
    """Return an amount as `parse_typed_amount` reads it, with all its digits."""
    if value is None:
        return ""
    text = f"{value:.12g}"
    return f"{text}0" if _AMBIGUOUS.fullmatch(text) else text


def parse_typed_amount(text: str) -> float:
    """Return an amount of money that somebody typed.

    Raises:
        ValueError: when it is no number, or when 1.234 may be one or a thousand.
    """
    if _AMBIGUOUS.fullmatch(text.strip()):
        message = f"{text[:40]!r} may be a thousand or not"
        raise ValueError(message)
    return parse_typed_number(text)
