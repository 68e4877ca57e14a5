"""The catalog for shopping assistants over HTTP, by REST and by MCP."""

import itertools
import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.assistants.repository import AssistantCallRepository
from productrecs.features.assistants.ucp_profile import CatalogOperation
from tests.support.service import Merchant, Reply, Service, eventually, switch_on_assistants
from tests.support.ucp_schemas import check_refusal, check_reply

Ask = Callable[..., Any]

NEWEST: Final = "2026-08-25"
VERSIONS: Final = (NEWEST, "2026-04-08")
TOOLS: Final = {
    "search": "search_catalog",
    "lookup": "lookup_catalog",
    "product": "get_product",
}
AGENT: Final = "https://agent.example/profile.json"
SHIRT: Final = "variants-of:shirt-Blue-S"


@pytest.fixture(scope="module")
def merchant(service: Service) -> Merchant:
    """Return a store that assistants may call, with variants, price lists and pages."""
    created = service.register()
    switch_on_assistants(created.account)
    shared = {"product_url": "/p/one?id=1", "image_url": "/i.jpg", "price": 20}
    shirts = [
        shared
        | {"id": f"shirt-{color}-{size}", "title": "Linen shirt", "brand": "Hill"}
        | {"color": [color], "size": [size], "categories": ["Clothes"], "list_price": 25}
        for color, size in itertools.product(("Blue", "Red"), ("S", "L"))
    ]
    shirts[-1] |= {"price": 30, "stock_qty": 0}
    tent = {"id": "tent", "title": "Tent for two", "description": "<p>Dry &amp; light</p>"}
    pushed = created.push(
        *shirts,
        shared | tent | {"price": 199.99, "prices": {"USD": {"price": 220}}},
        shared | {"id": "priceless", "title": "Tent without a price", "price": None},
        shared | {"id": "gone", "title": "Gone tent", "availability": "discontinued"},
        *(shared | {"id": f"lamp-{n}", "title": f"Lamp {n}"} for n in range(25)),
    )
    assert pushed.status == 200, pushed
    eventually(lambda: len(ids(by_rest(created)("search", query="lamp"))) == 10)
    return created


def by_rest(merchant: Merchant, version: str = NEWEST) -> Ask:
    def ask(operation: str, **call: object) -> dict[str, Any]:
        reply = post(merchant, f"{version}/catalog/{operation}", call)
        found: dict[str, Any] = reply.json if reply.status == 200 else {}
        if found:
            check_reply(operation, found)
        return found

    return ask


def by_mcp(merchant: Merchant, version: str = NEWEST) -> Ask:
    def ask(operation: str, **call: object) -> dict[str, Any]:
        reply = rpc(merchant, TOOLS[operation], call, version).json
        result = reply.get("result", {})
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        structured: dict[str, Any] = result["structuredContent"]
        check_reply(operation, structured)
        return structured

    return ask


TRANSPORTS: Final = {"rest": by_rest, "mcp": by_mcp}


@pytest.fixture(params=itertools.product(TRANSPORTS, VERSIONS), ids="-".join)
def ask(request: pytest.FixtureRequest, merchant: Merchant) -> Ask:
    """Return a caller of the catalog by each transport, in each version."""
    transport, version = request.param
    return TRANSPORTS[transport](merchant, version)


def post(merchant: Merchant, path: str, sent: object, agent: str = AGENT) -> Reply:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    headers = {"ucp-agent": f'profile="{agent}"'}
    path = f"/ucp/{merchant.account.domain}/{path}"
    return merchant.client.ask("POST", path, body, headers)


def rpc(merchant: Merchant, tool: str, call: object, version: str = NEWEST) -> Reply:
    arguments = {"meta": {"ucp-agent": {"profile": AGENT}}, "catalog": call}
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return post(merchant, f"{version}/mcp", message)


def ids(reply: dict[str, Any]) -> list[str]:
    return [product["id"] for product in reply.get("products", [])]


