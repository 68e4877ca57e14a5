"""Cart: item ids and quantities in a cookie, which is validated when read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import quote, unquote

from demo_store.storefront.shop_products import ShopProduct, ShopProducts

_MAX_QUANTITY: Final = 99
_MAX_LINES: Final = 40  # a cookie holds 4 KB
_FREE_DELIVERY_FROM: Final = 50.0
_DELIVERY: Final = 4.90


@dataclass(frozen=True, slots=True)
class CartLine:
    """Some units of a product."""

    product: ShopProduct
    quantity: int

    @property
    def price(self) -> float:
        """The price of all units."""
        return round(self.product.price * self.quantity, 2)


class Cart:
    """A shopper's cart, without products that are no longer sold."""

    def __init__(self, products: ShopProducts, quantities: Mapping[str, int]) -> None:
        """Fill the cart with quantities by id."""
        self._products = products
        self._quantities = {
            item_id: min(quantity, _MAX_QUANTITY)
            for item_id, quantity in list(quantities.items())[:_MAX_LINES]
            if quantity > 0 and (product := products.get(item_id)) and product.can_be_bought
        }

    @classmethod
    def read(cls, products: ShopProducts, cookie: str) -> Self:
        """Return the cart of a cookie; invalid parts are ignored."""
        quantities = {}
        for part in unquote(cookie).split("|"):
            item_id, _, quantity = part.rpartition("*")
            if quantity.isdecimal() and len(quantity) < 4:  # noqa: PLR2004 - up to 999
                quantities[item_id] = int(quantity)
        return cls(products, quantities)

    def cookie(self) -> str:
        """Return the cookie that `read` reads."""
        quantities = self._quantities.items()
        text = "|".join(f"{item_id}*{quantity}" for item_id, quantity in quantities)
        return quote(text, safe="*-")

    def with_added(self, item_id: str, added: int) -> "Cart":
        """Return the cart with `added` units of a product, or fewer when it is negative."""
        return self.with_quantity(item_id, self._quantities.get(item_id, 0) + added)

    def with_quantity(self, item_id: str, quantity: int) -> "Cart":
        """Return the cart with exactly this quantity of a product; 0 removes it."""
        return Cart(self._products, {**self._quantities, item_id: quantity})

    @property
    def lines(self) -> list[CartLine]:
        """The lines in the order of addition."""
        return [
            CartLine(product, self._quantities[product.id])
            for product in self._products.visible_products(self._quantities)
        ]

    @property
    def item_ids(self) -> list[str]:
        """The ids of the products, in the order of addition."""
        return list(self._quantities)

    @property
    def count(self) -> int:
        """The number of units."""
        return sum(self._quantities.values())

    @property
    def total(self) -> float:
        """The price of all products."""
        return round(sum(line.price for line in self.lines), 2)

    @property
    def delivery(self) -> float:
        """The price of the delivery."""
        return 0.0 if self.total >= _FREE_DELIVERY_FROM else _DELIVERY
