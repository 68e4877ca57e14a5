"""CORS preflights: a shop's page never causes one, over a whole visit.

The page calls as interface 4.1 says that widgets do: parameters in the address, bodies as
plain text, by fetch and by beacon. Between browser and service stands a relay, so that what
is counted is what the service saw.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser

from productrecs.storage.sql.tables import events, purchase_lines
from tests.support.browser import watched
from tests.support.service import Merchant, Service, eventually
from tests.support.web import Pages, Relay

# What widgets do, in plain JavaScript: `replies` holds each reply, or why there is none.
SCRIPT = """<!doctype html><meta charset=utf-8><title>Shop</title>
<link rel=icon href=data:,>
<script>
const {base, key} = Object.fromEntries(new URLSearchParams(location.search));
const sid = localStorage.pr_sid ??= "s_" + Array.from(
  crypto.getRandomValues(new Uint8Array(12)), one => one.toString(36)).join("");
const address = (path, query) => base + path + "?" + new URLSearchParams({...query, key});
const replies = [];
async function ask(name, path, query = {}, body = undefined, options = {}) {
  const how = body === undefined ? {} : {method: "POST", body: JSON.stringify(body)};
  try {
    const reply = await fetch(address(path, query), {...how, ...options});
    replies.push({name, status: reply.status, said: await reply.json()});
  } catch (error) {
    replies.push({name, status: 0, said: String(error)});
  }
}
const beacon = (...events) => navigator.sendBeacon(
  address("/v1/events"), JSON.stringify(events.map(one => ({...one, session_id: sid}))));
const track = (event, options) => ask(
  event.event, "/v1/events", {}, {...event, session_id: sid}, options);
const keepalive = {keepalive: true};
const typed = {headers: {"content-type": "text/plain;charset=UTF-8"}};
</script>"""
HOME = """<script>
async function journey() {
  await ask("config", "/v1/widget-config", {type: "recs"});
  await ask("trending", "/v1/trending", {num: 3, user_id: sid});
  await ask("search", "/v1/search", {q: "tent", num: 3});
  await track({event: "search-pref", search_query: "tent"});
}
</script>"""
PRODUCT = """<script>
async function journey() {
  await ask("recommendations", "/v1/recommendations", {item_id: "tent", user_id: sid});
  await track({event: "detail-page-view", item_id: "tent"}, typed);
  beacon({event: "rec-impression", item_ids: ["stove", "rope"],
          sources: ["category", "trending"], positions: [1, 2], widget: "recs"});
  await track({event: "rec-click", item_id: "stove", source: "category", position: 1},
              keepalive);
}
</script>"""
CART = """<script>
async function journey() {
  await ask("fbt", "/v1/recommendations", {item_ids: "tent,stove", source: "buy"});
  await ask("browse", "/v1/recommendations", {source: "browse", user_id: sid});
  await track({event: "add-to-cart", item_id: "tent", value: 149, currency: "EUR"});
}
</script>"""
THANKS = """<script>
async function journey() {
  await ask("order", "/v1/orders", {}, {order_id: "A-1", session_id: sid,
    items: [{item_id: "tent", quantity: 1, price: 149}, {item_id: "stove"}]});
  beacon({event: "buy", item_id: "tent", order_id: "A-1", value: 149});
}
</script>"""
ASKING_FIRST = {
    "a body of another type": (
        'ask("json", "/v1/events", {}, {event: "detail-page-view", item_id: "a", '
        'session_id: sid}, {headers: {"content-type": "application/json"}})'
    ),
    "the key as a header": 'ask("head", "/v1/trending", {}, undefined, {headers: '
    '{"x-pub-key": key}})',
}
JOURNEY = {"/": HOME, "/product": PRODUCT, "/cart": CART, "/thanks": THANKS}
SHOP, STRANGER = "shop.example", "elsewhere.example"


@dataclass
class World:
    """A shop's pages and the wire to the service, around one store."""

    shop: Pages
    relay: Relay
    merchant: Merchant

    def address(self, host: str, path: str) -> str:
        """Return the address of a page of the shop, as it is seen at `host`."""
        key = self.merchant.account.publishable
        query = urlencode({"base": self.relay.address, "key": key})
        return f"{self.shop.origin(host)}{path}?{query}"


