"""Cart: item ids and quantities in a cookie, which is validated when read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from demo_store.storefront.shop_items import ShopItem, ShopItems

COOKIE: Final = "demo_cart"
MAX_QUANTITY: Final = 99
LINES: Final = 40  # a cookie holds 4 KB


@dataclass(frozen=True, slots=True)
class CartLine:
    """Some units of a product."""

    shop_item: ShopItem
    quantity: int

    @property
    def sum(self) -> float:
        """The price of all units."""
        return round(self.shop_item.price * self.quantity, 2)


class Cart:
    """A shopper's cart, without products that are no longer sold."""

    def __init__(self, goods: ShopItems, quantities: Mapping[str, int]) -> None:
        """Fill the cart with quantities by id."""
        self._goods = goods
        self._quantities = {
            item_id: min(quantity, MAX_QUANTITY)
            for item_id, quantity in list(quantities.items())[:LINES]
            if quantity > 0
            and (shop_item := goods.get(item_id))
            and shop_item.can_be_bought
        }

    @classmethod
    def read(cls, goods: ShopItems, cookie: str) -> "Cart":
        """Return the cart of a cookie; invalid parts are ignored."""
        quantities = {}
        for part in cookie.split("|"):
            item_id, _, quantity = part.rpartition("*")
            if quantity.isdecimal() and len(quantity) < 4:  # noqa: PLR2004 - up to 999
                quantities[item_id] = int(quantity)
        return cls(goods, quantities)

    def put(self, item_id: str, added: int) -> "Cart":
        """Return the cart with `added` units of a product, or fewer when it is negative."""
        quantities = {**self._quantities, item_id: self._quantities.get(item_id, 0) + added}
        return Cart(self._goods, quantities)

    def with_quantity(self, item_id: str, quantity: int) -> "Cart":
        """Return the cart with exactly this quantity of a product; 0 removes it."""
        return Cart(self._goods, {**self._quantities, item_id: quantity})

    @property
    def lines(self) -> list[CartLine]:
        """The lines in the order of addition."""
        found = self._goods.some(self._quantities)
        return [CartLine(shop_item, self._quantities[shop_item.id]) for shop_item in found]

    @property
    def count(self) -> int:
        """The number of units."""
        return sum(self._quantities.values())

    @property
    def total(self) -> float:
        """The total price."""
        return round(sum(line.sum for line in self.lines), 2)

    def cookie(self) -> str:
        """Return the cookie that `read` reads."""
        return cookie_text(self._quantities.items())


def cookie_text(units: Iterable[tuple[str, int]]) -> str:
    """Return ids and quantities as a cookie's value."""
    return quote(
        "|".join(f"{item_id}*{quantity}" for item_id, quantity in units), safe="*-"
    )
