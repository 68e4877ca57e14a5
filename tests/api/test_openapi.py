"""OpenAPI description: complete, correct, and without findings of linters.

The long search for what it does not say is in `tests/trust/test_description.py`.
"""

import copy
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from productrecs.http.routes.public.developer_guide_tables import status_by_error_code
from tests.api import published
from tests.api.routes import (
    EITHER,
    INSTALLATION,
    NOBODY,
    PUBLISHABLE,
    SECRET,
    TABLE,
    UPLOAD,
    form,
)
from tests.support.openapi import (
    ApiOperation,
    examples_of,
    faults,
    operations,
    published_names,
)
from tests.support.service import OPERATOR, Merchant, Service, add_placement, eventually

Document = dict[str, Any]
ALLOWED = {
    NOBODY: set[str](),
    PUBLISHABLE: {"publishableKey", "publishableKeyHeader"},
    SECRET: {"bearer", "secretKey"},
    EITHER: {"bearer", "secretKey", "publishableKey", "publishableKeyHeader"},
    INSTALLATION: {"operatorToken"},
}


@pytest.fixture(scope="module")
def document(service: Service) -> Document:
    """Return the service's description of itself."""
    found: Document = service.client().ask("GET", "/openapi.json").json
    return found


def test_linters_find_nothing(document: Document) -> None:
    assert faults(document) == []


def test_generators_meet_no_empty_default_and_no_boolean_of_words(
    document: Document,
) -> None:
    text = json.dumps(document["components"]["schemas"])

    assert '"default": null' not in text
    assert '"default": {}' not in text
    assert '"enum": [0, 1' not in text
    in_stock = document["components"]["schemas"]["PhotoSearch"]["properties"]["in_stock"]
    assert in_stock["anyOf"] == [{"type": "boolean"}, {"type": "null"}]


def test_nothing_that_clients_rely_on_disappears(document: Document) -> None:
    """`python -m tests.api.published` adds new names before a release."""
    gone = published.names() - published_names(document)

    assert sorted(gone) == []


def test_control_a_renamed_parameter_is_missed(document: Document) -> None:
    broken = copy.deepcopy(document)
    broken["paths"]["/health/live"]["get"]["parameters"][0]["name"] = "current"

    gone = published.names() - published_names(broken)

    assert gone == {"GET /health/live query seen"}


def test_each_operation_wants_the_keys_that_it_takes(document: Document) -> None:
    for one in operations(document):
        method = one.name.split(" ", maxsplit=1)[0]
        wanted = {name for way in one.it["security"] for name in way}

        assert wanted == ALLOWED[TABLE[method, one.path].wants], one.name
    schemes = document["components"]["securitySchemes"]
    assert schemes["bearer"] == {**schemes["bearer"], "type": "http", "scheme": "bearer"}
    assert {(one.get("in"), one.get("name")) for one in schemes.values()} == {
        ("query", "key"),
        ("header", "X-Pub-Key"),
        ("header", "X-API-Key"),
        (None, None),
    }


def test_what_browsers_post_may_be_plain_text(document: Document) -> None:
    plain = {
        one.path
        for one in operations(document)
        if "text/plain" in one.it.get("requestBody", {}).get("content", {})
    }

    assert plain == {
        path for (method, path), row in TABLE.items() if row.widget and method == "POST"
    }


def test_every_refusal_that_is_shown_has_its_own_status(document: Document) -> None:
    known = status_by_error_code()
    shown = [
        (int(status), value["code"])
        for one in operations(document)
        for status, response in one.it["responses"].items()
        for media in response.get("content", {}).values()
        for value in examples_of(media)
        if isinstance(value, dict) and "code" in value
    ]

    assert [(status, code) for status, code in shown if known[code] != status] == []
    assert len({code for _, code in shown}) > 15


