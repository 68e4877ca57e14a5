"""Store history: the simulated purchases and events up to now, as orders and event rows."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from operator import itemgetter

from demo_store.assortment import Assortment
from demo_store.departments import DemoProduct
from demo_store.random_choice import WeightedChoice
from demo_store.seasonality import PEAKS, shopping_day_choice, shopping_hour_choice
from demo_store.shoppers import ShopperPopulation
from demo_store.simulated_visit import (
    CURRENCY,
    Event,
    SimulatedSearch,
    SimulatedVisit,
    identity_fields,
)
from productrecs.core.clock import DAY_MS
from productrecs.core.timestamps import iso

TEST_DAYS = 120
"""The time since the start of the holdout test."""
ORDER_COLUMNS = ("order_id", "item_id", "customer_id", "timestamp", "quantity", "price")


@dataclass(frozen=True, slots=True)
class BasketLine:
    """A product in a basket; a negative quantity is a return."""

    product: DemoProduct
    quantity: int
    price: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """A paid basket, or a returned line."""

    at_ms: int
    customer: str | None
    session: str | None
    lines: tuple[BasketLine, ...]

    @property
    def is_return(self) -> bool:
        """Whether it is a return."""
        return self.lines[0].quantity < 0


@dataclass(frozen=True, slots=True)
class HoldoutExposure:
    """A visitor's first exposure in the holdout test under one id, and the arm."""

    identity: str
    unit: str
    is_held_out: bool
    first_ms: int


@dataclass(slots=True)
class StoreHistory:
    """A year of a shop's purchases and events; nothing after `now_ms` is recorded.

    `is_held_out` assigns a visitor to an arm of the holdout test, which runs to the end.
    """

    assortment: Assortment
    shoppers: ShopperPopulation
    days: Sequence[date]
    now_ms: int
    rng: random.Random
    is_held_out: Callable[[str], bool]
    purchases: list[Purchase] = field(default_factory=list)
    searches: list[SimulatedSearch] = field(default_factory=list)
    _events: list[tuple[int, Event]] = field(default_factory=list)
    _exposures: dict[str, HoldoutExposure] = field(default_factory=dict)
    _hours: WeightedChoice[int] = field(init=False)
    _seasons: dict[str, WeightedChoice[int]] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the calendars."""
        self._hours = shopping_hour_choice()
        self._seasons = {season: shopping_day_choice(season, self.days) for season in PEAKS}

    def random_day(self, season: str) -> int:
        """Return a random day of the history on which a season's products sell."""
        return self._seasons[season].draw(self.rng)

    def random_time(self, day: int) -> int:
        """Return a random shopping time (ms) on a day of the history."""
        midnight = datetime.combine(self.days[day], time.min, UTC)
        hour = self._hours.draw(self.rng) + self.rng.random()
        return int(midnight.timestamp() * 1000) + int(hour * 3_600_000)

    def record_exposure_to_lists(self, visit: SimulatedVisit) -> bool:
        """Record the exposure of a visit; return whether its visitor sees lists."""
        now_ms, unit = visit.now_ms, visit.unit
        if not self.now_ms - TEST_DAYS * DAY_MS <= now_ms <= self.now_ms:
            return True
        is_held_out = self.is_held_out(unit)
        for name in visit.identities:
            earlier = self._exposures.get(name)
            if earlier is None or earlier.first_ms > now_ms:
                self._exposures[name] = HoldoutExposure(name, unit, is_held_out, now_ms)
        return not is_held_out

    def add_visit(self, visit: SimulatedVisit) -> None:
        """Record the events of a visit up to now."""
        self._events += [event for event in visit.events if event[0] <= self.now_ms]
        self.searches += [event for event in visit.searches if event.at_ms <= self.now_ms]

    def exposures(self) -> list[HoldoutExposure]:
        """Return the exposures of the holdout test, each id once."""
        return sorted(
            self._exposures.values(),
            key=lambda exposure: (exposure.first_ms, exposure.identity),
        )

    def add_purchase(self, purchase: Purchase) -> None:
        """Record a purchase, unless it is in the future."""
        if purchase.at_ms <= self.now_ms:
            self.purchases.append(purchase)

    def events(self) -> list[Event]:
        """Return all events with their `timestamp`, oldest first, purchases included."""
        buy_events = [
            (purchase.at_ms, _buy_event(order_id, purchase, line))
            for order_id, purchase in self._numbered_orders()
            if not purchase.is_return
            for line in purchase.lines
        ]
        rows = sorted((*self._events, *buy_events), key=itemgetter(0))
        return [event for _, event in rows]

    def order_rows(self) -> list[dict[str, str]]:
        """Return all order lines as rows of an order history (4.2), oldest first."""
        return [
            _order_row(order_id, purchase, line)
            for order_id, purchase in self._numbered_orders()
            for line in purchase.lines
        ]

    def _numbered_orders(self) -> list[tuple[str, Purchase]]:
        purchases = sorted(self.purchases, key=lambda purchase: purchase.at_ms)
        return [
            (f"HO-{100_001 + number}", purchase)
            for number, purchase in enumerate(purchases)
        ]


def _buy_event(order_id: str, purchase: Purchase, line: BasketLine) -> Event:
    return {
        "event": "buy",
        "item_id": line.product.id,
        "order_id": order_id,
        "value": round(line.price * line.quantity, 2),
        "currency": CURRENCY,
        "quantity": line.quantity,
        **identity_fields(purchase.customer, purchase.session),
        "timestamp": iso(purchase.at_ms),
    }


def _order_row(order_id: str, purchase: Purchase, line: BasketLine) -> dict[str, str]:
    fields = (
        order_id,
        line.product.id,
        purchase.customer or "",
        iso(purchase.at_ms),
        str(line.quantity),
        f"{line.price:.2f}",
    )
    return dict(zip(ORDER_COLUMNS, fields, strict=True))
