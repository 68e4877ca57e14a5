"""Pictures of the guides: their names and sizes. `tools/screenshot.py` makes them."""

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Final

PICTURES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "forecast.webp": (860, 314),
        "look.webp": (868, 674),
        "search.webp": (900, 620),
        "widgets.webp": (868, 273),
    }
)
"""Width and height of each picture in pixels, by the name of its file."""


def read_picture(name: str) -> bytes:
    """Return the file of one of `PICTURES`."""
    return (resources.files(__package__) / "pictures" / name).read_bytes()