def test_the_objects_of_replies_have_names_for_generated_classes(
    document: Document,
) -> None:
    schemas = document["components"]["schemas"]
    unnamed = [
        (name, field)
        for name, schema in schemas.items()
        for field, part in schema.get("properties", {}).items()
        if part.get("properties") or part.get("items", {}).get("properties")
    ]

    assert {"SearchReply", "FacetValue", "StatusReplyJobs"} <= set(schemas)
    assert unnamed == []


def test_a_read_item_has_all_fields_that_its_schema_names_and_no_other(
    merchant: Merchant, document: Document
) -> None:
    merchant.push({"id": "a", "prices": {"USD": 9}})

    item = merchant.client.ask("GET", "/v1/items/a", None, merchant.server).json

    schemas = document["components"]["schemas"]
    for value, name in ((item, "StoredItem"), (item["prices"]["USD"], "ListPrices")):
        assert value.keys() == schemas[name]["properties"].keys()
        assert value.keys() == set(schemas[name]["required"])


def test_it_names_the_address_of_its_own_request(service: Service) -> None:
    headers = {"host": "recs.example", "x-forwarded-proto": "https"}
    reply = service.client().ask("GET", "/openapi.json", headers=headers)

    assert [one["url"] for one in reply.json["servers"]] == ["https://recs.example"]
    again = headers | {"if-none-match": reply.header("etag") or ""}
    assert service.client().ask("GET", "/openapi.json", headers=again).status == 304


# ------------------------------------------------------------- the examples, really sent


def targets(operation: ApiOperation) -> list[str]:
    """Return the address of an operation with the examples of its parameters."""
    path, query, required = operation.path, dict[str, Any](), dict[str, Any]()
    for parameter in operation.it.get("parameters", []):
        example = parameter["schema"]["examples"][0]
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(example)))
        else:
            query[parameter["name"]] = example
            if parameter.get("required"):
                required[parameter["name"]] = example
    # A placement has its own strategy: it takes the place of `source`.
    together = {name: it for name, it in query.items() if name != "placement"}
    singles = [required | {name: it} for name, it in query.items()]
    each = [f"{path}?{urlencode(one, doseq=True)}" for one in singles]
    return [f"{path}?{urlencode(together, doseq=True)}", *each] if query else [path]


def bodies(operation: ApiOperation) -> list[tuple[bytes | None, dict[str, str]]]:
    """Return the bodies of an operation's examples, with their content types."""
    content = operation.it.get("requestBody", {}).get("content", {})
    variants: list[tuple[bytes | None, dict[str, str]]] = []
    for kind, media in content.items():
        for value in examples_of(media):
            if kind == "multipart/form-data":
                variants.append((form(value["file"]), dict(UPLOAD)))
            else:
                variants.append((json.dumps(value).encode(), {"content-type": kind}))
    return variants or [(None, {})]


def test_every_example_is_answered_as_it_says(
    document: Document, merchant: Merchant
) -> None:
    keys = {"x-pub-key": merchant.account.publishable, "x-api-key": merchant.account.secret}
    rope = {"id": "rope", "prices": {"USD": 99}}
    assert merchant.push({"id": "tent"}, rope, {"id": "stove"}).status == 200
    add_placement(merchant.account, "product-page-1")
    eventually(lambda: merchant.recommend(placement="product-page-1").status == 200)
    eventually(lambda: merchant.trending(price_list="USD").status == 200)
    wrong = []
    for one in operations(document):
        method = one.name.split(" ", maxsplit=1)[0]
        wants = TABLE[method, one.path].wants
        sent = {} if wants == NOBODY else keys
        if wants == INSTALLATION:
            sent = OPERATOR
        if wants == PUBLISHABLE:
            sent = {"x-pub-key": merchant.account.publishable}
        for target in targets(one):
            for body, headers in bodies(one):
                assert merchant.push({"id": "tent"}).status == 200  # it may be deleted
                reply = merchant.client.ask(method, target, body, headers | sent)
                names_none_of_ours = (
                    "{upload_id}",
                    "{store_domain}",
                    "/bundles?id=",
                    "/mail/",
                )
                is_of_another = any(
                    part in one.path + target for part in names_none_of_ours
                ) or (method, one.path) == ("PUT", "/integration/tests")
                if reply.status >= 400 and not is_of_another:
                    wrong.append(f"{method} {target}: {reply.status} {reply.body[:200]!r}")

    assert wrong == []


