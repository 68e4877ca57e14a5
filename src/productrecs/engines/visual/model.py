"""Visual model: the embedding space, vectors and neighbours of all pictures of a store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import (
    NO_RANKED,
    Bools,
    Ints,
    Items,
    Ranked,
)
from productrecs.engines.visual.image_transforms import Floats
from productrecs.engines.visual.nearest_neighbours import (
    ImageVectors,
    NeighbourTable,
    nearest_items,
    nearest_items_batch,
    visible_mask,
)


@dataclass(frozen=True, slots=True)
class VisualModel:
    """Memory-mapped arrays, shared between processes; item queries are table lookups."""

    pictured: ImageVectors
    neighbours: NeighbourTable
    floor: float  # similarity of unrelated pictures
    digests: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Digest of each row's file, 0 if unknown; empty in older releases."""

    @classmethod
    def empty(cls) -> "VisualModel":
        """Return the model of a store without pictures."""
        nothing = ImageVectors(
            np.zeros((0, 1), np.float32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
        )
        none = NeighbourTable(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
        return cls(nothing, none, 0.0)

    def __len__(self) -> int:
        """Return how many items have a picture."""
        return len(self.pictured.items)

    def row_of(self, item: int) -> int | None:
        """Return the row of an item; None when it has no picture."""
        items = self.pictured.items
        row = int(items.searchsorted(item)) if len(items) else 0
        return row if row < len(items) and int(items[row]) == item else None

    def similar_to_item(self, item: int) -> Ranked:
        """Return the items similar to one, best first; none if it has no picture."""
        row = self.row_of(item)
        if row is None:
            return NO_RANKED
        rows, scores = self.neighbours
        count = int((rows[row] >= 0).sum())
        return Ranked(self.pictured.items[rows[row, :count]], scores[row, :count])

    def mark(self, item: int) -> int:
        """Return a number that changes with `similar_to_item`; 0 without a picture."""
        row = self.row_of(item)
        if row is None:
            return 0
        rows, scores = self.neighbours
        count = int((rows[row] >= 0).sum())
        items = self.pictured.items[rows[row, :count]]
        return hash((items.tobytes(), scores[row, :count].tobytes()))

    def similar_to_item_exhaustive(self, item: int, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most similar to one, by a full search."""
        row = self.row_of(item)
        if row is None:
            return NO_RANKED
        found = nearest_items(self.pictured, self.pictured.vectors[row], limit + 1, visible)
        shown = (found.items != item) & (found.scores > self.floor)
        return Ranked(found.items[shown][:limit], found.scores[shown][:limit])

    def similar_to_vectors(
        self, queries: Floats, limit: int, visible: Bools | None = None
    ) -> list[Ranked]:
        """Return for each unit vector of `queries`, [n, d], the most similar items."""
        return nearest_items_batch(self.pictured, queries, limit, visible)

    def items_with_digest(self, digest: int, visible: Bools) -> Items:
        """Return the visible items whose picture file has this digest."""
        rows = np.flatnonzero((self.digests == digest) & (self.digests != 0))
        items = self.pictured.items[rows]
        return items[visible_mask(visible, items)]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        return {
            "vectors": self.pictured.vectors,
            "items": self.pictured.items,
            "kinds": self.pictured.kinds,
            "prices": self.pictured.prices,
            "near_rows": self.neighbours.rows,
            "near_scores": self.neighbours.scores,
            "floor": np.array([self.floor], np.float32),
            "digests": self.digests,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "VisualModel":
        """Return a stored model.

        Raises:
            KeyError: when an array is missing.
        """
        items: Items = arrays["items"]
        pictured = ImageVectors(arrays["vectors"], items, arrays["kinds"], arrays["prices"])
        neighbours = NeighbourTable(arrays["near_rows"], arrays["near_scores"])
        digests = arrays.get("digests", np.zeros(0, np.int64))
        return cls(pictured, neighbours, float(arrays["floor"][0]), digests)
