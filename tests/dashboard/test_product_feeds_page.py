"""Product feeds page: off until switched on; then addresses, and what the feeds held."""

import re

import pytest

from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import eventually

PAGE = "/dashboard/imports/product-feeds"


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store with a product for feeds, and one without a picture."""
    services = office.services
    domain = f"feeds-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    page = "https://shop.example/p"
    made.merchant.push(
        {"id": "tent", "title": "Tent", "price": 9, "product_url": page, "image_url": page},
        {"id": "bare", "title": "Bare", "price": 9, "product_url": page},
        {"id": "old", "title": "Old", "availability": "discontinued"},
    )
    return made


def test_a_switched_on_feed_opens_and_its_page_says_what_it_held(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    before = member.get(PAGE)
    assert "The feeds are off" in text_of(before)
    assert b"signature=" not in before.body

    assert member.post(PAGE, on="1").status == 303

    shown = member.get(PAGE)
    addresses = re.findall(r"/product-feeds/[^\s<]+", shown.body.decode())
    assert [address.partition("?")[0].rpartition("/")[2] for address in addresses] == [
        "google.xml",
        "meta.csv",
        "openai.jsonl",
    ]
    assert "Not fetched in the last 30 days" in text_of(shown)
    look = {"sec-fetch-mode": "navigate"}  # of the merchant, with a browser
    assert shop.merchant.client.ask("GET", addresses[0], None, look).status == 200
    for address in addresses:
        assert b"tent" in shop.merchant.client.ask("GET", address, None, {}).body
    eventually(lambda: text_of(member.get(PAGE)).count("Fetched 1 time in") == 3, 5)
    held = text_of(member.get(PAGE))
    assert held.count("with 1 product.") == 3
    assert "1 product of your 3 is in no feed" in " ".join(held.split())
    assert held.count("no picture at an http or https address") == 3

    assert member.post(PAGE, on="").status == 303
    assert "The feeds are off" in text_of(member.get(PAGE))
    assert shop.merchant.client.ask("GET", addresses[0], None, {}).status == 404