# ------------------------------------------------------------------ controls: what is red

MUTATIONS: dict[str, tuple[Callable[[Document], object], str]] = {
    "another version": (lambda d: d["info"].update(version="1"), "3.0.0"),
    "no contact": (lambda d: d["info"].pop("contact"), "no contact"),
    "no servers": (lambda d: d.pop("servers"), "no servers"),
    "not OpenAPI": (lambda d: d["info"].pop("title"), '"title" is a required property'),
    "an unknown tag": (
        lambda d: d["paths"]["/"]["get"].update(tags=["odd"]),
        "tags used and declared differ",
    ),
    "a tag without words": (lambda d: d["tags"][0].pop("description"), "no description"),
    "an id twice": (
        lambda d: d["paths"]["/"]["get"].update(operationId="live"),
        "is not unique",
    ),
    "no id": (lambda d: d["paths"]["/"]["get"].pop("operationId"), "no operationId"),
    "no summary": (lambda d: d["paths"]["/"]["get"].pop("summary"), "a summary"),
    "no description": (
        lambda d: d["paths"]["/"]["get"].pop("description"),
        "a description",
    ),
    "no key named": (lambda d: d["paths"]["/"]["get"].pop("security"), "which key"),
    "an unknown key": (
        lambda d: d["paths"]["/v1/items"]["post"].update(security=[{"magic": []}]),
        "nowhere told of",
    ),
    "no 401": (
        lambda d: d["paths"]["/v1/items"]["post"]["responses"].pop("401"),
        "never answers 401",
    ),
    "no refusal": (
        lambda d: [
            d["paths"]["/llms.txt"]["get"]["responses"].pop(one) for one in ("429", "431")
        ],
        "never refuses",
    ),
    "no request id": (
        lambda d: d["paths"]["/"]["get"]["responses"]["200"].pop("headers"),
        "no X-Request-Id",
    ),
    "no example of a reply": (
        lambda d: d["paths"]["/v1/trending"]["get"]["responses"]["200"]["content"][
            "application/json"
        ].pop("example"),
        "its 200 (application/json) has no example",
    ),
    "no example of a body": (
        lambda d: d["paths"]["/v1/events"]["post"]["requestBody"]["content"][
            "text/plain"
        ].pop("examples"),
        "its body (text/plain) has no example",
    ),
    "an example that lies": (
        lambda d: d["paths"]["/v1/orders"]["post"]["responses"]["200"]["content"][
            "application/json"
        ]["example"].update(items_ingested="two"),
        'is not of type "integer"',
    ),
    "a parameter without an example": (
        lambda d: d["paths"]["/v1/trending"]["get"]["parameters"][0]["schema"].pop(
            "examples"
        ),
        "has no example",
    ),
    "a parameter without words": (
        lambda d: d["paths"]["/v1/trending"]["get"]["parameters"][0].pop("description"),
        "has no description",
    ),
    "a schema that nobody names": (
        lambda d: d["components"]["schemas"].update(Odd={"type": "object"}),
        "Odd is in components and nobody names it",
    ),
    "a path in capitals": (
        lambda d: d["paths"].update({"/V1/Items": d["paths"].pop("/v1/items")}),
        "not in small letters",
    ),
}


@pytest.mark.trust
@pytest.mark.parametrize("name", MUTATIONS)
def test_control_a_fault_is_found(document: Document, name: str) -> None:
    spoil, expected = MUTATIONS[name]
    broken = copy.deepcopy(document)
    spoil(broken)

    assert any(expected in fault for fault in faults(broken)), faults(broken)
