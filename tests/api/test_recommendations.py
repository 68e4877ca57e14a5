"""GET /v1/recommendations: which products, from which source, and which never."""

from functools import partial
from typing import Final
from urllib.parse import urlencode

import pytest

from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.support.service import Merchant, Reply, Service, eventually

# Three families of items that are bought and seen together, and one that nobody touched.
FAMILIES: Final = {
    "tent": [f"tent-{n}" for n in range(6)],
    "lamp": [f"lamp-{n}" for n in range(6)],
    "boot": [f"boot-{n}" for n in range(6)],
    "rare": [f"rare-{n}" for n in range(6)],
}
LEARNED: Final = ("tent", "lamp", "boot")  # what is ordered, in this order
EVERYTHING: Final = [item_id for family in FAMILIES.values() for item_id in family]
SOURCES: Final = {"buy", "browse", "complementary", "similar", "category", "trending"}


def furnish(merchant: Merchant) -> Merchant:
    """Give a store its catalog, and a past in which families go together."""
    items = [
        {
            "id": item_id,
            "title": item_id,
            "price": 10 + n,
            "list_price": 12,
            "brand": "Even" if n % 2 == 0 else "Odd",
            "categories": ["Outdoor", name],
        }
        for name, family in FAMILIES.items()
        for n, item_id in enumerate(family)
    ]
    assert merchant.push(*items).json["created"] == len(EVERYTHING)
    for name in LEARNED:
        family = FAMILIES[name]
        for n in range(12):
            together = [family[(n + step) % 6] for step in range(3)]
            assert (
                merchant.order(f"{name}-{n}", *together, user_id=f"c{n}{name}").status
                == 200
            )
            seen: list[dict[str, object]] = [
                {
                    "event": "detail-page-view",
                    "item_id": item_id,
                    "session_id": f"s{n}{name}",
                }
                for item_id in together
            ]
            assert merchant.track(*seen).status == 200
    return merchant


def trained(service: Service, merchant: Merchant) -> Merchant:
    """Let the store learn, and wait until every process serves what it learned."""
    service.train(merchant)
    everywhere = service.everywhere(merchant)
    eventually(lambda: all(map(_knows_all, everywhere)))
    return everywhere[0]


