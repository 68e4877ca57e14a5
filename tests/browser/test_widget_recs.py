"""A shop's page with one script and one element shows products, and counts what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import WAIT_MS, watched
from tests.support.service import HOST, Merchant, Service
from tests.support.web import Pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

PRODUCTS = "product-recs >> a[part=link]"


@pytest.fixture(scope="module")
def shop() -> Iterator[Pages]:
    """Give the pages of a shop; tests put theirs in."""
    with Pages({}) as shop:
        yield shop


@pytest.fixture(scope="module")
def store(service: Service, shop: Pages) -> Merchant:
    """Return a store of twelve products."""
    merchant = service.register()
    origin = shop.origin()
    items = [
        {"id": f"p{n}", "title": f"Tent {n}", "price": n, "product_url": f"{origin}/p{n}"}
        for n in range(12)
    ]
    assert merchant.push(*items).status == 200
    return merchant


def script(service: Service, store: Merchant) -> str:
    address = f"http://{HOST}:{service.port}/widget/v1/{store.account.domain}.js"
    return (
        "<!doctype html><meta charset=utf-8><title>Shop</title><link rel=icon href=data:,>"
        f"<script async src={address}></script>"
    )


def test_one_script_and_one_element_show_products(
    page: Page, service: Service, shop: Pages, store: Merchant
) -> None:
    key = store.account.publishable
    element = f"<product-recs data-key={key} data-item-id=p1></product-recs>"
    shop.pages["/"] = script(service, store) + element
    watch = watched(page)

    page.goto(shop.origin())

    expect(page.locator(PRODUCTS)).to_have_count(8, timeout=WAIT_MS)
    hrefs = {one.get_attribute("href") for one in page.locator(PRODUCTS).all()}
    assert f"{shop.origin()}/p1" not in hrefs
    assert watch.complaints == []
