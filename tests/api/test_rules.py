"""Merchandising rules over HTTP: applied within a second, everywhere, and explained."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.clock import system_ms
from productrecs.records.merchandising.rule import (
    ListKind,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.service import Merchant, Service, eventually

SOON = 30.0  # a second, and what a busy machine adds
FAMILY = [f"tent-{n}" for n in range(5)]
OTHERS = [f"lamp-{n}" for n in range(5)]


def calls(there: Merchant) -> dict[str, list[str]]:
    """Return the lists of every page type, of which some were answered from memory."""
    return {
        "product": there.recommend(item_id="tent-0", num=9).ids,
        "cart": there.recommend(item_ids="tent-0,tent-1", num=9).ids,
        "nobody": there.recommend(num=10).ids,
        "shopper": there.recommend(user_id="s0", num=10).ids,
        "buy": there.recommend(item_id="tent-0", source="buy", num=9).ids,
        "trending": there.trending(num=10).ids,
        "search": sorted(one["id"] for one in there.search("tent", num=5).json["results"]),
        "empty search": [one["id"] for one in there.search("", num=10).json["results"]],
    }


@pytest.fixture(scope="module")
def store(service: Service) -> Merchant:
    """Return a store that sold tents together, and learned from it."""
    merchant = service.register()
    merchant.push(
        *(
            {"id": one, "title": one, "price": 10, "categories": ["Tents"]}
            for one in FAMILY
        ),
        *({"id": one, "title": one, "price": 5, "categories": ["Lamps"]} for one in OTHERS),
    )
    for n in range(10):
        pair = [FAMILY[n % 5], FAMILY[(n + 1) % 5], FAMILY[(n + 2) % 5]]
        merchant.order(f"o{n}", *pair, user_id=f"c{n}")
        seen = {"event": "detail-page-view", "session_id": f"s{n}"}
        merchant.track(*({**seen, "item_id": one} for one in pair))
    service.train(merchant)
    for there in service.everywhere(merchant):
        eventually(lambda: knows_all(there))  # noqa: B023 - asked at once
    return merchant


def knows_all(there: Merchant) -> bool:
    """Tell whether all counts that was ordered; the background may know a part of it."""
    return all(calls(there).values()) and len(calls(there)["buy"]) == len(FAMILY) - 1


@pytest.fixture
def everywhere(service: Service, store: Merchant) -> list[Merchant]:
    """Return the store by each API process."""
    return service.everywhere(store)


@pytest.fixture
def rules(service: Service, everywhere: list[Merchant]) -> Iterator[RuleEditor]:
    """Give the store's rules; those that a test adds go with it."""
    with service.database() as database:
        store = find_store(database, everywhere[0].account.domain)
        rule_editor = RuleEditor(database, store, system_ms, "anna")
        yield rule_editor
        for rule in rule_editor.all():
            rule_editor.remove(rule.rule_id)


def soon(everywhere: list[Merchant], is_so: Any) -> None:
    for there in everywhere:
        eventually(lambda: is_so(calls(there)), SOON)  # noqa: B023 - asked at once


def test_what_is_excluded_is_gone_from_every_list_and_comes_back(
    everywhere: list[Merchant], rules: RuleEditor
) -> None:
    before = calls(everywhere[0])
    assert all("tent-2" in ids for ids in before.values())
    rule = rules.add(RuleContent(RuleAction.EXCLUDE, RuleTarget(items=("tent-2",))))

    soon(everywhere, lambda lists: all("tent-2" not in ids for ids in lists.values()))

    rules.change(rule.rule_id, enabled=False)
    soon(everywhere, lambda lists: lists == before)


def test_a_new_product_of_an_excluded_category_is_never_seen(
    everywhere: list[Merchant], rules: RuleEditor
) -> None:
    rules.add(
        RuleContent(
            RuleAction.EXCLUDE, RuleTarget(categories=("spares",), title_words=("Peg",))
        )
    )
    for n in range(8):
        spare = {"id": f"spare-{n}", "title": "A peg", "categories": ["Spares"]}
        everywhere[0].push(spare, {"id": f"new-{n}", "categories": ["Spares"]})
        for there in everywhere:
            assert f"spare-{n}" not in there.recommend(num=20).ids

    for there in everywhere:
        eventually(lambda: "new-7" in there.trending(num=20).ids, SOON)  # noqa: B023 - asked at once
        assert not any(one.startswith("spare") for one in there.trending(num=20).ids)
    for n in range(8):
        everywhere[0].delete(f"spare-{n}")
        everywhere[0].delete(f"new-{n}")
    for there in everywhere:
        eventually(lambda: "new-7" not in there.trending(num=20).ids)  # noqa: B023 - asked at once


