"""Call collections of `productrecs openapi --form`: each call works."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from productrecs.application import create_declared_application
from productrecs.cli.commands.openapi_and_collections import (
    to_http_file,
    to_postman_collection,
)
from productrecs.http.openapi_document import openapi_document
from tests.support.service import METRICS_TOKEN, Merchant, Service

# What their examples name belongs to nobody here.
NOT_THERE = {
    "GET /orders/upload/up_5tR0wqZ8kYb3NcJ1mXv7LdGa",
    "GET /look-pictures/",
    "GET /product-feeds/",
    *("GET /v1/mail/image/", "GET /v1/mail/products/"),
    *("GET /ucp/", "POST /ucp/"),
    *("PUT /integration/bundles?id=3", "DELETE /integration/bundles?id=3"),
    "PUT /integration/tests",
}


class FileRequest(NamedTuple):
    """One call of a .http file."""

    title: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """Return the description."""
    return openapi_document(create_declared_application(), "http://shop.test:8000")


def requests_in(text: str, **values: str) -> Iterator[FileRequest]:
    """Yield the calls of a .http file, its variables but `base` replaced by `values`."""
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n\n")
        title, *lines = head.split("\n")
        first, *named = [one for one in lines if one and not one.startswith("# ")]
        method, target = first.split(" ")
        headers = dict(one.split(": ", 1) for one in named)
        sent = body.rstrip("\n").replace("\n", "\r\n").encode()
        yield FileRequest(title, method, target.removeprefix("{{base}}"), headers, sent)


def test_every_call_of_the_http_file_works(
    described: dict[str, Any], service: Service, merchant: Merchant
) -> None:
    account = merchant.account
    text = to_http_file(described).replace("shop.example.com", account.domain)
    assert merchant.push({"id": "tent"}, {"id": "rope"}, {"id": "stove"}).status == 200
    service.run("placements", "add", account.domain, "product-page-1", "--strategy", "mix")

    refused = []
    count = 0
    for call in requests_in(
        text, pk=account.publishable, sk=account.secret, metrics_token=METRICS_TOKEN
    ):
        count += 1
        reply = merchant.client.ask(call.method, call.target, call.body, call.headers)
        missing = any(f"{call.method} {call.target}".startswith(one) for one in NOT_THERE)
        if reply.status not in ({404} if missing else {200, 202, 302}):
            refused.append((call.title, reply.status, reply.body[:200]))

    assert refused == []
    assert count == sum(len(one) for one in described["paths"].values())


def test_control_a_call_without_its_key_is_noticed(
    described: dict[str, Any], merchant: Merchant
) -> None:
    calls = requests_in(to_http_file(described), pk="pk_of_nobody")
    first = next(calls)

    assert merchant.client.ask(first.method, first.target).status == 401


def test_the_collection_holds_the_same_calls(described: dict[str, Any]) -> None:
    collection = to_postman_collection(described)
    items = [one for folder in collection["item"] for one in folder["item"]]
    calls = {
        (one.title, one.method, one.target) for one in requests_in(to_http_file(described))
    }

    assert {
        (
            one["name"],
            one["request"]["method"],
            one["request"]["url"]["raw"].removeprefix("{{base}}"),
        )
        for one in items
    } == calls
    assert [one["key"] for one in collection["variable"]] == [
        "base",
        "pk",
        "sk",
        "metrics_token",
    ]
    assert collection["variable"][0]["value"] == "http://shop.test:8000"


def test_what_is_not_needed_is_there_to_be_switched_on(described: dict[str, Any]) -> None:
    query = next(
        one["request"]["url"]["query"]
        for folder in to_postman_collection(described)["item"]
        for one in folder["item"]
        if one["request"]["url"]["raw"].startswith("{{base}}/v1/widget-config?")
    )

    assert {one["key"]: one["disabled"] for one in query}["type"] is True
    assert {one["key"]: one["disabled"] for one in query}["key"] is False
