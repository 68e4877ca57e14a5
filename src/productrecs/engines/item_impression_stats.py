"""Item impression statistics: impressions, clicks and the exploration weight of items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.engines.arrays import Arrays, Floats, Ints


NEW_ITEM_IMPRESSIONS: Final = 100  # impressions at which an item is no longer new
EXAMINED_UNIT: Final = 1_000_000
_EXAMINATION: Final = (
    0.8  # position bias: place p is examined p ** -0.8 times as often as the first
)
_MAX_PLACE: Final = 50
_UNKNOWN_PLACE: Final = 3
_PRIOR_IMPRESSIONS: Final = 20.0  # weight of the prior, in impressions
_PRIOR_CLICKS, _PRIOR_EXAMINED = 1.0, 50.0  # prior of a store without impressions
_EXPLORATION_POWER: Final = 3.0
_STORED_FIELDS: Final = ("shown", "examined", "clicks")


def _no_counts() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class ItemStats:
    """Impressions and clicks of each item; arrays by item number, [n_items]."""

    shown: Ints = field(default_factory=_no_counts)  # impressions
    examined: Ints = field(
        default_factory=_no_counts
    )  # expected examinations, in millionths
    clicks: Ints = field(default_factory=_no_counts)

    total_examined: float = field(init=False, default=0.0)  # sum over all items
    all_clicks: int = field(init=False, default=0)
    total: int = field(init=False, default=0)  # impressions

    def __post_init__(self) -> None:
        """Precompute the sums: arrays of a large store are long."""
        examined = int(self.examined.sum()) / EXAMINED_UNIT
        object.__setattr__(self, "total_examined", examined)
        object.__setattr__(self, "all_clicks", int(self.clicks.sum()))
        object.__setattr__(self, "total", int(self.shown.sum()))

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the statistics of named arrays; empty for a model without them."""
        return cls(**{name: arrays[name] for name in _STORED_FIELDS if name in arrays})

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return its arrays by name."""
        return {name: getattr(self, name) for name in _STORED_FIELDS}

    def resized(self, n_items: int) -> ItemStats:
        """Return the same for at least `n_items` items."""
        return ItemStats(*self._resized(n_items))

    def plus(self, rows: Sequence[tuple[bool, int, int | None, int]]) -> ItemStats:
        """Return the sum with rows of (was clicked, item, place from 1 or None, count).

        The order and the grouping of rows do not matter.
        """
        if not rows:
            return self
        was_clicked, numbers, places, counts = zip(*rows, strict=True)
        items, row_counts = np.array(numbers, np.int64), np.array(counts, np.int64)
        examination_by_place = {place: _examination_share(place) for place in set(places)}
        examined_units = row_counts * np.array(
            [examination_by_place[place] for place in places], np.int64
        )
        is_click = np.array(was_clicked, np.bool_)
        shown, examined, clicks = self._resized(1 + int(items.max()))
        np.add.at(clicks, items[is_click], row_counts[is_click])
        np.add.at(shown, items[~is_click], row_counts[~is_click])
        np.add.at(examined, items[~is_click], examined_units[~is_click])
        return ItemStats(shown, examined, clicks)

    def _resized(self, n_items: int) -> list[Ints]:
        added = max(n_items - len(self.shown), 0)
        return [np.pad(getattr(self, name), (0, added)) for name in _STORED_FIELDS]

    def are_new(self, items: Ints) -> npt.NDArray[np.bool_]:
        """Return which items were shown fewer than a hundred times."""
        return self._counts_of(self.shown, items) < NEW_ITEM_IMPRESSIONS

    def exploration_weights(self, items: Ints, category_items: Ints) -> Floats:
        """Return the exploration weight of each item, above 0; only ratios are meaningful.

        The prior is the click rate of the items `category_items`, worth twenty impressions.
        The weight is the third power of mean plus one standard deviation: a closed form
        that approximates Thompson sampling.
        """
        store_rate = (self.all_clicks + _PRIOR_CLICKS) / (
            self.total_examined + _PRIOR_EXAMINED
        )
        examined = (
            self._counts_of(self.examined, category_items).sum() / EXAMINED_UNIT
            + _PRIOR_IMPRESSIONS
        )
        prior_rate = min(
            (
                self._counts_of(self.clicks, category_items).sum()
                + _PRIOR_IMPRESSIONS * store_rate
            )
            / examined,
            0.5,
        )
        clicks = self._counts_of(self.clicks, items)
        unclicked = np.maximum(
            self._counts_of(self.examined, items) / EXAMINED_UNIT - clicks, 0.0
        )
        trial_count = clicks + unclicked + _PRIOR_IMPRESSIONS
        mean = (clicks + _PRIOR_IMPRESSIONS * prior_rate) / trial_count
        deviation = np.sqrt(mean * (1.0 - mean) / (trial_count + 1.0))
        weights: Floats = (mean + deviation) ** _EXPLORATION_POWER
        return weights

    @staticmethod
    def _counts_of(counts: Ints, items: Ints) -> Ints:
        """Return the counts of items; 0 for unknown items."""
        item_counts = np.zeros(len(items), np.int64)
        is_known = items < len(counts)
        item_counts[is_known] = counts[items[is_known]]
        return item_counts


def _examination_share(place: int | None) -> int:
    """Return the probability that a place is examined, in millionths."""
    position = min(max(place or _UNKNOWN_PLACE, 1), _MAX_PLACE)
    return int(0.5 + EXAMINED_UNIT / float(position) ** _EXAMINATION)
