"""GET of items and orders: a shop's server reads back what the service has stored."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, system_ms
from productrecs.core.timestamps import iso, parse_timestamp
from tests.api.routes import upload
from tests.api.stored import line_rows
from tests.support.service import Merchant, Reply, Service, eventually

STRANGE: Final = "a/b ü\n%2F?"


def read(merchant: Merchant, path: str, **query: object) -> Reply:
    target = f"{path}?{urlencode(query)}" if query else path
    return merchant.client.ask("GET", target, None, merchant.server)


def pages(merchant: Merchant, path: str, **query: object) -> Iterator[list[Any]]:
    cursor: dict[str, object] = {}
    while True:
        reply = read(merchant, path, **query, **cursor)
        assert reply.status == 200, reply
        yield reply.json["items"]
        if reply.json["next"] is None:
            return
        cursor = {"cursor": reply.json["next"]}


def public_order(merchant: Merchant, order_id: str, *items: str, **fields: object) -> Reply:
    lines = [{"item_id": item} for item in items]
    body = json.dumps({"order_id": order_id, "items": lines, **fields}).encode()
    return merchant.client.ask("POST", merchant.target("/v1/orders"), body)


def test_an_item_reads_back_as_it_was_pushed(merchant: Merchant) -> None:
    sent = {
        "id": STRANGE,
        "title": "Tent",
        "price": 149,
        "cost": 80.5,
        "categories": ["Camping > Tents"],
        "availability": "instock",
        "attributes": {"season": ["3"]},
        "prices": {"USD": {"price": 145, "list_price": 150}},
    }
    assert merchant.push(sent).status == 200

    reply = read(merchant, f"/v1/items/{quote(STRANGE, safe='')}")

    assert reply.status == 200, reply
    assert {name: reply.json[name] for name in sent} == sent | {"availability": "in_stock"}
    assert reply.json["brand"] is None
    assert merchant.push(
        {name: one for name, one in reply.json.items() if not name.endswith("_at")}
    ).json == {"ok": True, "created": 0, "updated": 1, "total": 1}


def test_deleted_and_unknown_ids_are_404(merchant: Merchant) -> None:
    merchant.push({"id": "gone"})
    merchant.delete("gone")
    merchant.track({"event": "detail-page-view", "item_id": "seen", "session_id": "s_1"})

    replies = [read(merchant, f"/v1/items/{one}") for one in ("gone", "seen", "never")]
    replies.append(read(merchant, "/v1/orders/never"))

    assert [(one.status, one.json["code"]) for one in replies] == [
        *[(404, "item_unknown")] * 3,
        (404, "order_unknown"),
    ]
    assert read(merchant, "/v1/items").json == {"items": [], "next": None}


@pytest.mark.parametrize("path", ["/v1/items", "/v1/orders"])
def test_pages_hold_each_id_once(merchant: Merchant, path: str) -> None:
    ids = [f"{number:03}" for number in range(25)]
    if path == "/v1/items":
        merchant.push(*({"id": one} for one in ids))
    else:
        for one in ids:
            merchant.order(one, "tent", "rope", "tent")
    key = "id" if path == "/v1/items" else "order_id"

    whole = [one[key] for page in pages(merchant, path, limit=10) for one in page]
    bare = list(pages(merchant, path, limit=10, fields="id"))

    assert sorted(whole) == ids
    assert [len(page) for page in bare] == [10, 10, 5]
    assert sorted(one for page in bare for one in page) == ids


@pytest.mark.parametrize("path", ["/v1/items", "/v1/orders"])
def test_updated_after_leaves_out_what_did_not_change(
    merchant: Merchant, path: str
) -> None:
    def store(one: str, price: int) -> None:
        if path == "/v1/items":
            assert merchant.push({"id": one, "price": price}).status == 200
        else:
            assert merchant.order(one, {"item_id": "tent", "price": price}).status == 200

    store("old", 1)
    moment = iso(system_ms())
    time.sleep(0.01)
    store("new", 1)

    listed = [list(pages(merchant, path, fields="id", updated_after=moment))]
    listed.append(list(pages(merchant, path, fields="id", updated_after="2001-01-01")))

    assert listed == [
        [["new"]],
        [["old", "new"] if path == "/v1/items" else ["new", "old"]],
    ]


def test_an_order_reads_back_with_who_what_and_when(merchant: Merchant) -> None:
    day = iso(system_ms() - DAY_MS)
    lines = [
        {"item_id": "tent", "quantity": 1, "price": 149.0, "total": 140.0},
        {"item_id": "rope", "quantity": None, "price": None, "total": None},
        {"item_id": "tent", "quantity": 2, "price": 149.0, "total": 298.0},
    ]
    who = {"user_id": "c-7", "session_id": "s_1", "currency": "USD"}
    assert merchant.order("A/1", *lines, **who, ordered_at=day).status == 200

    reply = read(merchant, "/v1/orders/A%2F1")

    assert reply.status == 200, reply
    order = reply.json
    assert parse_timestamp(order.pop("updated_at")) > system_ms() - MINUTE_MS
    assert order == {
        "order_id": "A/1",
        "ordered_at": day,
        "confirmed": True,
        "items": lines,
        **who,
    }


def test_orders_of_the_publishable_key_and_of_events_are_not_confirmed(
    merchant: Merchant,
) -> None:
    merchant.order("server", "tent", session_id="s_1")
    public_order(merchant, "page", "tent")
    merchant.track(
        {"event": "buy", "item_id": "a", "order_id": "event", "session_id": "s_2"}
    )
    upload(merchant, "order_id,item_id,timestamp\nfile,a,2020-02-01\n")
    assert eventually(
        lambda: any("file" in page for page in pages(merchant, "/v1/orders", fields="id"))
    )

    orders = [one for page in pages(merchant, "/v1/orders") for one in page]

    assert {one["order_id"]: one["confirmed"] for one in orders} == {
        "server": True,
        "page": False,
        "event": False,
        "file": True,
    }
    confirmed = pages(merchant, "/v1/orders", fields="id", confirmed="true")
    assert list(confirmed) == [["file", "server"]]
    since = {"updated_after": iso(system_ms() - HOUR_MS), "fields": "id"}
    assert "file" in next(pages(merchant, "/v1/orders", **since))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"cursor": "nonsense"}, "cursor"),
        ({"cursor": "WyJ4Il0"}, "cursor"),
        ({"updated_after": "yesterday"}, "updated_after"),
        ({"limit": 1001}, "limit"),
        ({"limit": 0}, "limit"),
        ({"fields": "title"}, "fields"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/items", "/v1/orders"])
def test_parameters_that_make_no_sense_are_named(
    merchant: Merchant, path: str, query: dict[str, object], name: str
) -> None:
    reply = read(merchant, path, **query)

    assert reply.status == 422, reply
    assert reply.json["detail"][0]["loc"] == ["query", name]


def test_a_large_catalog_comes_in_pages_of_bounded_size(merchant: Merchant) -> None:
    text = "long " * 12_000
    for start in (0, 100, 200):
        merchant.push(*({"id": str(start + at), "description": text} for at in range(100)))

    received = list(pages(merchant, "/v1/items", limit=1000))

    assert sum(len(page) for page in received) == 300
    assert max(len(page) for page in received) < 200


def test_ordered_at_is_the_time_of_purchase(service: Service, merchant: Merchant) -> None:
    then = system_ms() - 20 * DAY_MS
    assert merchant.order("A-1", "tent", ordered_at=iso(then)).status == 200
    assert merchant.order("A-1", "tent").json["duplicate"]  # the window is from receipt
    assert merchant.order("A-2", "tent", ordered_at=None).status == 200

    late, usual = line_rows(service, merchant)

    assert late["ts"] == then
    assert abs(usual["ts"] - system_ms()) < MINUTE_MS
    assert {late["imported"], usual["imported"]} == {False}


def test_ordered_at_without_an_offset_is_in_the_stores_zone(service: Service) -> None:
    merchant = service.register(timezone="Asia/Tokyo")
    day = iso(system_ms() - DAY_MS)[:10]

    assert merchant.order("A-1", "tent", ordered_at=f"{day}T09:00").status == 200

    (line,) = line_rows(service, merchant)
    assert iso(line["ts"]) == f"{day}T00:00:00.000Z"


@pytest.mark.parametrize(
    ("at", "is_secret"),
    [
        (-31 * DAY_MS, True),
        (6 * MINUTE_MS, True),
        ("soon", True),
        (7, True),
        (-HOUR_MS, False),
    ],
)
def test_an_unbelievable_ordered_at_is_refused(
    service: Service, merchant: Merchant, at: object, *, is_secret: bool
) -> None:
    moment = iso(system_ms() + at) if isinstance(at, int) and abs(at) > 7 else at
    ask = (
        merchant.order
        if is_secret
        else lambda *one, **at: public_order(merchant, *one, **at)
    )

    reply = ask("A-1", "tent", ordered_at=moment)

    assert reply.status == 422, reply
    assert reply.json["detail"][0]["loc"] == ["body", "ordered_at"]
    assert line_rows(service, merchant) == []


def test_a_clock_that_is_a_little_ahead_is_no_error(
    service: Service, merchant: Merchant
) -> None:
    assert (
        merchant.order("A-1", "tent", ordered_at=iso(system_ms() + MINUTE_MS)).status == 200
    )

    (line,) = line_rows(service, merchant)
    assert line["ts"] <= system_ms()


def test_a_stores_setting_applies_to_earlier_orders(
    service: Service, merchant: Merchant
) -> None:
    public_order(merchant, "squatted", "junk", "junk", user_id="evil")
    public_order(merchant, "false", "junk")
    assert merchant.order("squatted", "tent").json["duplicate"] is False
    assert len(line_rows(service, merchant)) == 2

    service.run("settings", merchant.account.domain, "unconfirmed_orders=ignore")

    assert eventually(lambda: len(line_rows(service, merchant)) == 1)
    assert [row["item"] for row in line_rows(service, merchant)] == ["tent"]
    assert read(merchant, "/v1/orders/squatted").json["items"] == [
        {"item_id": "tent", "quantity": None, "price": None, "total": None}
    ]
    assert read(merchant, "/v1/orders/false").json["confirmed"] is False
