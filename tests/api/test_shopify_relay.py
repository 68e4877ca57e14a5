"""Shopify relay of the guide: signed webhooks become items and orders of the service."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from productrecs.features.guides.developer_guide_index import GUIDES
from productrecs.features.guides.developer_guide_rendering import guide_source
from tests.api import stored
from tests.support.guides import blocks
from tests.support.service import HOST, Merchant, Service, eventually, free_port
from tests.support.web import Pages

SECRET = "the-key-below-the-webhooks"
GUIDE = next(guide for guide in GUIDES if guide.slug == "shopify")
RELAY = next(
    one.text for one in blocks(guide_source(GUIDE)) if "timingSafeEqual" in one.text
)
LISTED = {  # as /products.json shows a product
    "id": 632910392,
    "title": "Trail shirt",
    "handle": "trail-shirt",
    "body_html": "<p>Light &amp; fast.</p>",
    "published_at": "2026-01-02T03:04:05-04:00",
    "vendor": "Acme",
    "product_type": "Shirts",
    "tags": ["summer"],
    "variants": [
        {"id": 1, "sku": "TS-M", "available": False, "price": "19.00"},
        {"id": 2, "sku": "TS-L", "available": True, "price": "25.00"},
    ],
    "images": [{"id": 9, "src": "https://cdn.example/ts.jpg"}],
}
GONE = LISTED | {"id": 7, "handle": "gone"}
SENT: dict[str, Any] = {  # as a webhook has one
    "id": 8023425712345,
    "title": "Mug",
    "handle": "mug",
    "body_html": None,
    "published_at": "2026-01-02T03:04:05-04:00",
    "status": "active",
    "vendor": "Acme",
    "product_type": "",
    "category": {"full_name": "Home > Kitchen"},
    "variants": [
        {
            "id": 3,
            "sku": "MUG",
            "barcode": "4006381333931",
            "price": "8.50",
            "compare_at_price": "12.50",
            "inventory_management": "shopify",
            "inventory_policy": "deny",
            "inventory_quantity": 4,
        }
    ],
    "images": [],
}
ORDER = {
    "id": 5982911946154,
    "name": "#1001",
    "currency": "EUR",
    "customer": {"id": 7310627314723},
    "note_attributes": [{"name": "_pr_sid", "value": "s_anna1"}],
    "line_items": [
        {"product_id": 632910392, "variant_id": 2, "quantity": 1, "price": "25.00"},
        {"product_id": SENT["id"], "variant_id": 3, "quantity": 2, "price": "8.50"},
        {"product_id": None, "title": "Tip", "quantity": 1, "price": "1.00"},
    ],
}


class Shopify:
    """The webhooks of a shop, sent to a relay on `port`."""

    def __init__(self, port: int) -> None:
        """Send to `port`."""
        self._port = port

    def send(self, topic: str, payload: object, secret: str = SECRET) -> int:
        """Return the status of the relay's reply."""
        body = json.dumps(payload).encode()
        digest = hmac.new(secret.encode(), body, hashlib.sha256).digest()
        connection = http.client.HTTPConnection(HOST, self._port, timeout=20)
        with contextlib.closing(connection):
            signed = {"X-Shopify-Hmac-Sha256": base64.b64encode(digest).decode()}
            connection.request("POST", "/", body, signed | {"X-Shopify-Topic": topic})
            return connection.getresponse().status

    def is_answered(self) -> bool:
        """Return whether the relay listens."""
        try:
            return self.send("shop/update", {}) == http.HTTPStatus.OK
        except OSError:
            return False


@pytest.fixture
def shopify(service: Service, merchant: Merchant, tmp_path: Path) -> Iterator[Shopify]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = tmp_path / "relay.mjs"
    script.write_text(RELAY.replace("{base_url}", f"http://{HOST}:{service.port}"))
    port = free_port()
    (tmp_path / "handles.json").write_text('{"7": "gone"}')
    listed = {"/products.json": json.dumps({"products": [LISTED]})}
    with Pages(listed) as pages:
        relay = subprocess.Popen(
            [node, str(script)],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "SHOP_URL": f"http://{HOST}:{pages.port}",
                "SHOPIFY_SECRET": SECRET,
                "SK": merchant.account.secret,
                "PORT": str(port),
            },
        )
        try:
            fake_shopify = Shopify(port)
            eventually(fake_shopify.is_answered)
            yield fake_shopify
        finally:
            relay.kill()
            relay.wait()


def test_webhooks_become_items_and_orders(
    shopify: Shopify, service: Service, merchant: Merchant, tmp_path: Path
) -> None:
    assert merchant.push({"id": "gone", "title": "Gone"}).status == 200
    eventually(lambda: "trail-shirt" in (tmp_path / "handles.json").read_text())

    assert shopify.send("products/create", SENT) == 200
    assert shopify.send("orders/paid", ORDER) == 200
    assert shopify.send("orders/paid", ORDER) == 200  # Shopify sends some twice
    assert shopify.send("orders/paid", ORDER | {"name": "#1002"}, "another") == 401

    shirt = stored.item(service, merchant, "trail-shirt")
    assert (shirt.price, shirt.sku) == (25.0, "TS-L")
    assert (shirt.description, shirt.categories) == ("Light & fast.", ("Shirts",))
    mug = stored.item(service, merchant, "mug")
    assert (mug.price, mug.list_price, mug.stock_qty) == (8.5, 12.5, 4)
    assert (mug.gtin, mug.brand) == ("4006381333931", "Acme")
    assert mug.categories == ("Home", "Home > Kitchen")
    lines = stored.line_rows(service, merchant)
    assert [(one["order_id"], one["item"]) for one in lines] == [
        ("#1001", "trail-shirt"),
        ("#1001", "mug"),
    ]


def test_a_renamed_product_and_a_deleted_one_leave_the_catalog(
    shopify: Shopify, merchant: Merchant, tmp_path: Path
) -> None:
    assert shopify.send("products/update", SENT) == 200
    assert shopify.send("products/update", SENT | {"handle": "cup"}) == 200
    eventually(lambda: "trail-shirt" in (tmp_path / "handles.json").read_text())
    assert shopify.send("products/delete", {"id": LISTED["id"]}) == 200

    assert merchant.delete("mug").status == 404
    assert merchant.delete("trail-shirt").status == 404
    assert merchant.delete("cup").status == 200