def _knows_all(merchant: Merchant) -> bool:
    """Tell whether all counts that was ordered; the background may know a part of it."""
    return all(
        merchant.recommend(source="buy", item_id=f"{family}-5").ids for family in LEARNED
    )


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Return a store that has learned; tests add shoppers of their own, no items."""
    return trained(service, furnish(service.register()))


@pytest.fixture
def own_shop(service: Service) -> Merchant:
    """Return a store that has learned, to change at will."""
    return trained(service, furnish(service.register()))


def check_list(reply: Reply, num: int) -> None:
    """Whatever was asked, a list is well-formed."""
    assert reply.status == 200, reply
    products = reply.json["recommendations"]
    assert len(products) <= num
    assert len(set(reply.ids)) == len(products)
    for product in products:
        assert set(product) == {
            *("id", "title", "price", "image_url", "product_url", "score", "source")
        }
        assert product["source"] in SOURCES
        assert product["score"] > 0
    scores = [product["score"] for product in products]
    assert scores == sorted(scores, reverse=True)


def locs(reply: Reply) -> list[list[str]]:
    assert reply.status == 422, reply
    return [problem["loc"] for problem in reply.json["detail"]]


def family_of(item_ids: list[str]) -> set[str]:
    return {item_id.split("-")[0] for item_id in item_ids}


QUERIES: Final[list[dict[str, object]]] = [
    {},
    {"item_id": "tent-0"},
    {"item_id": "rare-0"},
    {"item_id": "unknown"},
    {"item_ids": "tent-0,lamp-0"},
    {"item_ids": "unknown,,tent-1,tent-1"},
    {"item_id": "tent-0", "item_ids": "lamp-1"},
    {"user_id": "c0tent"},
    {"customer_id": "c0tent", "user_id": "s0lamp"},
    {"user_id": "nobody"},
    {"item_id": "tent-0", "user_id": "s1boot"},
]


@pytest.mark.parametrize(
    ("filters", "numbers", "families"),
    [
        (["brand:even"], {0, 2, 4}, set(FAMILIES)),
        (["price:11..13"], {1, 2, 3}, set(FAMILIES)),
        (["on_sale:true"], {0, 1}, set(FAMILIES)),
        (["categories:lamp", "categories:boot"], set(range(6)), {"lamp", "boot"}),
        (["categories:lamp", "brand:Odd", "in_stock:true"], {1, 3, 5}, {"lamp"}),
        (["brand:Nobody"], set(), set()),
    ],
)
@pytest.mark.parametrize("source", ["mix", "browse", "buy", "similar", "trending"])
def test_a_filtered_list_has_only_what_passes_and_is_filled_with_it(
    shop: Merchant, source: str, filters: list[str], numbers: set[int], families: set[str]
) -> None:
    passing = {f"{name}-{n}" for name in families for n in numbers}
    path, calls = "trending", [dict[str, object]()]
    if source != "trending":
        passing.discard("tent-0")
        path, page = "recommendations", {"source": source, "item_id": "tent-0"}
        calls = [{**page}, {**page, "user_id": "s0lamp"}]

    for call in calls:
        pairs = [*call.items(), ("num", 20), ("key", shop.account.publishable)]
        address = urlencode([*pairs, *(("filter", one) for one in filters)])
        reply = shop.client.ask("GET", f"/v1/{path}?{address}")

        check_list(reply, 20)
        assert set(reply.ids) <= passing
        if source == "buy":
            assert family_of(reply.ids) <= {"tent"}
        else:
            assert len(reply.ids) == min(20, len(passing))


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ({"filter": "price:cheap"}, ["query", "filter", "0"]),
        ({"filter": "colour:red"}, ["query", "filter", "0"]),
        ({"brand": "Acme"}, ["query", "brand"]),
        ({"in_stock": "true"}, ["query", "in_stock"]),
        ({"price_max": "9"}, ["query", "price_max"]),
    ],
)
def test_a_filter_that_is_none_is_refused(
    shop: Merchant, query: dict[str, object], loc: list[str]
) -> None:
    for path in ("recommendations", "trending"):
        address = urlencode({**query, "key": shop.account.publishable})
        places = locs(shop.client.ask("GET", f"/v1/{path}?{address}"))
        assert [list(map(str, one)) for one in places] == [loc]


@pytest.mark.parametrize("source", ["mix", "browse", "buy", "similar"])
@pytest.mark.parametrize("num", [1, 7, 20])
def test_every_list_is_whole_and_in_order(shop: Merchant, source: str, num: int) -> None:
    for query in QUERIES:
        if source == "similar" and "item_id" not in query:
            continue
        reply = shop.recommend(source=source, num=num, **query)

        check_list(reply, num)
        if source != "buy":
            assert len(reply.ids) == num, query


@pytest.mark.parametrize("source", ["mix", "browse", "buy", "similar"])
def test_the_page_and_the_basket_are_never_recommended(shop: Merchant, source: str) -> None:
    for anchor in EVERYTHING:
        reply = shop.recommend(
            source=source, num=20, item_id=anchor, item_ids="tent-1,lamp-2"
        )

        assert not {anchor, "tent-1", "lamp-2"} & set(reply.ids)


def test_buy_returns_what_was_bought_together_and_is_never_padded(shop: Merchant) -> None:
    tents = shop.recommend(source="buy", num=20, item_id="tent-0")
    basket = shop.recommend(source="buy", num=20, item_ids="tent-0,lamp-0")

    assert set(tents.ids) <= set(FAMILIES["tent"]) - {"tent-0"}
    assert len(tents.ids) >= 2
    assert family_of(basket.ids) == {"tent", "lamp"}
    assert set(tents.sources) == set(basket.sources) == {"buy"}
    for lonely in ("rare-0", "unknown"):
        assert shop.recommend(source="buy", num=20, item_id=lonely).ids == []


def test_a_bundle_list_marks_products_that_are_certainly_bought_together(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push(*({"id": name, "title": name} for name in ("tent", "pegs", "mug")))
    for number in range(12):
        merchant.order(f"o{number}", "tent", "pegs" if number else "mug")
    service.train(merchant)
    query = {"source": "buy", "item_id": "tent", "anchor": "true"}

    def certain() -> dict[str, bool | None]:
        products = merchant.recommend(**query).json["recommendations"]
        return {one["id"]: one.get("certain") for one in products}

    eventually(lambda: certain() == {"pegs": True, "mug": False})
    for stock, is_certain in ((0, False), (3, True)):  # a sold-out tent is not shown
        merchant.push({"id": "tent", "stock_qty": stock})
        assert certain() == {"pegs": is_certain, "mug": False}
    query["anchor"] = "false"
    assert certain() == {"pegs": None, "mug": None}
    query |= {"anchor": "true", "source": "mix"}
    assert set(certain().values()) == {None}


def test_buy_without_an_anchor_takes_the_shoppers_own_orders(shop: Merchant) -> None:
    assert shop.recommend(source="buy", num=20).ids == []
    assert shop.recommend(source="buy", num=20, user_id="nobody").ids == []
    shop.order("mine", "boot-0", user_id="own-orders")

    signed = shop.identity("own-orders")
    reply = shop.recommend(source="buy", num=20, user_id="own-orders", identity=signed)

    assert family_of(reply.ids) == {"boot"}
    assert "boot-0" not in reply.ids


def test_browse_without_an_identity_is_filled_like_mix(shop: Merchant) -> None:
    assert len(shop.recommend(source="browse", num=20).ids) == 20


def test_similar_needs_an_item_and_fills_like_mix(shop: Merchant) -> None:
    assert locs(shop.recommend(source="similar")) == [["query", "item_id"]]
    assert len(shop.recommend(source="similar", item_id="rare-0", num=20).ids) == 20


def test_a_short_list_is_filled_from_the_items_own_category_first(shop: Merchant) -> None:
    reply = shop.recommend(item_id="rare-0", num=5)

    assert set(reply.ids) == set(FAMILIES["rare"]) - {"rare-0"}
    assert set(reply.sources) == {"category"}


def test_what_a_shopper_bought_is_not_recommended_again_unless_the_store_wishes(
    service: Service, own_shop: Merchant
) -> None:
    own_shop.order("mine", "tent-0", "tent-1", user_id="buyer")

    def repeats() -> set[str]:
        signed = {"user_id": "buyer", "identity": own_shop.identity("buyer")}
        listed = own_shop.recommend(num=20, item_id="tent-2", **signed).ids
        return {"tent-0", "tent-1"} & set(listed)

    assert repeats() == set()
    with service.database() as database:
        store = find_store(database, own_shop.account.domain)
        change_settings(database, store, {"allow_repeat_recommendations": "true"})

    eventually(lambda: repeats() == {"tent-0", "tent-1"}, 10)


def test_what_was_merely_viewed_may_be_recommended(shop: Merchant) -> None:
    views: list[dict[str, object]] = [
        {"event": "detail-page-view", "item_id": item_id, "session_id": "s_viewer"}
        for item_id in FAMILIES["lamp"]
    ]
    shop.track(*views)

    listed = shop.recommend(num=20, user_id="s_viewer").ids

    assert set(FAMILIES["lamp"]) & set(listed)


def test_what_cannot_be_shown_is_not_however_strongly_it_is_recommended(
    own_shop: Merchant,
) -> None:
    first, second, third = own_shop.recommend(num=3, item_id="tent-0").ids
    hidden = own_shop.push(
        {"id": first, "stock_qty": 0},
        {"id": second, "availability": "discontinued"},
        {"id": third, "available_until": "2020-01-01"},
    )
    assert hidden.json["updated"] == 3

    for query in ({"item_id": "tent-0"}, {"item_ids": "tent-0"}, {}):
        for source in ("mix", "browse", "buy"):
            listed = own_shop.recommend(num=20, source=source, **query).ids
            assert not {first, second, third} & set(listed)


def test_the_stores_own_number_applies_unless_the_call_has_one(
    service: Service, shop: Merchant
) -> None:
    few = service.register(rec_num="3")
    few.push(*({"id": f"i{n}"} for n in range(9)))

    assert len(shop.recommend(item_id="tent-0").ids) == 8
    assert len(few.recommend().ids) == len(few.trending().ids) == 3
    assert len(few.recommend(num=5).ids) == len(few.trending(num=5).ids) == 5


@pytest.mark.parametrize("num", ["0", "21", "-1", "1.5", "x", "", "99999999999999999999"])
def test_a_number_outside_one_to_twenty_is_refused(shop: Merchant, num: str) -> None:
    assert locs(shop.recommend(num=num)) == [["query", "num"]]
    assert locs(shop.trending(num=num)) == [["query", "num"]]


@pytest.mark.parametrize("shown", ["0", "-1", "21", "3.5", "many"])
def test_a_shown_number_outside_one_to_twenty_is_refused(
    shop: Merchant, shown: str
) -> None:
    assert locs(shop.recommend(item_id="tent-0", shown=shown)) == [["query", "shown"]]


@pytest.mark.parametrize("shown", [1, 4, 12, 20])
def test_the_number_that_a_page_shows_changes_nothing_without_new_products(
    shop: Merchant, shown: int
) -> None:
    for named in ({}, {"exclude": "boot-0"}, {"user_id": "c1tent"}):
        wanted = {"item_id": "tent-0", "num": 12, **named}
        assert shop.recommend(shown=shown, **wanted).ids == shop.recommend(**wanted).ids


@pytest.mark.parametrize("source", ["", "MIX", "trending", "category", "buy,mix"])
def test_an_unknown_source_is_refused(shop: Merchant, source: str) -> None:
    assert locs(shop.recommend(source=source)) == [["query", "source"]]


def test_a_basket_names_up_to_fifty_items(shop: Merchant) -> None:
    fifty = ",".join(f"i{n}" for n in range(50))

    assert shop.recommend(item_ids=fifty).status == 200
    assert locs(shop.recommend(item_ids=f"{fifty},one-more")) == [["query", "item_ids"]]


LIST_CALLS: Final = {
    "mix": {"item_id": "tent-0"},
    "buy": {"item_id": "tent-0", "source": "buy"},
    "browse": {"source": "browse", "user_id": "c1tent"},
    "similar": {"item_id": "tent-0", "source": "similar"},
    "trending": {},
}


@pytest.mark.parametrize("name", LIST_CALLS)
def test_what_a_call_excludes_is_replaced_by_the_next_best(
    shop: Merchant, name: str
) -> None:
    ask = shop.trending if name == "trending" else shop.recommend
    whole = ask(num=20, **LIST_CALLS[name]).ids
    shown = [*whole[:2], "unknown"]

    rest = ask(num=4, exclude=",".join(shown), **LIST_CALLS[name])

    assert len(rest.ids) == min(4, len(whole) - 2)  # no slot stays empty
    assert not set(rest.ids) & set(shown)
    assert set(ask(num=2, **LIST_CALLS[name]).ids) == set(whole[:2])  # control


@pytest.mark.parametrize("path", ["/v1/recommendations", "/v1/trending"])
def test_a_call_excludes_up_to_a_hundred_items(shop: Merchant, path: str) -> None:
    def ask(count: int) -> Reply:
        named = ",".join(f"x{n}" for n in range(count))
        return shop.client.ask("GET", shop.target(path, exclude=named))

    assert ask(100).status == 200
    assert ask(101).status == 422
    assert locs(ask(101)) == [["query", "exclude"]]


def test_the_pages_own_product_comes_beside_the_list_on_request(own_shop: Merchant) -> None:
    fields = {"id", "title", "price", "image_url", "product_url"}
    own = own_shop.recommend(item_id="tent-0", source="buy", anchor="true")
    personal = own_shop.recommend(item_id="tent-0", anchor="true", user_id="c1tent")

    assert own.json["anchor"]["id"] == personal.json["anchor"]["id"] == "tent-0"
    assert set(own.json["anchor"]) == fields
    assert "tent-0" not in own.ids
    assert set(own_shop.recommend(item_id="tent-0").json) == {"recommendations"}
    assert own_shop.recommend(anchor="true").json["anchor"] is None
    assert own_shop.recommend(item_id="unknown", anchor="true").json["anchor"] is None
    own_shop.push({"id": "tent-0", "availability": "out_of_stock"})
    eventually(
        lambda: own_shop.recommend(item_id="tent-0", anchor="true").json["anchor"] is None
    )


def test_both_identities_of_a_call_count(shop: Merchant) -> None:
    shop.order("as-customer", "tent-0", user_id="id-customer")
    shop.order("as-session", "boot-0", session_id="id-session")

    listed = shop.recommend(
        source="buy",
        num=20,
        customer_id="id-customer",
        user_id="id-session",
        identity=shop.identity("id-customer"),
    ).ids

    assert family_of(listed) == {"tent", "boot"}
    assert not {"tent-0", "boot-0"} & set(listed)


def test_one_identity_is_the_same_shopper_in_whichever_field_it_comes(
    shop: Merchant,
) -> None:
    shop.order("anonymous", "lamp-0", session_id="s_same")

    for field in ("user_id", "customer_id"):
        listed = shop.recommend(source="buy", num=20, **{field: "s_same"}).ids
        assert family_of(listed) == {"lamp"}


def test_what_a_session_did_becomes_the_customers_who_it_turns_out_to_be(
    shop: Merchant,
) -> None:
    shop.order("before", "boot-0", session_id="s_link")

    def bought_with(customer: str) -> list[str]:
        signed = {"user_id": customer, "identity": shop.identity(customer)}
        return shop.recommend(source="buy", num=20, **signed).ids

    assert bought_with("link-1") == []
    view = {"event": "detail-page-view", "item_id": "rare-0", "session_id": "s_link"}

    shop.track(view | {"user_id": "link-1"})
    first = bought_with("link-1")
    shop.track(view | {"user_id": "link-2"})
    shop.order("after", "lamp-0", session_id="s_link")

    assert family_of(first) == {"boot"}
    assert "lamp" in family_of(bought_with("link-2"))
    assert family_of(bought_with("link-1")) <= {"boot"}


@pytest.mark.parametrize("kind", ["order", "detail-page-view", "add-to-cart", "buy"])
def test_what_a_shopper_does_changes_their_next_list_on_every_process(
    service: Service, shop: Merchant, kind: str
) -> None:
    everywhere = service.everywhere(shop)
    shopper = f"s_next{kind.replace('-', '')}"
    for turn, sender in enumerate(everywhere):
        item_id = FAMILIES["boot"][turn]
        before = [there.recommend(num=6, user_id=shopper).ids for there in everywhere]
        if kind == "order":
            reply = sender.order(f"{shopper}-{turn}", item_id, session_id=shopper)
        else:
            event = {"event": kind, "item_id": item_id, "session_id": shopper}
            reply = sender.track(event | {"order_id": f"{shopper}-{turn}"})
        assert reply.status == 200

        after = [there.recommend(num=6, user_id=shopper).ids for there in everywhere]

        assert after[0] == after[1]  # the very next request, wherever it arrives
        assert after[0] not in before


@pytest.mark.parametrize(
    "look",
    [
        {"event": "category-view", "item_id": "boot"},
        {"event": "metadata-pref", "item_id": "Waterproof"},
        {"event": "search-pref", "search_query": "Hiking boots"},
    ],
    ids=lambda look: look["event"],
)
def test_what_a_shopper_looks_for_by_name_brings_what_others_went_on_to(
    service: Service, shop: Merchant, look: dict[str, object]
) -> None:
    for n in range(8):
        who = {"session_id": f"{look['event']}-{n}"}
        shop.track(look | who)
        for item_id in ("boot-4", "boot-2"):
            shop.track({"event": "add-to-cart", "item_id": item_id} | who)
    service.train(shop)
    here = service.everywhere(shop)[0]  # connected anew
    newcomer = f"new-{look['event']}"
    here.track(look | {"session_id": newcomer})

    def their_list() -> list[str]:
        return here.recommend(source="browse", user_id=newcomer, num=2).ids

    eventually(lambda: set(their_list()) == {"boot-4", "boot-2"})
    assert set(here.recommend(source="browse", num=2).ids) != {"boot-4", "boot-2"}


def test_a_category_without_training_data_shows_its_best_products(
    service: Service, shop: Merchant
) -> None:
    shop = service.everywhere(shop)[0]
    shop.track({"event": "category-view", "item_id": "rare", "session_id": "s-rare"})

    ids = shop.recommend(source="browse", user_id="s-rare", num=6).ids

    assert set(ids) == set(FAMILIES["rare"])


def test_buy_is_what_was_bought_together_and_nothing_else(service: Service) -> None:
    merchant = service.register()
    sizes = [f"Shirt {size}" for size in ("S", "M", "L")]
    catalog = [{"id": name, "title": name, "price": 9} for name in (*sizes, "Belt", "Mug")]
    assert merchant.push(*catalog).json["created"] == len(catalog)
    for number in range(4):
        merchant.order(f"o{number}", "Shirt S", "Belt", user_id=f"c{number}")
        merchant.order(f"again{number}", "Mug", user_id="anna")
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_settings(database, store, {"allow_repeat_recommendations": "true"})
    service.train(merchant)

    bought = partial(merchant.recommend, source="buy")
    eventually(lambda: bought(item_id="Shirt S").ids == ["Belt"])
    assert bought(user_id="anna").ids == []  # four orders of mugs alone
    assert bought(item_id="Shirt L").ids == []  # nobody bought that size
    assert merchant.recommend(source="mix", item_id="Shirt L", num=1).ids == ["Belt"]
    eventually(lambda: "Mug" in merchant.recommend(source="mix", user_id="anna").ids, 20)


def test_replacements_lead_the_page_of_a_product_that_sells_out(own_shop: Merchant) -> None:
    """The cached list of anybody and the list of a shopper follow the stock at once."""
    shoppers: list[dict[str, object]] = [{}, {"user_id": "s0tent"}]

    def lists(**call: object) -> list[Reply]:
        return [
            own_shop.recommend(item_id="tent-0", num=4, **shopper, **call)
            for shopper in shoppers
        ]

    assert not any("sold_out" in reply.json for reply in lists())

    own_shop.push({"id": "tent-0", "stock_qty": 0})
    eventually(lambda: all(reply.json.get("sold_out") for reply in lists()))

    for reply in lists():
        check_list(reply, 4)
        assert set(reply.ids[:2]) <= set(FAMILIES["tent"]) - {"tent-0"}
    assert [reply.json["anchor"] for reply in lists(anchor="true")] == [None, None]
    assert all(reply.json["sold_out"] for reply in lists(anchor="true"))
    own_shop.push({"id": "tent-0", "stock_qty": 3})
    eventually(lambda: not any("sold_out" in reply.json for reply in lists()))
