"""Tests of variants over HTTP: sticky, counted once, and applied when one is chosen."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.experiments.experiment_measurement import (
    find_tests_to_measure,
    measure_and_store_test,
)
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.records.placements.placement import PlacementContent, Strategy
from productrecs.storage.sql.tables import exposures
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.service import Merchant, Reply, Service, add_placement, eventually

PATH: Final = "/integration/tests"
SHOPPERS: Final = [f"s_{n}" for n in range(24)]
TWO: Final = {
    "name": "cart-size",
    "placement": "cart",
    "variants": [{"name": "two", "share": 50, "changes": {"num": 2}}],
}


def call(shop: Merchant, method: str, **body: Any) -> Reply:
    data = json.dumps(body).encode() if body else None
    return shop.client.ask(method, PATH, data, shop.server)


def act(shop: Merchant, action: str, name: str = "cart-size", **more: str) -> Any:
    reply = call(shop, "PUT", name=name, action=action, **more)
    assert reply.status == 200, reply.body
    return reply.json


@pytest.fixture(scope="module")
def shop(service: Service) -> list[Merchant]:
    """Return a store with the placement `cart` of four products, by each API process."""
    merchant = service.register()
    merchant.push(*[{"id": f"lamp-{n}", "title": f"Lamp {n}"} for n in range(6)])
    merchant.push({"id": "lamp-7", "title": "Lamp 7", "stock_qty": 0})
    add_placement(merchant.account, "cart", PlacementContent(Strategy.NEW, num=4))
    everywhere = service.everywhere(merchant)
    eventually(
        lambda: all(
            there.recommend(placement="cart").status == 200
            and len(there.search("lamp").ids) == 7
            for there in everywhere
        ),
        20,
    )
    return everywhere


@pytest.fixture
def running(shop: list[Merchant]) -> Iterator[list[Merchant]]:
    """Return the store while half of the shoppers get two products in `cart`."""
    assert call(shop[0], "POST", **TWO).status == 200
    act(shop[0], "start")
    eventually(lambda: all(variant(there, "s_0") is not None for there in shop))
    yield shop
    tests = {one["name"]: one["state"] for one in call(shop[0], "GET").json["tests"]}
    if tests["cart-size"] != "ended":
        act(shop[0], "stop")
    act(shop[0], "remove")
    # The next test must not meet this one.
    eventually(lambda: all(variant(there, "s_0") is None for there in shop))


def variant(there: Merchant, shopper: str, **query: str) -> str | None:
    reply = there.recommend(placement="cart", user_id=shopper, **query)
    name: str | None = reply.json["placement"].get("variant")
    return name


def stored(service: Service, shop: Merchant) -> dict[str, str]:
    """Return the stored arms of the test `cart-size`, by identity."""
    with service.database() as database, database.reading() as connection:
        tests = ExperimentRepository(connection, StoreId(shop.account.store_id)).all()
        (name,) = [one.split.name for one in tests if one.name == "cart-size"]
        query = sa.select(exposures.c.identity, exposures.c.arm).where(
            exposures.c.store_id == shop.account.store_id, exposures.c.test == name
        )
        return {row[0]: row[1] for row in connection.execute(query)}


def test_each_shopper_has_one_variant_everywhere_and_is_stored_once(
    service: Service, running: list[Merchant]
) -> None:
    seen: dict[str, set[tuple[str, int]]] = {shopper: set() for shopper in SHOPPERS}
    for shopper, variants in seen.items():
        for there in running:
            for more in ({}, {"item_id": "lamp-1"}):
                reply = there.recommend(placement="cart", user_id=shopper, **more)
                variants.add((reply.json["placement"]["variant"], len(reply.ids)))

    assert {one for variants in seen.values() for one in variants} == {
        ("control", 4),
        ("two", 2),
    }
    assert all(len(variants) == 1 for variants in seen.values())
    assert 3 <= sum(("two", 2) in variants for variants in seen.values()) <= 21
    eventually(lambda: len(stored(service, running[0])) == len(SHOPPERS), 10)
    kept = stored(service, running[0])
    assert all({(kept[one], 2 if kept[one] == "two" else 4)} == seen[one] for one in kept)


def test_calls_without_a_shopper_get_the_control_and_are_not_counted(
    service: Service, running: list[Merchant]
) -> None:
    for there in running:
        for query in ({}, {"user_id": ""}, {"item_id": "lamp-1"}):
            reply = there.recommend(placement="cart", **query)
            assert len(reply.ids) >= 4
            assert "variant" not in reply.json["placement"]
        crawler = there.client.ask(
            "GET",
            there.target("/v1/recommendations", placement="cart", user_id="s_crawler"),
            headers={"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        )
        assert "variant" not in crawler.json["placement"]
    assert not {"", "s_crawler"} & set(stored(service, running[0]))


def test_a_shopper_who_signs_in_keeps_the_variant(running: list[Merchant]) -> None:
    for n in range(6):
        session, customer = f"s_in{n}", f"customer{n}"
        before = variant(running[0], session)
        view = {"event": "detail-page-view", "item_id": "lamp-1"}
        running[0].track({**view, "session_id": session, "user_id": customer})

        assert {variant(there, customer) for there in running} == {before}


def test_pausing_and_choosing_decide_what_everybody_gets(
    service: Service, running: list[Merchant]
) -> None:
    def sizes() -> set[int]:
        return {
            len(there.recommend(placement="cart", user_id=shopper).ids)
            for there in running
            for shopper in SHOPPERS[:20]
        }

    assert sizes() == {2, 4}
    act(running[0], "pause")
    eventually(lambda: sizes() == {4})
    act(running[0], "start")
    eventually(lambda: sizes() == {2, 4})

    chosen = act(running[0], "choose", variant="two")

    assert (chosen["state"], chosen["winner"]) == ("ended", "two")
    eventually(
        lambda: sizes() == {2} and len(running[1].recommend(placement="cart").ids) == 2
    )
    service.run("placements", "change", running[0].account.domain, "cart", "--num", "4")
    eventually(lambda: sizes() == {4})


def test_search_has_variants_each_with_its_cache(shop: list[Merchant]) -> None:
    hidden = {"name": "hidden", "share": 50, "changes": {"search_sold_out": "hidden"}}
    call(shop[0], "POST", name="sold-out", variants=[hidden])
    act(shop[0], "start", "sold-out")
    header = "x-search-variant"
    eventually(
        lambda: all(one.search("lamp", user_id="s_0").header(header) for one in shop)
    )

    seen: dict[str, set[tuple[str | None, int]]] = {}
    for shopper in SHOPPERS * 2:
        for there in shop:
            for more in ({}, {"offset": "0"}):
                reply = there.search("lamp", user_id=shopper, **more)
                outcome = (reply.header(header), len(reply.ids))
                seen.setdefault(shopper, set()).add(outcome)

    arms = {("sold-out=control", 7), ("sold-out=hidden", 6)}
    assert {one for variants in seen.values() for one in variants} == arms
    assert all(len(variants) == 1 for variants in seen.values())
    anonymous = shop[0].search("lamp")
    assert (anonymous.header(header), len(anonymous.ids)) == (None, 7)
    act(shop[0], "choose", "sold-out", variant="control")
    eventually(lambda: shop[0].search("lamp", user_id="s_0").header(header) is None)
    act(shop[0], "remove", "sold-out")


def test_the_report_counts_what_the_shoppers_of_each_variant_did(
    service: Service, running: list[Merchant]
) -> None:
    there = running[0]
    arms = {shopper: variant(there, shopper) for shopper in SHOPPERS}
    line = {"item_id": "lamp-1", "quantity": 1, "price": 20}
    for shopper, arm in arms.items():
        if arm == "two":
            about = {"item_id": "lamp-1", "session_id": shopper}
            there.track({"event": "rec-click", **about}, {"event": "add-to-cart", **about})
            there.order(f"order-{shopper}", line, session_id=shopper)
    eventually(lambda: len(stored(service, there)) >= len(SHOPPERS), 10)
    with service.database() as database:
        store = find_store(database, there.account.domain)
        (test,) = find_tests_to_measure(database, store, system_ms())
        measure_and_store_test(database, store, test, system_ms())

    target = "/integration/report?name=experiment&test=cart-size"
    report = there.client.ask("GET", target, None, there.server).json

    figures = {one["name"]: one["value"] for one in report["figures"]}
    two = sum(arm == "two" for arm in arms.values())
    for name in ("visitors", "clicks", "carts", "orders"):
        assert figures[f"{name}_two"] == two
    assert figures["revenue_two"] == 20 * two
    assert figures["orders_control"] == 0
    assert figures["visitors_control"] == len(SHOPPERS) - two
    assert figures["advice"].startswith("Go on")
    assert {(row["variant"], row["metric"]) for row in report["rows"]} == {
        ("two", name) for name in ("clicks", "carts", "orders", "revenue")
    }


def with_variant(**fields: Any) -> dict[str, Any]:
    return TWO | {"variants": [{"name": "b", "share": 5, "changes": {}} | fields]}


@pytest.mark.parametrize(
    ("method", "body", "status", "said"),
    [
        ("POST", {"x": 1}, 422, "Field required"),
        ("POST", TWO | {"placement": "page"}, 404, "placement_unknown"),
        ("POST", TWO | {"goal": "fame"}, 422, "Input should be"),
        ("POST", TWO | {"shares": 1}, 422, "Extra inputs"),
        ("POST", TWO | {"variants": []}, 422, "1 to 4 variants"),
        ("POST", TWO | {"name": "\0"}, 422, "lower-case letters"),
        ("POST", TWO | {"name": "cart-size\n"}, 422, "lower-case letters"),
        ("POST", with_variant(share=100), 422, "share"),
        ("POST", with_variant(changes={"num": 9e99}), 422, "b: "),
        ("POST", with_variant(changes={"num": [[[]]]}), 422, "b: "),
        ("POST", with_variant(changes={"title": "\ud800"}), 422, ""),
        ("POST", with_variant(changes={"x" * 9_999: 1}), 422, "to change"),
        ("PUT", {"name": "nothing", "action": "start"}, 404, "test_unknown"),
        ("PUT", {"name": "cart-size", "action": "explode"}, 422, "Input should be"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    shop: list[Merchant], method: str, body: dict[str, Any], status: int, said: str
) -> None:
    reply = call(shop[0], method, **body)

    assert reply.status == status, reply.body
    assert said in reply.body.decode()
    assert call(shop[0], "GET").json == {"tests": []}


def test_another_store_and_the_publishable_key_see_and_change_nothing(
    service: Service, running: list[Merchant]
) -> None:
    other = service.register()

    assert call(other, "GET").json == {"tests": []}
    assert call(other, "PUT", name="cart-size", action="stop").status == 404
    public = {"x-pub-key": running[0].account.publishable}
    assert running[0].client.ask("GET", PATH, None, public).status == 401
    assert variant(running[0], "s_0") is not None


def test_the_command_line_adds_starts_explains_chooses_and_removes(
    service: Service, shop: list[Merchant]
) -> None:
    domain = shop[0].account.domain

    def run(*words: str) -> str:
        result = CliRunner().invoke(productrecs, [*words, "--data", str(service.folder)])
        assert result.exit_code == 0, result.output
        return result.output

    changes = ("--set", "b.num=3", "--set", "b.filters=price:..50", "--set", "b.filters=")
    shares = ("--placement", "cart", "--variant", "b=90", "--goal", "orders")
    added = run("tests", "add", domain, "size", *shares, *changes)
    run("tests", "start", domain, "size")

    place = ("explain", domain, "--placement", "cart", "--shopper")
    explanations = [run(*place, one) for one in SHOPPERS[:9]]

    assert added == "Added size: placement cart, control 10 %, b 90 %, draft\n"
    assert any("test size: this shopper gets the variant b" in one for one in explanations)
    assert "visitors yet" in run("report", domain, "experiment", "--test", "size")
    chosen = run("tests", "choose", domain, "size", "control")
    assert chosen.startswith("Chose control of size")
    listed = json.loads(run("tests", "list", domain, "--json"))
    assert listed[0]["variants"][0]["changes"] == {"filters": ["price:..50"], "num": 3}
    run("tests", "remove", domain, "size")
    assert "tests add" in run("tests", "list", domain)
    wrong = ["tests", "add", domain, "x", "--variant", "b=half"]
    result = CliRunner().invoke(productrecs, [*wrong, "--data", str(service.folder)])
    assert "NAME=SHARE" in result.output
