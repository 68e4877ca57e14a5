"""Feed reading: the shop's address and time zone, and what is collected while reading."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from productrecs.entrypoints.cli.feeds.column_mapping import ColumnMapping

_MOST_CURRENCIES: Final = 10
_MOST_IGNORED: Final = 200


@dataclass(slots=True)
class FeedReading:
    """The state of reading one file, with what was noticed on the way.

    `address` begins the product addresses of files that have none. `parents` are the
    products of variations, where a file separates them from the variations' rows;
    `lowest` the lowest price of each part of grouped products. `decimals` are the
    decimal marks found in prices. `ignored` are the unused columns.
    """

    address: str
    zone: tzinfo
    now_ms: int
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    separator: str = ","
    made_addresses: bool = False
    currencies: set[str] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    option_names: dict[str, str] = field(default_factory=dict)
    lowest: dict[str, float | None] = field(default_factory=dict)
    decimals: set[str] = field(default_factory=set)
    ignored: dict[str, None] = field(default_factory=dict)  # in their order
    kind: str = ""  # of the file, once it is recognised
    is_untitled: bool = False  # a table without a column of titles
    notes: list[str] = field(default_factory=list)
    odd_dates: int = 0
    odd_date: str = ""
    _noted: set[str] = field(default_factory=set)

    def page(self, path: str) -> str:
        """Return the address of a product's page."""
        self.made_addresses = True
        return self.address + path

    def saw(self, currency: str | None) -> None:
        """Record the currency of a price."""
        if currency is not None and len(self.currencies) < _MOST_CURRENCIES:
            self.currencies.add(currency)

    def ignores(self, names: Iterable[str]) -> None:
        """Record unused columns or fields."""
        for name in names:
            if len(self.ignored) < _MOST_IGNORED and name.strip():
                self.ignored.setdefault(name.strip())

    def note(self, topic: str, text: str) -> None:
        """Record a note for a person, once per topic."""
        if topic not in self._noted:
            self._noted.add(topic)
            self.notes.append(text)

    def saw_odd_date(self, text: str) -> None:
        """Record an unreadable sale date."""
        self.odd_dates += 1
        self.odd_date = self.odd_date or text.strip()