def test_a_search_corrects_typing_mistakes_and_shows_variants_as_options(ask: Ask) -> None:
    reply = ask("search", query="linnen shirt")

    assert ids(reply) == [SHIRT]
    product = reply["products"][0]
    assert product["options"] == [
        {"name": "Color", "values": [{"label": "Blue"}, {"label": "Red"}]},
        {"name": "Size", "values": [{"label": "S"}, {"label": "L"}]},
    ]
    assert [one["availability"]["available"] for one in product["variants"]] == [
        *(True, True, True),
        False,
    ]
    assert product["price_range"] == {
        "min": {"amount": 2000, "currency": "EUR"},
        "max": {"amount": 3000, "currency": "EUR"},
    }
    assert product["variants"][0]["list_price"] == {"amount": 2500, "currency": "EUR"}
    assert reply["pagination"] == {"has_next_page": False, "total_count": 1}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"filters": {"categories": ["clothes"]}}, {SHIRT}),
        ({"filters": {"brand": ["Hill"], "in_stock": True}}, {SHIRT}),
        ({"filters": {"on_sale": True}}, {SHIRT}),
        ({"query": "shirt", "filters": {"color": ["Green"]}}, set()),
        ({"filters": {"price": {"min": 19_000}}, "context": {"currency": "EUR"}}, {"tent"}),
        ({"query": "tent", "filters": {"price": {"max": 1}}}, {"tent"}),
        ({"query": "tent", "context": {"intent": "a weekend outdoors"}}, {"tent"}),
        ({"query": "zzz-nothing"}, set()),
    ],
    ids=str,
)
def test_filters_and_context_narrow_a_search(
    merchant: Merchant, call: dict[str, Any], expected: set[str]
) -> None:
    assert set(ids(by_rest(merchant)("search", **call))) == expected


def test_a_price_filter_of_an_unknown_currency_is_ignored_with_a_message(ask: Ask) -> None:
    filters = {"price": {"max": 1}}

    reply = ask("search", query="tent", filters=filters, context={"currency": "JPY"})

    assert ids(reply) == ["tent"]
    assert [one["code"] for one in reply["messages"]] == ["price_filter_ignored"]


def test_prices_come_from_the_price_list_of_the_preferred_currency(ask: Ask) -> None:
    reply = ask("lookup", ids=["tent"], context={"currency": "usd"})
    price = reply["products"][0]["variants"][0]["price"]
    other = ask("lookup", ids=["tent"], context={"currency": "CHF"})

    assert price == {"amount": 22000, "currency": "USD"}
    assert other["products"][0]["price_range"]["min"] == {
        "amount": 19999,
        "currency": "EUR",
    }


def test_cursors_lead_through_all_results_once(ask: Ask) -> None:
    found: list[str] = []
    pagination: dict[str, Any] = {}
    for expected in (10, 10, 5):
        reply = ask("search", query="lamp", pagination=pagination)
        assert len(ids(reply)) == expected
        found += ids(reply)
        pagination = {"cursor": reply["pagination"].get("cursor", "")}

    assert len(set(found)) == len(found) == 25
    assert reply["pagination"] == {"has_next_page": False, "total_count": 25}


def test_a_lookup_returns_each_product_once_with_the_ids_that_led_to_it(ask: Ask) -> None:
    wanted = ["tent", "tent", "shirt-Red-S", SHIRT, "priceless", "gone", "unknown"]

    reply = ask("lookup", ids=wanted)

    assert set(ids(reply)) == {"tent", SHIRT}
    assert len(ids(reply)) == 2
    inputs = {
        variant["id"]: variant["inputs"]
        for product in reply["products"]
        for variant in product["variants"]
    }
    assert inputs == {
        "tent": [{"id": "tent", "match": "exact"}],
        "shirt-Red-S": [{"id": "shirt-Red-S", "match": "exact"}],
        "shirt-Blue-S": [{"id": SHIRT, "match": "featured"}],
    }
    assert [one["content"] for one in reply["messages"]] == ["priceless", "gone", "unknown"]


def test_a_product_says_which_options_fit_those_selected(ask: Ask) -> None:
    reply = ask("product", id=SHIRT, selected=[{"name": "Color", "label": "Red"}])

    product = reply["product"]
    assert [one["id"] for one in product["variants"]] == ["shirt-Red-S", "shirt-Red-L"]
    assert product["selected"] == [{"name": "Color", "label": "Red"}]
    assert product["options"][1]["values"] == [
        {"label": "S", "available": True, "exists": True},
        {"label": "L", "available": False, "exists": True},
    ]


@pytest.mark.parametrize(
    ("preferences", "kept"),
    [
        (["Color", "Size"], {"name": "Color", "label": "Red"}),
        (["Size", "Color"], {"name": "Size", "label": "S"}),
    ],
)
def test_options_that_nothing_has_are_given_up_from_the_end_of_the_preferences(
    merchant: Merchant, preferences: list[str], kept: dict[str, str]
) -> None:
    impossible = {"Color": "Size", "Size": "Color"}[kept["name"]]
    selected = [kept, {"name": impossible, "label": "Nowhere"}]

    product = by_rest(merchant)(
        "product", id=SHIRT, selected=selected, preferences=preferences
    )["product"]

    assert product["selected"] == [kept]


