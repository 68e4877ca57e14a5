"""Of what kind is an item? The category of its own that has the fewest items."""

from collections.abc import Mapping, Sequence


class Narrowest(dict[int, str]):
    """The narrowest category of each item, empty for none; found when first asked for."""

    def __init__(
        self, categories: Sequence[Sequence[str]], members: Mapping[str, Sequence[int]]
    ) -> None:
        """Begin with nothing found: each item's categories, each category's items."""
        super().__init__()
        self._categories, self._members = categories, members

    def __missing__(self, item: int) -> str:
        """Return what was not asked for yet; of equals the first by name."""
        members, names = self._members, self._categories[item]
        name = min(names, key=lambda one: (len(members[one]), one), default="")
        self[item] = name
        return name
