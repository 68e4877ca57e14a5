"""Bundles over HTTP and on the command line: proposed, decided, served, and refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.clock import system_ms
from productrecs.records.placements.placement import PlacementContent, Strategy
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.service import Merchant, Reply, Service, eventually

PATH = "/integration/bundles"


def furnish(service: Service) -> Merchant:
    """Return a store that sold tents with mats and lamps with mugs, with a placement."""
    merchant = service.register()
    items = [
        {"id": one, "title": one.title(), "price": 10 * n, "cost": 4 * n}
        for n, one in enumerate(("tent", "mat", "lamp", "mug", "boat"), 1)
    ]
    assert merchant.push(*items).status == 200
    sold = [("tent", "mat")] * 12 + [("lamp", "mug")] * 10 + [("boat",)] * 60
    for number, items_of_order in enumerate(sold):
        assert merchant.order(f"o-{number}", *items_of_order).status == 200
    service.train(merchant)
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        editor = PlacementEditor(database, store, system_ms)
        editor.add("set", PlacementContent(Strategy.BUNDLE, title="Complete the set"))
    return merchant


@pytest.fixture(scope="module")
def trained(service: Service) -> Merchant:
    """Return a store whose orders hold two sets."""
    merchant = furnish(service)
    eventually(lambda: len(listed(merchant)) == 2)
    eventually(lambda: merchant.recommend(placement="set").status == 200)
    return merchant


@pytest.fixture
def shop(trained: Merchant) -> Iterator[Merchant]:
    """Return the store; what a test decides is forgotten after it."""
    yield trained
    for one in listed(trained):
        if one["id"] is not None:
            assert send(trained, "DELETE", id=one["id"]).status == 200


def send(shop: Merchant, method: str, body: Any = None, **query: Any) -> Reply:
    """Return the reply of the bundles' route."""
    path = PATH + "".join(f"?{name}={value}" for name, value in query.items())
    sent = None if body is None else json.dumps(body).encode()
    return shop.client.ask(method, path, sent, shop.server)


def listed(shop: Merchant) -> list[dict[str, Any]]:
    """Return the stored and the proposed bundles."""
    bundles = send(shop, "GET").json["bundles"]
    assert isinstance(bundles, list)
    return bundles


def states(shop: Merchant) -> dict[str, str]:
    """Return the state of each set."""
    return {" ".join(one["item_ids"]): one["state"] for one in listed(shop)}


def test_a_proposal_is_accepted_served_changed_and_rejected(shop: Merchant) -> None:
    camp = next(one for one in listed(shop) if "tent" in one["item_ids"])
    assert camp | {"lift": 0, "item_ids": []} == {
        "id": None, "version": None, "state": "proposed", "name": None, "item_ids": [],
        "titles": ["Tent", "Mat"], "orders": 12, "lift": 0, "sum": 30, "price": 30,
        "discount_percent": None, "discount_amount": None, "cost": 12, "margin": 18,
        "is_shown": False,
    }  # fmt: skip
    assert camp["lift"] > 1.5

    body = {"item_ids": camp["item_ids"], "name": "Night", "discount_percent": "10"}
    made = send(shop, "POST", body).json

    assert (made["state"], made["price"], made["margin"]) == ("accepted", 27, 15)
    assert made["is_shown"] is True
    eventually(lambda: shop.recommend(placement="set", item_id="tent").ids == ["mat"])
    reply = shop.recommend(placement="set", item_id="tent", anchor="true").json
    assert reply["recommendations"][0]["source"] == "bundle"
    assert reply["anchor"]["id"] == "tent"
    assert reply["placement"]["minimum"] == 1  # a page shows all of it or nothing
    assert reply["bundle"] == {
        "id": made["id"], "name": "Night", "item_ids": ["tent", "mat"], "sum": 30,
        "discount_percent": 10, "discount_amount": None, "price": 27,
    }  # fmt: skip
    assert "bundle" not in shop.recommend(placement="set", item_id="boat").json
    assert states(shop) == {"tent mat": "accepted", "lamp mug": "proposed"}

    changed = send(shop, "PUT", {"discount_amount": 5}, id=made["id"]).json
    assert (changed["discount_percent"], changed["price"]) == (None, 25)
    eventually(
        lambda: (
            shop.recommend(placement="set", item_id="tent").json["bundle"]["price"] == 25
        )
    )
    assert shop.push({"id": "mat", "price": 40}).status == 200
    eventually(
        lambda: shop.recommend(placement="set", item_id="tent").json["bundle"]["sum"] == 50
    )
    assert shop.push({"id": "mat", "price": 20, "stock_qty": 0}).status == 200
    eventually(lambda: shop.recommend(placement="set", item_id="tent").ids == [])
    assert shop.push({"id": "mat", "stock_qty": 5}).status == 200
    send(shop, "PUT", {"state": "rejected"}, id=made["id"])
    eventually(lambda: shop.recommend(placement="set", item_id="tent").ids == [])
    assert states(shop) == {"tent mat": "rejected", "lamp mug": "proposed"}


