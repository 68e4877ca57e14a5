"""With what in mind is a feed read? The shop's addresses, zone and hour."""

from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from productrecs.entrypoints.cli.feeds.mapping import ColumnMapping

_MOST_CURRENCIES: Final = 10


@dataclass(slots=True)
class Reading:
    """One reading of one file; what is noticed on the way is kept in it.

    `address` begins the addresses of products, for files that have none. `parents` are
    the products of variations, where a file tells them apart from the variations' rows.
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

    def page(self, path: str) -> str:
        """Return the address of a product's page."""
        self.made_addresses = True
        return self.address + path

    def saw(self, currency: str | None) -> None:
        """Note that a price was in this currency."""
        if currency is not None and len(self.currencies) < _MOST_CURRENCIES:
            self.currencies.add(currency)
