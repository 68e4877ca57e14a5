"""Searches of assistants for products like one, bought together with some, or of a look.

Requests and replies are validated against the schema that the service serves.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs
import pytest

from productrecs.core.clock import system_ms
from productrecs.features.assistants.related_products_extension import SCHEMA_PATH
from productrecs.features.looks.look import Hotspot, LookContent
from productrecs.features.looks.look_editor import LookEditor
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.pictures import drawn, encoded, see
from tests.support.service import Merchant, Reply, Service, eventually, switch_on_assistants
from tests.support.ucp_schemas import check_refusal, check_reply

KINDS: Final = [
    (colour, shape) for colour in ("red", "blue") for shape in ("ball", "cross")
]
RED_BALL: Final = base64.b64encode(encoded(drawn("red", "ball", seed=7))).decode()
BASKET: Final = ["red-ball", "tent"]
LOOK: Final = LookContent(
    "tent",
    image_url="/lake.jpg",
    title="By the lake",
    hotspots=(
        Hotspot("Ball", (0.1, 0.2, 0.3, 0.4), "red-ball"),
        Hotspot("Gone", (0.0, 0.0, 1.0, 1.0), "not-there"),
    ),
)


@pytest.fixture(scope="module")
def merchant(service: Service) -> Merchant:
    """Return a store with pictures, orders and a look, in a service that knows them."""
    created = service.register()
    switch_on_assistants(created.account)
    shared = {"price": 20, "image_url": "https://i.example/x.jpg"}
    names = [f"{colour}-{shape}" for colour, shape in KINDS]
    items = [
        shared | {"id": name, "title": name, "brand": name.split("-")[0]} for name in names
    ]
    assert created.push(*items, shared | {"id": "tent", "title": "Tent"}).status == 200
    for number in range(30):
        line = BASKET if number % 2 else ["blue-ball"]
        ordered = created.order(f"o-{number}", *({"item_id": one} for one in line))
        assert ordered.status == 200, ordered
    with service.database() as database:
        store = find_store(database, created.account.domain)
        pictures = {f"{one}-{two}": drawn(one, two) for one, two in KINDS}
        see(database, service.folder / "pictures", store.store_id, pictures)
        LookEditor(database, store, system_ms).add([LOOK], publish=True)
    service.train(created)
    eventually(lambda: ids(search(created, complements={"ids": ["tent"]}).json))
    eventually(lambda: ids(search(created, like={"image": RED_BALL}).json))
    eventually(lambda: search(created, looks={"id": "tent"}).json["looks"])
    return created


def search(merchant: Merchant, **call: object) -> Reply:
    path = f"/ucp/{merchant.account.domain}/2026-08-25/catalog/search"
    return merchant.client.ask("POST", path, json.dumps(call).encode(), {})


def by_mcp(merchant: Merchant, **call: object) -> dict[str, Any]:
    params = {"name": "search_catalog", "arguments": {"catalog": call}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    path = f"/ucp/{merchant.account.domain}/2026-04-08/mcp"
    reply = merchant.client.ask("POST", path, json.dumps(message).encode(), {})
    structured: dict[str, Any] = reply.json["result"]["structuredContent"]
    return structured


def ids(reply: Mapping[str, Any]) -> list[str]:
    return [product["id"] for product in reply.get("products", [])]


@pytest.fixture(scope="module")
def schemas(merchant: Merchant) -> dict[str, Any]:
    """Return a validator of requests and one of replies; the base is checked apart."""
    schema = merchant.client.ask("GET", SCHEMA_PATH, None, {}).json
    base: dict[str, Any] = {"$defs": {"search_request": {}, "search_response": {}}}
    return {
        name: jsonschema_rs.validator_for(
            schema | {"$ref": f"#/$defs/{name}"}, retriever=lambda _: base
        )
        for name in ("search_request", "search_response")
    }


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"like": {"image": RED_BALL}, "pagination": {"limit": 1}}, ["red-ball"]),
        ({"like": {"image": RED_BALL}, "filters": {"brand": ["blue"]}}, None),
        ({"like": {"id": "red-ball"}}, None),
        ({"complements": {"ids": ["tent"]}}, ["red-ball"]),
        ({"complements": {"ids": ["red-ball"]}}, ["tent"]),
        ({"complements": {"ids": ["blue-ball"]}}, []),
        ({"complements": {"ids": ["tent"]}, "filters": {"brand": ["blue"]}}, []),
        ({"looks": {"id": "tent"}}, ["red-ball"]),
        ({"looks": {"id": "red-ball"}}, []),
    ],
    ids=lambda call: str(call).replace(RED_BALL, "a photo"),
)
def test_both_transports_find_related_products(
    merchant: Merchant,
    schemas: dict[str, Any],
    call: dict[str, Any],
    expected: list[str] | None,
) -> None:
    reply = search(merchant, **call).json

    schemas["search_request"].validate(call)
    schemas["search_response"].validate(reply)
    check_reply("search", reply)
    assert by_mcp(merchant, **call)["products"] == reply["products"]
    if expected is not None:
        assert ids(reply) == expected
    assert set(ids(reply)).isdisjoint([call.get("like", {}).get("id")])


def test_filters_hold_for_what_looks_like_a_photo(merchant: Merchant) -> None:
    call = {"like": {"image": RED_BALL}, "filters": {"brand": ["blue"]}}

    assert set(ids(search(merchant, **call).json)) == {"blue-ball", "blue-cross"}


def test_what_is_like_a_product_leads_with_what_looks_like_it(merchant: Merchant) -> None:
    found = ids(search(merchant, like={"id": "red-ball"}).json)

    assert {"blue-ball", "red-cross"} & set(found[:2])


def test_a_look_has_the_places_of_products_that_can_be_shown(merchant: Merchant) -> None:
    looks = search(merchant, looks={"id": "tent"}).json["looks"]

    spot = {"label": "Ball", "box": [0.1, 0.2, 0.3, 0.4], "variant_id": "red-ball"}
    address = f"https://{merchant.account.domain}/lake.jpg"
    assert looks == [
        {"id": "1", "title": "By the lake", "image_url": address, "hotspots": [spot]}
    ]


def test_pages_of_related_products_continue(merchant: Merchant) -> None:
    call = {"like": {"image": RED_BALL}}
    whole = ids(search(merchant, **call).json)
    first = search(merchant, **call, pagination={"limit": 3}).json

    following = {"cursor": first["pagination"]["cursor"]}
    rest = search(merchant, **call, pagination=following).json

    assert ids(first) + ids(rest) == whole
    assert rest["pagination"] == {"has_next_page": False, "total_count": len(whole)}


def test_unknown_products_are_named(merchant: Merchant) -> None:
    reply = search(merchant, complements={"ids": ["tent", "nowhere"]}).json

    assert ids(reply) == ["red-ball"]
    assert [one["content"] for one in reply["messages"]] == ["nowhere"]


@pytest.mark.parametrize(
    "call",
    [
        {"query": "ball", "like": {"id": "tent"}},
        {"complements": {"ids": ["tent"]}, "looks": {"id": "tent"}},
        {"like": {}},
        {"like": {"id": "tent", "image": RED_BALL}},
        {"like": {"image": "no photo"}},
        {"like": {"image": base64.b64encode(b"no picture" * 9).decode()}},
        {"complements": {"ids": []}},
        {"complements": {"ids": ["tent"] * 21}},
        {"looks": {}},
    ],
    ids=lambda call: str(call).replace(RED_BALL, "a photo"),
)
def test_a_wrong_call_is_refused(merchant: Merchant, call: dict[str, Any]) -> None:
    reply = search(merchant, **call)

    assert (reply.status, reply.json["code"]) == (400, "catalog_call_invalid")
    check_refusal(reply.json)
