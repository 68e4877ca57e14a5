"""Checkout of a real shop: a visitor buys by the classic page or the Store API."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.plugin.real.visitor import Visitor

ADDRESS: Final = {
    "first_name": "A",
    "last_name": "B",
    "country": "DE",
    "state": "DE-BE",
    "address_1": "X 1",
    "city": "Berlin",
    "postcode": "10115",
    "phone": "030123456",
    "email": "guest@example.com",
}


@dataclass(frozen=True)
class Checkout:
    """A way to buy: `prepare` fills the cart and returns a form, `place` sends the form."""

    prepare: Callable[[Visitor, str, int, str], dict[str, Any]]
    place: Callable[[Visitor, dict[str, Any]], int | None]

    def buy(self, visitor: Visitor, page: str, product: int, method: str) -> int | None:
        """Buy two of a product; return the order, None when it was not placed."""
        return self.place(visitor, self.prepare(visitor, page, product, method))


def _fill_classic(visitor: Visitor, page: str, product: int, method: str) -> dict[str, Any]:
    visitor.post("/", {"add-to-cart": str(product), "quantity": "2"})
    html = visitor.get(page)
    nonce = re.findall(r'name="woocommerce-process-checkout-nonce" value="(\w+)"', html)
    fields = {f"billing_{name}": value for name, value in ADDRESS.items()}
    return fields | {
        "payment_method": method,
        "woocommerce-process-checkout-nonce": nonce[0],
    }


def _place_classic(visitor: Visitor, fields: dict[str, Any]) -> int | None:
    said = visitor.post("/?wc-ajax=checkout", fields)
    match = re.search(r"order-received[=\\/]+(\d+)", said)
    return int(match[1]) if match else None


def _fill_store_api(
    visitor: Visitor, _page: str, product: int, method: str
) -> dict[str, Any]:
    added = visitor.rest(
        "POST", "/wc/store/v1/cart/add-item", {"id": product, "quantity": 2}
    )
    assert added.get("items"), added
    shipping = {name: value for name, value in ADDRESS.items() if name != "email"}
    return {
        "billing_address": ADDRESS,
        "shipping_address": shipping,
        "payment_method": method,
    }


def _place_store_api(visitor: Visitor, body: dict[str, Any]) -> int | None:
    said = visitor.rest("POST", "/wc/store/v1/checkout", body)
    status = said.get("payment_result", {}).get("payment_status")
    return int(said["order_id"]) if status in {"success", "pending"} else None


CHECKOUTS: Final[Mapping[str, Checkout]] = {
    "classic": Checkout(_fill_classic, _place_classic),
    "store-api": Checkout(_fill_store_api, _place_store_api),
}
