"""What has happened in the demo shop up to now, and in what shape is it told?"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from operator import itemgetter

from productrecs.entrypoints.demo.assortment import Assortment
from productrecs.entrypoints.demo.catalogue import Product
from productrecs.entrypoints.demo.chance import Weighted
from productrecs.entrypoints.demo.seasons import PEAKS, days_to_shop, hours_to_shop
from productrecs.entrypoints.demo.shoppers import Crowd
from productrecs.entrypoints.demo.visits import Event, Visit, iso

ORDER_COLUMNS = ("order_id", "item_id", "customer_id", "timestamp", "quantity", "price")


@dataclass(frozen=True, slots=True)
class Line:
    """A product in a basket; a negative quantity is a return."""

    product: Product
    quantity: int
    price: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """A basket that was paid for, or a line of one that was sent back."""

    at_ms: int
    customer: str | None
    lines: tuple[Line, ...]


@dataclass(slots=True)
class History:
    """A year of a shop while it is being lived; nothing after `now_ms` is written down."""

    assortment: Assortment
    crowd: Crowd
    days: Sequence[date]
    now_ms: int
    rng: random.Random
    purchases: list[Purchase] = field(default_factory=list)
    _events: list[tuple[int, Event]] = field(default_factory=list)
    _hours: Weighted[int] = field(init=False)
    _seasons: dict[str, Weighted[int]] = field(init=False)

    def __post_init__(self) -> None:
        """Hang up the calendars."""
        self._hours = hours_to_shop()
        self._seasons = {season: days_to_shop(season, self.days) for season in PEAKS}

    def day_in(self, season: str) -> int:
        """Return a day of the history on which a season's things are bought."""
        return self._seasons[season].draw(self.rng)

    def moment(self, day: int) -> int:
        """Return a moment (ms) on a day of the history, at an hour when people shop."""
        midnight = datetime.combine(self.days[day], time.min, UTC)
        hour = self._hours.draw(self.rng) + self.rng.random()
        return int(midnight.timestamp() * 1000) + int(hour * 3_600_000)

    def remember(self, visit: Visit) -> None:
        """Write a visit down, as far as it has happened."""
        self._events += [told for told in visit.events if told[0] <= self.now_ms]

    def sell(self, purchase: Purchase) -> None:
        """Write a purchase down, if it has happened."""
        if purchase.at_ms <= self.now_ms:
            self.purchases.append(purchase)

    def events(self) -> list[Event]:
        """Return all events as objects of `import-events`, oldest first."""
        return [event for _, event in sorted(self._events, key=itemgetter(0))]

    def order_rows(self) -> list[dict[str, str]]:
        """Return all order lines as rows of the order history (4.2), oldest first."""
        in_time = sorted(self.purchases, key=lambda purchase: purchase.at_ms)
        return [
            _row(f"HO-{100_001 + number}", purchase, line)
            for number, purchase in enumerate(in_time)
            for line in purchase.lines
        ]


def _row(order_id: str, purchase: Purchase, line: Line) -> dict[str, str]:
    told = (
        order_id,
        line.product.id,
        purchase.customer or "",
        iso(purchase.at_ms),
        str(line.quantity),
        f"{line.price:.2f}",
    )
    return dict(zip(ORDER_COLUMNS, told, strict=True))
