"""Goods on order over the API: the whole list, sent again and again."""

import json
from typing import Any

import pytest

from tests.support.service import Merchant, Reply, Service

PATH = "/integration/purchase-orders"
TENT = {
    "item_id": "tent",
    "quantity": 24,
    "expected_day": "2026-03-20",
    "supplier": "Tents Ltd",
}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    merchant = service.register()
    items = [{"id": "tent", "title": "Tent", "sku": "T-1"}, {"id": "mat", "title": "Mat"}]
    assert merchant.push(*items).status == 200
    return merchant


def send(shop: Merchant, *lines: dict[str, Any]) -> Reply:
    body = json.dumps({"lines": lines}).encode()
    return shop.client.ask("PUT", PATH, body, shop.server)


def listed(shop: Merchant) -> Any:
    return shop.client.ask("GET", PATH, None, shop.server).json["lines"]


def test_the_list_is_replaced_and_a_repeat_changes_nothing(shop: Merchant) -> None:
    mat = {"item_id": "mat", "quantity": "6", "expected_day": "2026-03-10"}
    ghost = mat | {"item_id": "ghost"}

    replies = [send(shop, TENT | {"item_id": "T-1"}, mat, ghost) for _ in range(2)]
    stored = listed(shop)
    send(shop)

    assert [reply.status for reply in replies] == [200, 200]
    assert replies[1].json == {"ok": True, "stored": 2, "unknown": ["ghost"]}
    assert stored == [mat | {"quantity": 6, "supplier": None}, TENT]
    assert listed(shop) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantity", 0),
        ("quantity", None),
        ("expected_day", "soon"),
        ("supplier", "x" * 101),
        ("item_id", ""),
    ],
)
def test_a_wrong_line_is_refused_with_its_field(
    shop: Merchant, field: str, value: object
) -> None:
    send(shop, TENT)

    reply = send(shop, TENT, TENT | {field: value})

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"][:4] == ["body", "lines", 1, field]
    assert listed(shop) == [TENT]
