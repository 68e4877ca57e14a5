"""Does a real shop agree with the service, product by product and order by order?

`WOO_SHOP_DIR` is the folder of a shop in which the plugin is active and connected, and
`WOO_SHOP_URL` its address. The test changes products and places an order through Store API.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import urllib.request
from typing import Any

import pytest

from tests.plugin.shop import run_php

URL = os.environ.get("WOO_SHOP_URL", "").rstrip("/")
FOLDER = os.environ.get("WOO_SHOP_DIR", "")
pytestmark = pytest.mark.skipif(
    not (URL and FOLDER), reason="set WOO_SHOP_URL and WOO_SHOP_DIR to a shop of your own"
)
ADDRESS = {
    "first_name": "A",
    "last_name": "B",
    "country": "DE",
    "address_1": "X 1",
    "address_2": "",
    "company": "",
    "state": "",
    "city": "Berlin",
    "postcode": "10115",
    "phone": "030123456",
    "email": "guest@example.com",
}
RUN = "for ($i = 0; $i < 9; $i++) { ActionScheduler_QueueRunner::instance()->run('test'); }"


def in_real_shop(script: str) -> Any:
    """Run a script in the shop and return its `$told`."""
    host = URL.partition("//")[2]
    said = run_php(
        f"ini_set('display_errors', '0'); $_SERVER['HTTP_HOST'] = '{host}'; require '{FOLDER}/wp-load.php';"
        f"{script} echo '<<<' . json_encode($told);"
    )
    return json.loads(said.rpartition("<<<")[2])


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ("$p->set_regular_price(77); $p->save(); $p->save();", False),
        ("wc_update_product_stock($p, 5);", False),
        ("wp_update_post(array('ID' => $p->get_id(), 'post_status' => 'private'));", True),
        ("wp_trash_post($p->get_id());", True),
        ("wp_delete_post($p->get_id(), true);", True),
    ],
    ids=["edit", "stock", "private", "trash", "delete"],
)
def test_a_change_reaches_the_service(change: str, gone: bool) -> None:  # noqa: FBT001
    told = in_real_shop(
        f"""$p = new WC_Product_Simple(); $p->set_name('Probe'); $p->set_regular_price(9);
        $p->set_manage_stock(true); $p->set_stock_quantity(3); $p->set_status('publish');
        $p->save(); $id = $p->get_id(); ProductRecs\\Sync::flush(); {RUN}
        {change} ProductRecs\\Sync::flush(); {RUN}
        $again = ProductRecs\\Api::call('DELETE', '/v1/items/' . $id);
        wp_delete_post($id, true); $told = $again->status;"""
    )

    assert told == (404 if gone else 200)


def test_an_order_of_the_store_api_is_in_the_service_once() -> None:
    product = in_real_shop(
        """$p = new WC_Product_Simple(); $p->set_name('Probe'); $p->set_regular_price(9);
        $p->set_virtual(true); $p->set_status('publish'); $told = $p->save();"""
    )
    shopper = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    cart = shopper.open(f"{URL}/?rest_route=/wc/store/v1/cart")
    headers = {"Content-Type": "application/json", "Nonce": cart.headers["Nonce"]}

    def post(path: str, body: dict[str, Any]) -> Any:
        target = f"{URL}/?rest_route=/wc/store/v1/{path}"
        asked = urllib.request.Request(target, json.dumps(body).encode(), headers)  # noqa: S310
        return json.loads(shopper.open(asked).read())

    post("cart/add-item", {"id": product, "quantity": 2})
    shipping = {name: value for name, value in ADDRESS.items() if name != "email"}
    order = post(
        "checkout",
        {"billing_address": ADDRESS, "shipping_address": shipping, "payment_method": "cod"},
    )["order_id"]

    body, duplicate = in_real_shop(
        f"""{RUN} $order = wc_get_order({order}); $body = ProductRecs\\Orders::body($order);
        $reply = ProductRecs\\Api::call('POST', '/v1/orders', $body);
        wp_delete_post({product}, true); $told = array($body, $reply->json['duplicate']);"""
    )

    assert duplicate is True
    assert body["items"] == [
        {"item_id": str(product), "quantity": 2, "price": 9, "total": 18}
    ]
