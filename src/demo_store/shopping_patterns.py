"""Shopping patterns: bundles bought together, repeat purchases and tastes.

They are read from `shopping_patterns.txt`.
"""

from dataclasses import dataclass
from importlib import resources
from typing import Final

_BUNDLE_PROBABILITIES: Final = (0.92, 0.68, 0.45, 0.3, 0.22)
_REPEAT_PROBABILITIES: Final = (0.97, 0.6, 0.35)


@dataclass(frozen=True, slots=True)
class DemoBundle:
    """Products bought for one purpose, each with the probability of being in the basket.

    `share` is the frequency of this bundle relative to the others.
    """

    season: str
    share: float
    item_probabilities: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RepeatPurchase:
    """Consumables bought about every `every_days`, each with its own probability."""

    every_days: int
    share: float
    item_probabilities: tuple[tuple[str, float], ...]


def _read_parts(text: str) -> list[list[list[str]]]:
    """Return the fields of each line, by part of the file."""
    parts = [part.splitlines()[1:] for part in text.split("\n== ")[1:]]
    return [[line.split(" | ") for line in part if line] for part in parts]


_bundles, _repeats, _personas = _read_parts(
    (resources.files(__package__) / "shopping_patterns.txt").read_text("utf-8")
)
BUNDLES: Final = tuple(
    DemoBundle(
        season,
        float(share),
        tuple(zip(item_ids.split(), _BUNDLE_PROBABILITIES, strict=False)),
    )
    for season, share, item_ids in _bundles
)
REPEAT_PURCHASES: Final = tuple(
    RepeatPurchase(
        int(every_days),
        float(share),
        tuple(zip(item_ids.split(), _REPEAT_PROBABILITIES, strict=False)),
    )
    for every_days, share, item_ids in _repeats
)
PATTERN_ITEM_IDS: Final = frozenset(
    item_id for *_, item_ids in (*_bundles, *_repeats) for item_id in item_ids.split()
)
"""The products of all bundles and repeat purchases."""

PERSONAS: Final = tuple(
    (float(share), tuple(shelves.split())) for share, shelves in _personas
)
"""The frequency of each kind of shopper, and the preferred shelves, best first."""