def test_a_variant_is_its_product_s_first_variant_whatever_is_selected(ask: Ask) -> None:
    selected = [{"name": "Color", "label": "Red"}]

    product = ask("product", id="shirt-Blue-L", selected=selected)["product"]

    assert product["variants"][0]["id"] == "shirt-Blue-L"
    assert product["selected"] == [
        {"name": "Color", "label": "Blue"},
        {"name": "Size", "label": "L"},
    ]


def test_an_unknown_product_is_an_answer_and_no_failure(ask: Ask) -> None:
    reply = ask("product", id="nowhere")

    assert reply["ucp"]["status"] == "error"
    assert reply["messages"][0]["code"] == "not_found"


def test_links_name_the_assistant_and_attribution_changes_nothing(ask: Ask) -> None:
    attribution = {"utm_source": "elsewhere", "gclid": "x"}

    reply = ask("lookup", ids=["tent"])

    assert reply == ask("lookup", ids=["tent"], attribution=attribution)
    url = reply["products"][0]["url"]
    assert url.endswith("/p/one?id=1&utm_source=agent.example&utm_medium=assistant")
    assert reply["products"][0]["description"] == {"plain": "Dry & light"}


@pytest.mark.parametrize(
    ("operation", "call", "code"),
    [
        ("search", {}, "catalog_call_invalid"),
        ("search", {"query": " ", "filters": {}}, "catalog_call_invalid"),
        ("search", {"query": 3}, "catalog_call_invalid"),
        ("search", {"query": "a", "pagination": {"limit": 0}}, "catalog_call_invalid"),
        ("search", {"query": "a", "pagination": {"cursor": "é"}}, "catalog_call_invalid"),
        ("search", {"query": "a", "pagination": {"cursor": "eA"}}, "catalog_call_invalid"),
        ("lookup", {}, "catalog_call_invalid"),
        ("lookup", {"ids": []}, "catalog_call_invalid"),
        ("lookup", {"ids": ["a"] * 51}, "request_too_large"),
        ("product", {"id": None}, "catalog_call_invalid"),
        ("product", [], "catalog_call_invalid"),
    ],
    ids=str,
)
def test_a_wrong_call_is_refused_by_both_transports(
    merchant: Merchant, operation: str, call: Any, code: str
) -> None:
    reply = post(merchant, f"{NEWEST}/catalog/{operation}", call)
    by_tool = rpc(merchant, TOOLS[operation], call)

    assert (reply.status, reply.json["code"]) == (400, code)
    check_refusal(reply.json)
    assert reply.json["content"] == by_tool.json["error"]["message"]
    assert by_tool.json["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"{", 400, -32700),
        ([], 400, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "nothing"}, 200, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, 200, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, 200, None),
        ({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {}}, 200, None),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, 202, None),
    ],
    ids=str,
)
def test_mcp_answers_json_rpc(
    merchant: Merchant, sent: object, status: int, code: int | None
) -> None:
    reply = post(merchant, f"{NEWEST}/mcp", sent)

    assert reply.status == status
    if status != 202:
        assert reply.json.get("error", {}).get("code") == code


def test_mcp_lists_the_tools_of_the_protocol(merchant: Merchant) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    tools = post(merchant, f"{NEWEST}/mcp", message).json["result"]["tools"]

    assert [tool["name"] for tool in tools] == list(TOOLS.values())


def test_the_profile_names_both_versions_and_each_has_its_own(merchant: Merchant) -> None:
    base = f"/ucp/{merchant.account.domain}"
    whole = merchant.client.ask("GET", f"{base}/.well-known/ucp", None, {})
    own = {
        version: merchant.client.ask("GET", f"{base}/{version}/.well-known/ucp", None, {})
        for version in VERSIONS
    }

    assert whole.json["ucp"]["version"] == NEWEST
    assert list(whole.json["ucp"]["supported_versions"]) == ["2026-04-08"]
    assert "public" in (whole.header("cache-control") or "")
    for version, reply in own.items():
        ucp = reply.json["ucp"]
        assert ucp["version"] == version
        assert "supported_versions" not in ucp
        for service in ucp["services"]["dev.ucp.shopping"]:
            assert f"{base}/{version}" in service["endpoint"]
    tag = {"if-none-match": whole.header("etag") or ""}
    again = merchant.client.ask("GET", f"{base}/.well-known/ucp", None, tag)
    assert (again.status, again.body) == (304, b"")


