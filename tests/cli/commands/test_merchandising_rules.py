"""`productrecs rules`: added, listed, disabled and removed."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import BOTH, CommandLine

NOW = "2026-12-05T12:00:00Z"


@BOTH
def test_a_new_rule_is_printed_as_it_was_given(shell: CommandLine, shop: str) -> None:
    added = shell.json(
        "rules",
        "add",
        shop,
        "boost",
        *("--category", "Zelte & Co", "--category", "Sale", "--title", "winter coat"),
        *("--attribute", "brand:Acme", "--attribute", "color: Red"),
        *("--price-min", "10", "--price-max", "99.5", "--strength", "2.5"),
        *("--in", "cart", "--in", "mix", "--not-in", "trending", "--priority", "-2"),
        *("--placement", "home"),
        *("--from", "2026-12-01", "--until", "2026-12-24T18:00", "--name", "Räumung"),
        PRODUCTRECS_NOW=NOW,
    )

    listed = shell.json("rules", "list", shop, PRODUCTRECS_NOW=NOW)

    assert listed == [{**added, "state": "on"}]
    assert added == {
        "id": 1,
        "name": "Räumung",
        "action": "boost",
        "items": [],
        "categories": ["Zelte & Co", "Sale"],
        "title_words": ["coat", "winter"],
        "price_min": 10.0,
        "price_max": 99.5,
        "attributes": ["brand:Acme", "color:Red"],
        "in": ["cart", "mix"],
        "not_in": ["trending"],
        "placements": ["home"],
        "from": "2026-12-01",
        "until": "2026-12-24T18:00:00",
        "priority": -2,
        "strength": 2.5,
        "position": None,
        "enabled": True,
        "created_at": "2026-12-05T12:00:00.000Z",
        "updated_at": "2026-12-05T12:00:00.000Z",
    }


ITEMS = """id,title,price,categories,brand
tent,Tent for two,149,Camping,Acme
stove,Gas stove,39,Camping,Acme
rope,Rope,89,Climbing,
"""


@BOTH
def test_a_new_rule_says_how_many_products_it_selects(
    shell: CommandLine, shop: str, write: Callable[[str, str], str]
) -> None:
    shell("import-items", shop, write("items.csv", ITEMS))
    cases = {
        ("--category", "camping", "--from", "2036-12-01"): "It selects 2 products now.",
        ("--category", "Camping", "--price-min", "100"): "It selects 1 product now.",
        ("--title", "tent", "--disabled"): "It selects 1 product now.",
        ("--attribute", "brand:Acme"): "It selects 2 products now.",
        ("--category", "Camping gear"): "It selects no product now: compare its ids,",
        ("--item", "nowhere"): "It selects no product now: compare its ids,",
    }
    for options, expected in cases.items():
        result = shell.run("rules", "add", shop, "bury", *options)

        assert result.exit_code == 0, result.output
        assert result.stderr.startswith(expected), options


def test_a_list_says_which_rules_are_in_force(shell: CommandLine, shop: str) -> None:
    shell("rules", "add", shop, "exclude", "--item", "a", "--disabled")
    shell("rules", "add", shop, "boost", "--category", "Sale", "--from", "2027-01-01")
    shell("rules", "add", shop, "bury", "--price-max", "5", "--until", "2026-12-01")
    shell("rules", "add", shop, "pin", "--item", "b", "--item", "c", "--position", "2")

    listed = shell("rules", "list", shop, PRODUCTRECS_NOW=NOW).splitlines()

    assert [" ".join(line.split()) for line in listed] == [
        "1 off exclude a",
        "2 waiting boost in Sale from 2027-01-01",
        "3 over bury up to 5 until 2026-12-01",
        "4 on pin b or c at 2",
    ]


def test_without_rules_the_list_says_how_to_add_one(shell: CommandLine, shop: str) -> None:
    assert f"rules add {shop} boost" in shell("rules", "list", shop)
    assert shell.json("rules", "list", shop) == []
    assert shell("rules", "history", shop) == "No rule has been changed yet.\n"


@BOTH
def test_a_rule_is_switched_and_removed_and_remembered(
    shell: CommandLine, shop: str
) -> None:
    shell("rules", "add", shop, "exclude", "--item", "a")

    assert shell("rules", "disable", shop, "1") == "Disabled rule 1: exclude a\n"
    assert shell.json("rules", "list", shop)[0]["state"] == "off"
    assert shell.json("rules", "enable", shop, "1")["enabled"] is True
    assert shell("rules", "remove", shop, "1") == "Removed rule 1: exclude a\n"
    assert shell.json("rules", "list", shop) == []

    history = shell.json("rules", "history", shop)
    assert [one["what"] for one in history] == ["removed", "changed", "changed", "added"]
    assert {one["by"] for one in history} == {"command line"}
    assert "removed 1  exclude a" in shell("rules", "history", shop).splitlines()[0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add", "SHOP", "exclude"], "choose products"),
        (["add", "SHOP", "pin", "--item", "a"], "position from 1 to 20"),
        (["add", "SHOP", "boost", "--item", "a", "--strength", "0.5"], "above 1"),
        (["add", "SHOP", "boost", "--item", "a", "--from", "soon"], "write a date such as"),
        (["remove", "SHOP", "7"], "there is no rule 7; there are: none"),
        (["enable", "SHOP", "7"], "there is no rule 7"),
        (["list", "nowhere.example"], "no store has the domain"),
    ],
)
def test_what_is_wrong_is_one_line(
    shell: CommandLine, shop: str, words: list[str], reason: str
) -> None:
    assert reason in shell.refused("rules", *(shop if w == "SHOP" else w for w in words))


def test_a_place_or_action_that_is_not_there_is_a_mistake_of_usage(
    shell: CommandLine, shop: str
) -> None:
    place = shell.run("rules", "add", shop, "boost", "--item", "a", "--in", "kitchen")
    action = shell.run("rules", "add", shop, "hide", "--item", "a")

    assert (place.exit_code, action.exit_code) == (2, 2)
    assert "trending" in place.stderr
    assert "exclude" in action.stderr
