"""Product feeds over HTTP: signed, off by default, and only what pages show."""

import gzip
import json
from collections.abc import Mapping

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.product_feed_export.feed_entries import FeedFormat
from productrecs.features.product_feed_export.feed_fetches.repository import (
    ExportedFeedFetches,
    ExportedFeedFetchRepository,
)
from tests.support.service import Merchant, Reply, Service, eventually, switch_on_feed


@pytest.fixture(scope="module")
def merchant(service: Service) -> Merchant:
    """Return a store whose feeds are on, with two variants and a product to leave out."""
    created = service.register()
    path = switch_on_feed(created.account)
    product = {
        "product_url": "/p/one",
        "image_url": "https://shop.example/i.jpg",
        "price": 20,
        "cost": 5,
        "brand": "Hill",
    }
    pushed = created.push(
        product | {"id": "shirt-s", "title": "Linen shirt", "size": ["S"]},
        product | {"id": "tent", "title": "Tent for two", "stock_qty": 0},
        product | {"id": "shirt-l", "title": "Linen shirt", "size": ["L"]},
        product | {"id": "bare", "title": "No picture", "image_url": None},
        product | {"id": "gone", "title": "Gone", "availability": "discontinued"},
    )
    assert pushed.status == 200
    assert fetch(created, path).status == 200  # at once
    return created


def fetch(merchant: Merchant, path: str, headers: Mapping[str, str] | None = None) -> Reply:
    return merchant.client.ask("GET", path, None, dict(headers or {}))


def fetches(service: Service, merchant: Merchant) -> dict[FeedFormat, ExportedFeedFetches]:
    with service.database() as database, database.reading() as connection:
        repository = ExportedFeedFetchRepository(
            connection, StoreId(merchant.account.store_id)
        )
        return repository.recent_fetches_by_feed(system_ms())


def test_a_feed_has_what_pages_show_and_its_fetch_is_counted(
    service: Service, merchant: Merchant
) -> None:
    path = switch_on_feed(merchant.account, FeedFormat.OPENAI)

    reply = fetch(merchant, path)

    assert reply.status == 200
    assert reply.header("content-type") == "application/jsonl"
    products = [json.loads(line) for line in reply.body.decode().splitlines()]
    ids = [[variant["id"] for variant in product["variants"]] for product in products]
    assert ids == [["shirt-s", "shirt-l"], ["tent"]]
    assert products[0]["url"] == f"https://{merchant.account.domain}/p/one"
    assert b"cost" not in reply.body
    eventually(lambda: FeedFormat.OPENAI in fetches(service, merchant))
    fetched = fetches(service, merchant)[FeedFormat.OPENAI]
    assert (fetched.fetches, fetched.last.products) == (1, 3)
    assert [*fetched.last.left_out.values()] == [["bare"]]


@pytest.mark.parametrize("feed", list(FeedFormat))
def test_an_unchanged_feed_is_not_sent_again(merchant: Merchant, feed: FeedFormat) -> None:
    path = switch_on_feed(merchant.account, feed)
    first = fetch(merchant, path, {"accept-encoding": "gzip"})
    tag = first.header("etag") or ""

    again = fetch(merchant, path, {"if-none-match": tag})

    assert b"shirt-l" in gzip.decompress(first.body)
    assert again.status in {304, 200}  # 200 if an hour began in between
    if again.status == 304:
        assert not again.body


def test_only_the_right_signature_of_a_feed_that_is_on_opens_it(
    service: Service, merchant: Merchant
) -> None:
    path = switch_on_feed(merchant.account, FeedFormat.GOOGLE)
    signature = path.partition("signature=")[2]
    other = service.register()
    off = switch_on_feed(other.account)
    service.run("settings", other.account.domain, "product_feeds=false")
    domain = merchant.account.domain
    refused = [
        off,
        switch_on_feed(merchant.account, FeedFormat.META).replace("meta.csv", "google.xml"),
        f"/product-feeds/{other.account.domain}/google.xml?signature={signature}",
        f"/product-feeds/{domain}/google.xml",
        f"/product-feeds/{domain}/google.xml?signature=%C3%A9",
        f"/product-feeds/{domain}/other.xml?signature={signature}",
        f"/product-feeds/nowhere.example/google.xml?signature={signature}",
    ]

    eventually(lambda: fetch(merchant, off).status == 404)
    replies = [fetch(merchant, address) for address in refused]

    assert fetch(merchant, path).status == 200
    assert [reply.status for reply in replies] == [404] * len(refused)
    assert {reply.json["code"] for reply in replies} == {"feed_unknown"}
