"""Variant groups: products that differ only in size and colour."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Items = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class CatalogVariantGroups:
    """The variant groups of a catalog, as they were when this was made."""

    def __init__(self, labels: Sequence[int], differences: Sequence[int]) -> None:
        """Group the items of one label, 0 for none, if they have different differences.

        Products of one title, size and colour are no variants of each other.
        """
        self._labels = np.array(labels, np.int64)
        item_differences = np.array(differences, np.int64)
        self._order = np.lexsort((item_differences, self._labels))
        self._sorted = self._labels[self._order]
        sorted_differences = item_differences[self._order]
        is_variant = (self._sorted[1:] == self._sorted[:-1]) & (
            sorted_differences[1:] != sorted_differences[:-1]
        )
        groups = np.unique(self._sorted[1:][is_variant])
        groups = groups[groups != 0]
        self._labels[~np.isin(self._labels, groups)] = 0
        self.is_empty = not len(groups)

    def groups_of(self, items: Items) -> Items:
        """Return the group of each item; 0 for those without variants."""
        if self.is_empty:
            return np.zeros(len(items), np.int64)
        known = items < len(self._labels)
        return np.where(known, self._labels.take(items, mode="clip"), 0)

    def mask_first_of_each_group(self, items: Items) -> Mask:
        """Return a mask of `items`: the first one of each group, and those without."""
        if self.is_empty:
            return np.ones(len(items), np.bool_)
        groups = self.groups_of(items)
        mask: Mask = groups == 0
        mask[np.unique(groups, return_index=True)[1]] = True
        return mask

    def members(self, group: int) -> Items:
        """Return the items of a group."""
        begin, end = np.searchsorted(self._sorted, [group, group + 1])
        return self._order[begin:end]


NO_GROUPS: Final = CatalogVariantGroups((), ())