@pytest.fixture
def world(service: Service, merchant: Merchant) -> Iterator[World]:
    """Give the pages of a shop whose catalog holds three products."""
    names = ("tent", "stove", "rope")
    catalog = [{"id": one, "title": one, "categories": ["Camping"]} for one in names]
    assert merchant.push(*catalog).status == 200
    pages = {path: SCRIPT + script for path, script in JOURNEY.items()}
    with Pages(pages) as shop, Relay(service.port) as relay:
        yield World(shop, relay, merchant)


def travel(browser: Browser, world: World, host: str) -> dict[str, Any]:
    """Walk through the shop as one visitor; return the reply to each call, by its name."""
    replies: dict[str, Any] = {}
    with browser.new_context() as context:
        page = context.new_page()
        for path in JOURNEY:
            watched(page)
            page.goto(world.address(host, path))
            found = page.evaluate("journey().then(() => replies)")
            replies |= {one["name"]: one for one in found}
        sessions = page.evaluate("localStorage.pr_sid")
        assert sessions.startswith("s_")
    return replies


def stored(service: Service, merchant: Merchant) -> tuple[int, int]:
    """Return how many events and lines of orders a store has."""
    with service.database() as database, database.reading() as connection:
        counts = [
            connection.execute(
                sa.select(sa.func.count())
                .select_from(table)
                .where(table.c.store_id == merchant.account.store_id)
            ).scalar_one()
            for table in (events, purchase_lines)
        ]
    return counts[0], counts[1]


EVENTS, LINES = 6, 2  # a search, a view, an impression of two, a click, a cart; an order


@pytest.mark.parametrize("allowed", ["any", "listed"])
def test_a_journey_from_an_allowed_origin_asks_nothing_first(
    browser: Browser, service: Service, world: World, allowed: str
) -> None:
    if allowed == "listed":
        origin = world.shop.origin(SHOP)
        service.run("origins", world.merchant.account.domain, "--add", origin)

    replies = travel(browser, world, SHOP)

    assert {name: one["status"] for name, one in replies.items()} == dict.fromkeys(
        replies, 200
    )
    assert replies["recommendations"]["said"]["recommendations"] != []
    assert replies["fbt"]["said"] == {"recommendations": []}
    assert replies["config"]["said"]["type"] == "recs"
    assert replies["order"]["said"]["items_ingested"] == LINES
    eventually(lambda: stored(service, world.merchant) == (EVENTS, LINES))
    eventually(lambda: len(world.relay.seen) == len(replies) + 2)  # and two beacons
    assert "OPTIONS" not in world.relay.methods()
    assert {one.status for one in world.relay.seen} == {200}


def test_a_journey_from_another_origin_asks_nothing_first_and_reads_nothing(
    browser: Browser, service: Service, world: World
) -> None:
    origin = world.shop.origin(SHOP)
    service.run("origins", world.merchant.account.domain, "--add", origin)

    replies = travel(browser, world, STRANGER)

    assert {one["status"] for one in replies.values()} == {0}
    assert all("Failed to fetch" in one["said"] for one in replies.values())
    eventually(lambda: len(world.relay.seen) == len(replies) + 2)
    assert "OPTIONS" not in world.relay.methods()
    assert {one.status for one in world.relay.seen} == {200}  # served, and not readable
    assert stored(service, world.merchant) == (EVENTS, LINES)


@pytest.mark.parametrize("name", ASKING_FIRST)
def test_control_a_call_that_must_ask_first_is_seen(
    browser: Browser, world: World, name: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(world.address(SHOP, "/"))
        (reply,) = page.evaluate(f"{ASKING_FIRST[name]}.then(() => replies)")

    # Both are answered all the same: OPTIONS is 200 on every widget path.
    assert world.relay.methods() == ["OPTIONS", world.relay.methods()[-1]]
    assert (world.relay.seen[0].status, reply["status"]) == (200, 200)
    assert "access-control-request-headers" in world.relay.seen[0].headers


def test_bodies_come_as_plain_text(browser: Browser, world: World) -> None:
    travel(browser, world, SHOP)

    posted = [one for one in world.relay.seen if one.method == "POST"]
    kinds = {one.headers["content-type"].lower() for one in posted}
    assert kinds == {"text/plain;charset=utf-8"}
    assert all(json.loads(one.body) for one in posted)
    assert all(one.headers["origin"] == world.shop.origin(SHOP) for one in posted)
