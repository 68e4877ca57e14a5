"""Currency digits: how many digits after the point a currency has (ISO 4217)."""

from typing import Final

_USUAL: Final = 2
_NONE: Final = frozenset(
    {
        *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX"),
        *("UYI", "VND", "VUV", "XAF", "XOF", "XPF"),
    }
)
_THREE: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def digits_after_point(currency: str) -> int:
    """Return the digits after the point of a currency, by its code."""
    return 0 if currency in _NONE else 3 if currency in _THREE else _USUAL
