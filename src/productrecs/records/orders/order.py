"""Order: as a store's server or storefront sends it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NewOrderLine:
    """One line of an order; a `quantity` of None is unknown, never fabricated.

    `price` is of one unit, `total` the line's revenue, both in the order's currency.
    """

    item_id: str
    quantity: int | None = None
    price: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class NewOrder:
    """One order with its lines, in the order they were sent; one item may stand on two."""

    order_id: str
    lines: tuple[NewOrderLine, ...]
    user_id: str | None = None
    session_id: str | None = None
    currency: str | None = None

    @property
    def shopper(self) -> str | None:
        """The customer when known, else the session, else None."""
        return self.user_id or self.session_id


def line_total(price: float | None, quantity: int | None) -> float | None:
    """Return a line's revenue when none was sent: price x units, an unknown count as 1.

    None without a price.
    """
    return None if price is None else price * (quantity or 1)