def test_a_boost_holds_where_it_says(everywhere: list[Merchant], rules: RuleEditor) -> None:
    before = calls(everywhere[0])
    assert before["trending"][0] in FAMILY
    target = RuleTarget(categories=("LAMPS",), price_max=5)
    places = RuleListScope(only_in=(ListKind.TRENDING, ListKind.NO_CONTEXT))
    rules.add(RuleContent(RuleAction.BOOST, target, places=places, strength=50.0))

    soon(everywhere, lambda lists: set(lists["trending"][:5]) == set(OTHERS))

    for there in everywhere:
        lists = calls(there)
        first = lists["nobody"][:4]  # the fifth waits: no list is all of one category
        assert set(first) < set(OTHERS)
        assert set(lists["trending"]) == set(before["trending"])
        assert {k: lists[k] for k in ("product", "cart", "buy")} == {
            k: before[k] for k in ("product", "cart", "buy")
        }


def test_a_pin_is_at_its_position_but_not_in_buy(
    everywhere: list[Merchant], rules: RuleEditor
) -> None:
    rules.add(RuleContent(RuleAction.PIN, RuleTarget(items=("lamp-3",)), position=2))

    soon(everywhere, lambda lists: lists["product"][1] == "lamp-3")

    for there in everywhere:
        lists = calls(there)
        assert "lamp-3" not in lists.pop("buy")
        del (lists["search"], lists["empty search"])  # pins are for a query there
        assert {ids[1] for ids in lists.values()} == {"lamp-3"}
        assert all(len(set(ids)) == len(ids) for ids in lists.values())
        reply = there.recommend(item_id="lamp-3", num=4)
        assert "lamp-3" not in reply.ids


def test_what_is_explained_on_the_command_line_is_what_is_served(
    service: Service, everywhere: list[Merchant], rules: RuleEditor
) -> None:
    rules.add(
        RuleContent(RuleAction.BOOST, RuleTarget(categories=("Tents",)), name="Tents first")
    )
    rules.add(RuleContent(RuleAction.EXCLUDE, RuleTarget(items=("lamp-1",))))
    soon(everywhere, lambda lists: "lamp-1" not in lists["nobody"])
    served = everywhere[0].recommend(item_id="tent-0", user_id="s0", num=9).json
    trends = everywhere[0].trending(num=9).ids
    data = ("--data", str(service.folder), "--json")
    words = ("explain", everywhere[0].account.domain, *data, "--num", "9")

    def explained(*about: str) -> Any:
        result = CliRunner().invoke(productrecs, [*words, *about])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    explanation = explained("--item", "tent-0", "--shopper", "s0")
    trending = explained("--source", "trending")

    assert [(one["item_id"], one["source"]) for one in explanation["products"]] == [
        (one["id"], one["source"]) for one in served["recommendations"]
    ]
    for one, other in zip(explanation["products"], served["recommendations"], strict=True):
        assert float(f"{one['score']:.6g}") == other["score"]
    assert [one["item_id"] for one in trending["products"]] == trends
    assert explanation["products"][0]["rules"][0]["title"] == "Tents first"
    assert explanation["holdout"] is None


def test_each_store_obeys_its_own_rules(
    service: Service, everywhere: list[Merchant], rules: RuleEditor
) -> None:
    other = service.register()
    other.push({"id": "tent-0"}, {"id": "tent-2"})
    rules.add(RuleContent(RuleAction.EXCLUDE, RuleTarget(items=("tent-2",))))
    soon(everywhere, lambda lists: "tent-2" not in lists["trending"])

    for there in service.everywhere(other):
        eventually(lambda: set(there.trending().ids) == {"tent-0", "tent-2"}, SOON)  # noqa: B023 - asked at once
