"""Of what kind is each item, and of which is it a variant? The catalog, read on."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import numpy as np

from productrecs.core.shopper import visitor_code
from productrecs.engines.contract import Items
from productrecs.records.catalog.variants import variant_key

T = TypeVar("T", int, tuple[str, ...])
_UNKNOWN: Final[tuple[tuple[str, ...], int]] = ((), 0)


class CatalogInputs:
    """What training knows of a store's items: their categories and titles' codes."""

    def __init__(self) -> None:
        """Begin with an empty catalog."""
        self.seq = -1
        self._categories: dict[int, tuple[str, ...]] = {}
        self._families: dict[int, int] = {}
        self._sets: dict[str, tuple[str, ...]] = {}
        self._made: tuple[int, Items, Items] | None = None

    def take(self, rows: Iterable[tuple[Any, ...]], seq: int) -> None:
        """Go on by rows of (number, present, title, categories) up to a change's number."""
        for number, present, title, categories in rows:
            known = self._categories.get(number, ()), self._families.get(number, 0)
            told = _UNKNOWN
            if present:
                key = variant_key(title)
                told = self._set_of(categories), visitor_code(key) if key else 0
            if told != known:  # most changes are of prices and stock
                self._made = None
                _keep(self._categories, number, told[0])
                _keep(self._families, number, told[1])
        self.seq = seq

    @property
    def has_kinds(self) -> bool:
        """Whether any item has a category."""
        return bool(self._categories)

    def kinds(self, n_items: int) -> tuple[Items, Items]:
        """Return each item's kind and family, both [n_items].

        A kind is the item's category with the fewest items, as a number from 0; -1 for
        none. Items whose titles differ in size or colour alone share a family; 0 for none,
        and for what has no variants. As long as nothing changed they are the same objects.
        """
        if self._made is None or self._made[0] != n_items:
            self._made = (n_items, *self._numbered(n_items))
        return self._made[1:]

    def _numbered(self, n_items: int) -> tuple[Items, Items]:
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
        return kinds, self._numbered_families(n_items)

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


def _keep(told: dict[int, T], number: int, value: T) -> None:
    """Keep an item's value, unless it is empty: most items have none of many things."""
    if value:
        told[number] = value
    else:
        told.pop(number, None)