def test_a_changed_proposal_is_not_proposed_again(shop: Merchant) -> None:
    body = {"item_ids": ["lamp", "boat"], "proposed_item_ids": ["lamp", "mug"]}

    assert send(shop, "POST", body).status == 200

    assert states(shop) == {"lamp boat": "accepted", "tent mat": "proposed"}


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "item_ids", "name the bundle's two to four products"),
        ({"item_ids": ["tent"]}, "item_ids", "has 2 to 4 products; this one has 1"),
        ({"item_ids": list("abcde")}, "item_ids", "at most 4 items"),
        ({"item_ids": ["tent", "tent"]}, "item_ids", "twice"),
        ({"item_ids": ["tent", "no"]}, "item_ids", "no product 'no'; push it first"),
        ({"item_ids": ["tent", "a\0"]}, "item_ids", "NUL"),
        ({"item_ids": "tent,mat"}, "item_ids", "list"),
        ({"item_ids": ["tent", {}]}, "item_ids", "string or an integer"),
        ({"item_ids": ["tent", "mat"], "name": "x" * 201}, "name", "at most 200"),
        ({"item_ids": ["tent", "mat"], "name": 7}, "name", "string"),
        ({"item_ids": ["tent", "mat"], "state": "sold"}, "state", "'accepted'"),
        ({"item_ids": ["tent", "mat"], "discount_percent": 100}, "discount_percent",
         "below 100 percent"),
        ({"item_ids": ["tent", "mat"], "discount_percent": "1e999"}, "discount_percent",
         "finite"),
        ({"item_ids": ["tent", "mat"], "discount_amount": 30}, "discount_amount",
         "not below the sum of the prices (30)"),
        ({"item_ids": ["tent", "mat"], "discount_amount": 1, "discount_percent": 1},
         "discount_amount", "not both"),
        ([], "", "dictionary"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_422_with_its_remedy(
    shop: Merchant, body: Any, field: str, said: str
) -> None:
    reply = send(shop, "POST", body)

    assert reply.status == 422
    problem = reply.json["detail"][0]
    assert problem["loc"][:2] == (["body", field] if field else ["body"])
    assert said in problem["msg"]
    assert all(one["id"] is None for one in listed(shop))


def test_other_stores_bundles_and_older_versions_are_refused(
    service: Service, shop: Merchant
) -> None:
    made = send(shop, "POST", {"item_ids": ["tent", "mat"]}).json
    number, version = made["id"], made["version"]
    other = service.register()
    for method, body in (("PUT", {"name": "Mine"}), ("DELETE", None)):
        reply = send(other, method, body, id=number)
        assert (reply.status, reply.json["code"]) == (404, "bundle_unknown")
    for wrong in ("0", "x", str(2**60)):
        assert send(shop, "PUT", {"name": "A"}, id=wrong).status == 422

    first = send(shop, "PUT", {"name": "A", "version": version}, id=number)
    second = send(shop, "PUT", {"name": "B", "version": version}, id=number)

    assert first.json["name"] == "A"
    assert (second.status, second.json["code"]) == (409, "bundle_changed")
    again = send(shop, "POST", {"item_ids": ["mat", "tent"]})
    assert f"bundle {number} has these products already" in again.body.decode()


def test_the_command_line_does_the_same(service: Service, shop: Merchant) -> None:
    def run(verb: str, *words: str, fails: bool = False) -> str:
        call = ["bundles", verb, shop.account.domain, *words, "--data", str(service.folder)]
        result = CliRunner().invoke(productrecs, call)
        assert (result.exit_code != 0) is fails, result.output
        return result.output

    made = run("add", "tent", "mat", "--name", "Night", "--percent", "10")
    number = made.split()[2]
    assert made == f"Added bundle {number} (Night): tent + mat\n"
    assert "Rejected bundle" in run("reject", "lamp", "mug")
    listed = run("list")
    assert f"{number} accepted: tent + mat, Night, in 12 orders" in listed
    assert "sum 30.00, price 27.00, margin 15.00" in listed
    assert "rejected: lamp + mug" in listed
    run("change", number, "--amount", "3", "--item", "tent", "--item", "boat")
    first = json.loads(run("list", "--json"))[0]
    assert (first["item_ids"], first["price"]) == (["tent", "boat"], 57)
    run("change", number, "--no-discount", "--state", "rejected")
    run("remove", number)
    assert "there is no bundle" in run("remove", number, fails=True)
    assert "has 2 to 4 products" in run("add", "tent", fails=True)
