"""Narrowest category: of an item's categories the one with the fewest items."""

from collections.abc import Mapping, Sequence


class NarrowestCategories(dict[int, str]):
    """The narrowest category of each item, empty for none; computed on first access."""

    def __init__(
        self, categories: Sequence[tuple[str, ...]], members: Mapping[str, Sequence[int]]
    ) -> None:
        """Begin with nothing found: each item's categories, each category's items."""
        super().__init__()
        self._categories, self._members = categories, members
        self._of_all: dict[tuple[str, ...], str] = {}

    def __missing__(self, item: int) -> str:
        """Compute and store an item's narrowest category; ties go to the first name."""
        names = self._categories[item]
        name = self._of_all.get(names)
        if name is None:
            members = self._members
            name = min(names, key=lambda one: (len(members[one]), one), default="")
            self._of_all[names] = name
        self[item] = name
        return name
