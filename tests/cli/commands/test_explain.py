"""`productrecs explain`: a list with its reasons, as text and as JSON."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import BOTH, CommandLine

ITEMS = """id,title,categories,stock_qty
tent,Tent,Camping,
peg,Peg,Camping,
lamp,Lamp,Camping|Light,
rope,Rope,Climbing,
sold,Sold,Camping,0
"""
ORDERS = """order_id,item_id,customer_id,timestamp
1,tent,anna,2026-03-01
1,peg,anna,2026-03-01
2,tent,ben,2026-03-01
2,peg,ben,2026-03-01
3,tent,eve,2026-03-01
3,sold,eve,2026-03-01
4,rope,eve,2026-03-01
"""


@pytest.fixture
def trained_store(
    shell: CommandLine, shop: str, write: Callable[[str, str | bytes], str]
) -> str:
    """Return the domain of a store with a small past."""
    shell("import-items", shop, write("items.csv", ITEMS))
    shell("import-orders", shop, write("orders.csv", ORDERS))
    shell("train", shop, PRODUCTRECS_NOW="2026-03-05T12:00:00Z")
    return shop


@BOTH
def test_explain_prints_a_list_with_its_reasons(
    shell: CommandLine, trained_store: str
) -> None:
    shell("rules", "add", trained_store, "exclude", "--item", "rope", "--name", "no ropes")
    shell("rules", "add", trained_store, "pin", "--item", "lamp", "--position", "1")
    shell("settings", trained_store, "holdout_percent=50")

    explanation = shell.json(
        "explain", trained_store, "--item", "tent", "--customer", "dora"
    )
    words = shell("explain", trained_store, "--item", "tent", "--num", "3")
    cheap = shell.json("explain", trained_store, "--item", "tent", "--filter", "price:..5")

    assert [one["item_id"] for one in explanation["products"]] == ["lamp", "peg"]
    assert explanation["products"][1]["bought_with"] == [
        {"item_id": "tent", "baskets": 2, "has_variants": False}
    ]
    assert explanation["holdout"] in {"shown", "held_out"}
    assert "mix, page type product, about tent (Tent)" in words
    assert "1. lamp (Lamp)  category: pinned by rule 2; in the category Camping" in words
    assert "peg (Peg)  buy: no. 1 of buy; in 2 baskets with tent (Tent)" in words
    assert "sold (Sold)  sold out; no. 2 of buy" in words
    assert explanation["titles"]["peg"] == "Peg"
    assert cheap["products"] == []
    assert "UNKNOWN" not in words


@BOTH
def test_what_a_shopper_bought_is_struck_out(
    shell: CommandLine, trained_store: str
) -> None:
    anna = shell.json("explain", trained_store, "--item", "tent", "--shopper", "anna")

    assert {one["item_id"]: one["why"] for one in anna["struck"]}["peg"] == "bought"
    assert "peg" not in [one["item_id"] for one in anna["products"]]


def test_trending_and_a_cart_are_explained_too(
    shell: CommandLine, trained_store: str
) -> None:
    cart = shell.json("explain", trained_store, "--cart", "tent", "--cart", "rope")
    trending = shell("explain", trained_store, "--source", "trending", "--num", "2")

    assert (cart["page_type"], cart["anchors"]) == ("cart", ["tent", "rope"])
    assert "1. tent (Tent)  trending: no. 1 in trending" in trending


def test_explain_names_unknown_ids(shell: CommandLine, trained_store: str) -> None:
    call = ("explain", trained_store, "--item", "tnet", "--cart", "tent", "--cart", "lamb")

    words = shell(*call, "--shopper", "anna", "--customer", "nobody")
    explanation = shell.json(*call, "--shopper", "anna", "--customer", "nobody")

    assert "UNKNOWN: tnet is not in the catalog; the id is ignored" in words
    assert "UNKNOWN: lamb is not in the catalog; the id is ignored" in words
    assert "UNKNOWN: no event or order has the shopper nobody" in words
    assert words.count("UNKNOWN") == 3  # the tent is known, and so is anna
    assert explanation["unknown_items"] == ["tnet", "lamb"]
    assert explanation["unknown_shoppers"] == ["nobody"]


def test_who_is_held_out_is_said(shell: CommandLine, trained_store: str) -> None:
    shell("settings", trained_store, "holdout_percent=90")
    said = [shell("explain", trained_store, "--shopper", f"s_{n}") for n in range(8)]

    assert any("HELD OUT" in one for one in said)
    assert "HELD OUT" not in shell("explain", trained_store)


def test_similar_needs_an_item(shell: CommandLine, trained_store: str) -> None:
    refused = shell.run("explain", trained_store, "--source", "similar")

    assert refused.exit_code == 2
    assert "--item" in refused.stderr


def test_an_empty_store_has_an_empty_list(shell: CommandLine, shop: str) -> None:
    assert "the list is empty" in shell("explain", shop)
    assert shell.json("explain", shop)["products"] == []
