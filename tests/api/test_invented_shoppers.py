"""Invented shoppers: what one network sends moves nobody else's lists beyond its share."""

import json

from tests.api.stored import event_rows, line_rows
from tests.support.service import Merchant, Service, eventually

ITEMS = ("bestseller", "partner", "junk", *(f"item-{number}" for number in range(6)))


def shop_of(service: Service, share: int) -> Merchant:
    """Return a store with a little history, whose bestseller is bought with `partner`."""
    merchant = service.register(network_share=str(share))
    merchant.push(*({"id": one, "title": one} for one in ITEMS))
    for number in range(30):
        visit(merchant, number, f"9.9.{number}.1", "bestseller", "partner")
        order(merchant, f"A-{number}", f"9.9.{number}.1", "bestseller", "partner")
    return merchant


def visit(merchant: Merchant, number: int | str, address: str, *items: str) -> None:
    events = [
        {"event": "detail-page-view", "item_id": item, "session_id": f"s_{number}"}
        for item in items
    ]
    target, headers = merchant.target("/v1/events"), {"x-forwarded-for": address}
    body = json.dumps(events).encode()
    assert merchant.client.ask("POST", target, body, headers).status == 200


def order(merchant: Merchant, order_id: str, address: str, *items: str) -> None:
    lines = [{"item_id": item} for item in items]
    body = json.dumps({"order_id": order_id, "items": lines}).encode()
    target, headers = merchant.target("/v1/orders"), {"x-forwarded-for": address}
    assert merchant.client.ask("POST", target, body, headers).json["duplicate"] is False


def poison(merchant: Merchant) -> None:
    for number in range(50):
        visit(merchant, f"x{number}", "203.0.113.7", "bestseller", "junk")
        order(merchant, f"X-{number}", "203.0.113.7", "junk", "bestseller")


def firsts(merchant: Merchant) -> list[str]:
    """Return the first of the lists that an attacker wants."""
    others = [one for one in merchant.trending().ids if one != "bestseller"]
    together = merchant.recommend(source="buy", item_id="bestseller").ids
    page = merchant.recommend(source="browse", item_id="bestseller").ids
    return [*others[:1], *together[:1], *page[:1]]


def test_one_network_does_not_take_over_lists(service: Service) -> None:
    merchant = shop_of(service, 5)

    poison(merchant)
    service.train(merchant)

    assert eventually(lambda: firsts(merchant) == ["partner"] * 3)
    assert sum(row["excess"] for row in event_rows(service, merchant)) > 80
    assert sum(row["excess"] for row in line_rows(service, merchant)) > 80


def test_control_without_a_limit_it_does(service: Service) -> None:
    merchant = shop_of(service, 0)

    poison(merchant)
    service.train(merchant)

    assert eventually(lambda: firsts(merchant) == ["junk"] * 3)


def test_orders_of_the_shops_server_leave_no_room_for_false_ones(service: Service) -> None:
    merchant = shop_of(service, 0)
    merchant.order("confirmed", "bestseller", "partner")

    for number in range(50):
        order(merchant, f"X-{number}", f"203.0.113.{number}", "junk", "bestseller")
    service.train(merchant)

    assert eventually(lambda: firsts(merchant)[:2] == ["partner"] * 2)