def test_only_a_catalog_that_is_on_answers(service: Service, merchant: Merchant) -> None:
    off = service.register().account.domain
    refused = [
        f"/ucp/{off}/.well-known/ucp",
        f"/ucp/{merchant.account.domain}/2020-01-01/.well-known/ucp",
        "/ucp/nowhere.example/.well-known/ucp",
    ]

    replies = [merchant.client.ask("GET", path, None, {}) for path in refused]

    assert [reply.json.get("code") for reply in replies] == [
        "assistant_catalog_unknown"
    ] * len(refused)


def test_calls_are_counted_by_assistant(service: Service) -> None:
    counted = service.register()
    switch_on_assistants(counted.account)
    for agent in (AGENT, "http://Other.example:8080/x", "no address"):
        post(counted, f"{NEWEST}/catalog/search", {"query": "tent"}, agent)
    post(counted, f"{NEWEST}/catalog/lookup", {"ids": ["a"]})

    def counts() -> dict[str, dict[str, int]]:
        store_id = StoreId(counted.account.store_id)
        with service.database() as database, database.reading() as connection:
            found = AssistantCallRepository(connection, store_id).recent_calls_by_agent(
                system_ms()
            )
        return {agent: one.calls for agent, one in found.items()}

    expected: dict[str, dict[str, int]] = {
        "agent.example": {CatalogOperation.SEARCH: 1, CatalogOperation.LOOKUP: 1},
        "assistant": {CatalogOperation.SEARCH: 1},
        "other.example": {CatalogOperation.SEARCH: 1},
    }
    eventually(lambda: counts() == expected)


def mutated(value: Any, chance: random.Random) -> Any:
    """Return JSON with one or more of its parts replaced by something else."""
    if chance.random() < 0.2:
        wrong: tuple[Any, ...] = (
            None,
            -1,
            10**40,
            1e300,
            "",
            "\x00",
            "é" * 300,
            [],
            {},
            [[[]]],
            True,
        )
        return chance.choice(wrong)
    if isinstance(value, dict):
        return {name: mutated(one, chance) for name, one in value.items()}
    if isinstance(value, list):
        return [mutated(one, chance) for one in value] * chance.choice((1, 1, 2, 60))
    return value


WHOLE_CALLS: Final[list[tuple[str, dict[str, Any]]]] = [
    (
        "search",
        {
            "query": "tent for two",
            "context": {"intent": "outdoors", "currency": "EUR", "language": "de"},
            "filters": {
                "categories": ["a"],
                "price": {"min": 1, "max": 5},
                "color": ["Blue"],
            },
            "pagination": {"cursor": "YWZ0ZXI6MTA=", "limit": 3},
            "attribution": {"utm_source": "x"},
            "signals": {"dev.ucp.buyer_ip": "192.0.2.1"},
        },
    ),
    ("search", {"like": {"id": "tent"}, "pagination": {"limit": 2}}),
    ("search", {"like": {"image": "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAAA="}}),
    ("search", {"complements": {"ids": ["tent", SHIRT]}, "filters": {"in_stock": True}}),
    ("search", {"looks": {"id": "tent"}}),
    ("lookup", {"ids": ["tent", SHIRT, "variants-of:", "x"], "filters": {"on_sale": True}}),
    (
        "product",
        {
            "id": SHIRT,
            "selected": [{"name": "Color", "label": "Red"}, {"name": "Size", "label": "S"}],
            "preferences": ["Color", "Size"],
            "filters": {"price": {"max": 10}},
            "context": {"currency": "USD"},
        },
    ),
]


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.trust)])
def test_mutated_calls_are_answered_or_refused(merchant: Merchant, count: int) -> None:
    chance = random.Random(41)  # noqa: S311 - repeats the same calls
    for number in range(count):
        operation, whole = chance.choice(WHOLE_CALLS)
        call = mutated(whole, chance)
        if number % 2:
            reply = post(merchant, f"{NEWEST}/catalog/{operation}", call)
            check = (
                partial(check_reply, operation) if reply.status == 200 else check_refusal
            )
            check(reply.json)
        else:
            reply = rpc(merchant, TOOLS[operation], call)
            if "result" in reply.json:
                check_reply(operation, reply.json["result"]["structuredContent"])
        assert reply.status in {200, 400, 413}, (operation, call, reply)
