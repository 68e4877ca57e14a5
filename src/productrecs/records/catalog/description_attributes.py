"""Attributes (brand, colour, ...): stored as the last paragraph of the description.

Items have no fields for them. Search reads the whole description and so finds them there;
shoppers are shown only the part before them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_MARK: Final = "Attributes: "
_LAST: Final = re.compile(rf"(?:\A|\n\n){_MARK}[^\n]*\Z")
_LONGEST: Final = 2_000


def append_attributes(
    description: str | None, attributes: Mapping[str, Sequence[str]], longest: int
) -> str:
    """Return a description of at most `longest` characters that ends with attributes.

    Attributes that it ends with already are replaced.
    """
    prose = strip_attributes(description or "")
    text = "; ".join(f"{name}: {', '.join(values)}" for name, values in attributes.items())
    line = f"{_MARK}{' '.join(text.split())}"[:_LONGEST]
    prose = prose[: longest - len(line) - 2].rstrip()
    return f"{prose}\n\n{line}" if prose else line


def strip_attributes(description: str) -> str:
    """Return what a description says without the attributes at its end."""
    return _LAST.sub("", description)
