"""Catalog inputs: each item's kind and variant group, following the catalog."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import numpy as np

from productrecs.core.ids import visitor_hash
from productrecs.engines.arrays import Items
from productrecs.engines.copurchase import VariantGroups
from productrecs.records.catalog.item import size_in_title, variant_key

T = TypeVar("T", int, tuple[str, ...])
_UNKNOWN: Final[tuple[tuple[str, ...], int, int]] = ((), 0, 0)


class CatalogInputs:
    """What training knows of a store's items: their categories and titles' codes."""

    def __init__(self) -> None:
        """Begin with an empty catalog."""
        self.seq = -1
        self._categories: dict[int, tuple[str, ...]] = {}
        self._families: dict[int, int] = {}
        self._sets: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[int, int] = {}
        self._made: tuple[Items, VariantGroups] | None = None

    def take(self, rows: Iterable[tuple[Any, ...]], seq: int) -> None:
        """Go on by rows of (number, present, title, categories) up to a change's number."""
        for number, present, title, categories in rows:
            known = (
                self._categories.get(number, ()),
                self._families.get(number, 0),
                self._sizes.get(number, 0),
            )
            current = _UNKNOWN
            if present:
                key = variant_key(title)
                code = visitor_hash(key) if key else 0
                current = self._set_of(categories), code, size_in_title(title)
            if current != known:  # most changes are of prices and stock
                self._made = None
                _keep(self._categories, number, current[0])
                _keep(self._families, number, current[1])
                _keep(self._sizes, number, current[2])
        self.seq = seq

    @property
    def has_kinds(self) -> bool:
        """Whether any item has a category."""
        return bool(self._categories)

    def kinds(self, n_items: int) -> tuple[Items, VariantGroups]:
        """Return each item's kind [n_items], and which items are one product.

        A kind is the item's category with the fewest items, as a number from 0; -1 for
        none. Items whose titles differ in size or colour alone share a family; 0 for none,
        and for what has no variants. As long as nothing changed they are the same objects.
        """
        if self._made is None or len(self._made[0]) != n_items:
            families = self._numbered_families(n_items)
            sizes = np.zeros(n_items, dtype=np.int32)
            for item, size in self._sizes.items():
                if item < n_items:
                    sizes[item] = size
            self._made = self._numbered(n_items), VariantGroups(families, sizes)
        return self._made

    def _numbered(self, n_items: int) -> Items:
        counts = Counter(name for names in self._categories.values() for name in names)
        narrowest = {
            names: min(names, key=lambda one: (counts[one], one))
            for names in set(self._categories.values())
        }
        used = sorted(set(narrowest.values()))
        numbers = {name: number for number, name in enumerate(used)}
        kinds = np.full(n_items, -1, dtype=np.int32)
        for item, names in self._categories.items():
            if item < n_items:
                kinds[item] = numbers[narrowest[names]]
        return kinds

    def _numbered_families(self, n_items: int) -> Items:
        families = np.zeros(n_items, dtype=np.int32)
        items = array("q", (item for item in sorted(self._families) if item < n_items))
        codes = np.array([self._families[item] for item in items], dtype=np.int64)
        _, where, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        alone = (codes == 0) | (sizes[where] == 1)
        families[np.asarray(items)] = np.where(alone, 0, where + 1)
        return families

    def _set_of(self, categories: str) -> tuple[str, ...]:
        """Return an item's distinct categories; equal ones are one object."""
        found = self._sets.get(categories)
        if found is None:
            found = tuple(dict.fromkeys(json.loads(categories)))
            self._sets[categories] = found
        return found


def _keep(values: dict[int, T], number: int, value: T) -> None:
    """Store an item's value; an empty one is removed, to save memory."""
    if value:
        values[number] = value
    else:
        values.pop(number, None)
