"""Feed read state: what the readers of one file share, and their notes for the report."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from productrecs.features.imports.feeds.column_mapping import ColumnMapping

_MAX_CURRENCIES: Final = 10
_MAX_IGNORED: Final = 200


@dataclass(slots=True)
class FeedReadState:
    """The state of reading one file, with notes for the report.

    `address` is the base of product URLs for files without them. `parents` are the
    products of variations, where a file separates them from the variations' rows;
    `lowest` the lowest price of each part of grouped products. `decimals` are the
    decimal marks found in prices, `currency` is the store's. `titles` are the
    file's names of its columns by ours, `ignored` the unused columns.
    """

    address: str
    zone: tzinfo
    now_ms: int
    each_variant: bool = False
    mapping: ColumnMapping | None = None
    separator: str = ","
    currency: str = ""
    has_built_urls: bool = False
    currencies: set[str] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    option_names: dict[str, str] = field(default_factory=dict)
    lowest: dict[str, float | None] = field(default_factory=dict)
    decimals: set[str] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, None] = field(default_factory=dict)  # in their order
    kind: str = ""  # of the file, once detected
    is_untitled: bool = False  # a table without a column of titles
    notes: list[str] = field(default_factory=list)
    unreadable_dates: int = 0
    unreadable_date: str = ""
    _topics: set[str] = field(default_factory=set)

    def build_url(self, path: str) -> str:
        """Return an address on the store's host, and record that addresses were built."""
        self.has_built_urls = True
        return self.address + path

    def add_currency(self, currency: str | None) -> None:
        """Record the currency of a price."""
        if currency is not None and len(self.currencies) < _MAX_CURRENCIES:
            self.currencies.add(currency)

    def add_ignored_columns(self, names: Iterable[str]) -> None:
        """Record unused columns or fields."""
        for name in names:
            if len(self.ignored) < _MAX_IGNORED and name.strip():
                self.ignored.setdefault(name.strip())

    def add_note_once(self, topic: str, text: str) -> None:
        """Record a note for a person, once per topic."""
        if topic not in self._topics:
            self._topics.add(topic)
            self.notes.append(text)

    def add_unreadable_date(self, text: str) -> None:
        """Record an unreadable sale date."""
        self.unreadable_dates += 1
        self.unreadable_date = self.unreadable_date or text.strip()
