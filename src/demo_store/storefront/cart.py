"""Cart: item ids and quantities in a cookie, which is validated when read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from demo_store.storefront.shop_items import ShopItem, ShopItems

COOKIE: Final = "demo_cart"
MOST: Final = 99
LINES: Final = 40  # a cookie holds 4 KB


@dataclass(frozen=True, slots=True)
class CartLine:
    """Some units of a product."""

    good: ShopItem
    quantity: int

    @property
    def sum(self) -> float:
        """The price of all units."""
        return round(self.good.price * self.quantity, 2)


class Cart:
    """A shopper's cart, without products that are no longer sold."""

    def __init__(self, goods: ShopItems, wanted: Mapping[str, int]) -> None:
        """Fill the cart with quantities by id."""
        self._goods = goods
        self._wanted = {
            item_id: min(quantity, MOST)
            for item_id, quantity in list(wanted.items())[:LINES]
            if quantity > 0 and (good := goods.get(item_id)) and good.can_be_bought
        }

    @classmethod
    def read(cls, goods: ShopItems, cookie: str) -> "Cart":
        """Return the cart of a cookie; invalid parts are ignored."""
        wanted = {}
        for part in cookie.split("|"):
            item_id, _, quantity = part.rpartition("*")
            if quantity.isdecimal() and len(quantity) < 4:  # noqa: PLR2004 - up to 999
                wanted[item_id] = int(quantity)
        return cls(goods, wanted)

    def put(self, item_id: str, more: int) -> "Cart":
        """Return the cart with `more` units of a product, or fewer when it is negative."""
        wanted = {**self._wanted, item_id: self._wanted.get(item_id, 0) + more}
        return Cart(self._goods, wanted)

    def with_just(self, item_id: str, quantity: int) -> "Cart":
        """Return the cart with exactly this quantity of a product; 0 removes it."""
        return Cart(self._goods, {**self._wanted, item_id: quantity})

    @property
    def lines(self) -> list[CartLine]:
        """The lines in the order of addition."""
        found = self._goods.some(self._wanted)
        return [CartLine(good, self._wanted[good.id]) for good in found]

    @property
    def count(self) -> int:
        """The number of units."""
        return sum(self._wanted.values())

    @property
    def total(self) -> float:
        """The total price."""
        return round(sum(line.sum for line in self.lines), 2)

    def cookie(self) -> str:
        """Return the cookie that `read` reads."""
        return written(self._wanted.items())


def written(units: Iterable[tuple[str, int]]) -> str:
    """Return ids and quantities as a cookie's value."""
    return quote(
        "|".join(f"{item_id}*{quantity}" for item_id, quantity in units), safe="*-"
    )
