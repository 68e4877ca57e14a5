"""Placements over HTTP: asked by name, changed within a second, and never twice a page."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.core.clock import system_ms
from productrecs.records.placements.placement import PlacementContent, Strategy
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.tenancy.accounts.store_management import find_store
from tests.api.test_recommendations import furnish, trained
from tests.support.service import Merchant, Service, eventually


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Return a store that has learned."""
    return trained(service, furnish(service.register()))


@pytest.fixture
def editor(service: Service, shop: Merchant) -> Iterator[PlacementEditor]:
    """Return the editor of the store's placements; those of a test are removed after it."""
    with service.database() as database:
        store = find_store(database, shop.account.domain)
        placements = PlacementEditor(database, store, system_ms)
        yield placements
        for one in placements.all():
            placements.remove(one.name)


def get_placement(shop: Merchant, name: str, **query: Any) -> Any:
    """Return the reply of a placement once it is known."""
    eventually(lambda: shop.recommend(placement=name).status == 200)
    return shop.recommend(placement=name, **query)


def test_a_placement_answers_by_its_name(shop: Merchant, editor: PlacementEditor) -> None:
    editor.add(
        "page",
        PlacementContent(
            Strategy.BUY, title="With {product}", num=3, fallback=Strategy.ON_SALE
        ),
    )

    reply = get_placement(shop, "page", item_id="tent-0", anchor="true")

    assert len(reply.ids) == 3
    assert reply.json["placement"] == {
        "name": "page", "title": "With tent-0", "num": 3, "minimum": 1,
    }  # fmt: skip
    assert reply.json["anchor"]["id"] == "tent-0"
    more = get_placement(shop, "page", item_id="tent-0", exclude=",".join(reply.ids))
    assert not set(more.ids) & {*reply.ids, "tent-0"}
    filtered = get_placement(shop, "page", item_id="tent-0", filter="brand:odd", num=2)
    assert {one.rsplit("-", 1)[1] for one in filtered.ids} <= {"1", "3", "5"}


def test_a_change_is_served_at_once_though_lists_are_cached(
    shop: Merchant, editor: PlacementEditor
) -> None:
    editor.add("home", PlacementContent(Strategy.NEW, num=2))
    before = get_placement(shop, "home").ids
    assert get_placement(shop, "home").ids == before

    editor.change("home", num=4, strategy=Strategy.ON_SALE)

    eventually(lambda: len(shop.recommend(placement="home").ids) == 4)
    editor.change("home", minimum=4, num=4, filters=("price:..1",))
    eventually(lambda: shop.recommend(placement="home").ids == [])


def test_a_shopper_gets_what_they_viewed(shop: Merchant, editor: PlacementEditor) -> None:
    editor.add("seen", PlacementContent(Strategy.RECENTLY_VIEWED))
    editor.add(
        "why", PlacementContent(Strategy.BECAUSE_VIEWED, title="As you saw {product}")
    )
    for item_id in ("lamp-1", "boot-2"):
        view = {"event": "detail-page-view", "item_id": item_id, "session_id": "s_eve"}
        assert shop.track(view).status == 200

    assert get_placement(shop, "seen", user_id="s_eve").ids == ["boot-2", "lamp-1"]
    assert get_placement(shop, "seen", user_id="s_eve", item_id="boot-2").ids == ["lamp-1"]
    because = get_placement(shop, "why", user_id="s_eve", item_id="boot-2")
    assert because.json["placement"]["title"] == "As you saw lamp-1"
    assert not {"boot-2", "lamp-1"} & set(because.ids)
    assert get_placement(shop, "why").json["placement"]["title"] is None


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"placement": "carts"}, 404, "there is no placement 'carts'; there are: cart"),
        ({"placement": "cart", "source": "buy"}, 422, "has its own strategy"),
        ({"placement": "cart", "num": "21"}, 422, "less than or equal to 20"),
        ({"placement": "x" * 99}, 404, "there is no placement"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    shop: Merchant, editor: PlacementEditor, query: dict[str, str], status: int, said: str
) -> None:
    editor.add("cart", PlacementContent())
    get_placement(shop, "cart")

    reply = shop.recommend(**query)

    assert reply.status == status
    assert said in reply.body.decode()


def test_a_store_without_placements_says_how_to_create_one(service: Service) -> None:
    reply = service.register().recommend(placement="cart", user_id="s_x")

    assert (reply.status, reply.json["code"]) == (404, "placement_unknown")
    assert "productrecs placements add DOMAIN cart" in reply.body.decode()


def test_the_command_line_adds_changes_explains_and_removes(
    service: Service, shop: Merchant, editor: PlacementEditor
) -> None:
    def run(*words: str) -> str:
        ran = CliRunner().invoke(productrecs, [*words, "--data", str(service.folder)])
        assert ran.exit_code == 0, ran.output
        return ran.output

    def placements(verb: str, *words: str) -> str:
        return run("placements", verb, shop.account.domain, *words)

    limits = ("--num", "4", "--minimum", "2")
    placements("add", "cart", "--strategy", "complementary", *limits)
    line = "cart: complementary, 4 products, hidden below 2, brand:Odd, then trending"
    changed = placements(
        "change", "cart", "--filter", "brand:Odd", "--fallback", "trending"
    )
    explained = run(
        "explain", shop.account.domain, "--placement", "cart", "--cart", "tent-0"
    )

    assert changed == f"Changed {line}\n"
    assert placements("list") == f"{line}\n"
    assert "placement cart\ncomplementary, page type cart, about tent-0" in explained
    assert "filtered" in explained
    placements("remove", "cart")
    assert editor.all() == []
    assert "placements add" in placements("list")
    named = ("--source", "buy", "--item", "tent-0", "--filter", "brand:Odd")
    assert "filtered" in run("explain", shop.account.domain, *named)
