"""GET /v1/search options: filters, facets, sorting, paging, highlights, suggestions."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.tables import question_counts
from tests.support.service import Merchant, Reply, Service, eventually

ITEMS: Final = (
    {"id": "t-1", "title": "Green tent", "price": 120, "categories": ["Tents", "Sale"]},
    {"id": "t-2", "title": "Blue tent", "price": 80, "categories": ["Tents"]},
    {"id": "t-3", "title": "Red tent", "price": 40, "categories": ["Tents"]},
    {"id": "t-4", "title": "Tent pegs", "price": 9.99, "categories": ["Small things"]},
    {
        "id": "t-5",
        "title": "Tent <b>for</b> two & more",
        "categories": ["T\u00e9nts"],
        "availability": "out_of_stock",
        "description": "<p>Keeps dry.</p> Two people sleep in this tent: 10 mm poles.",
    },
    {"id": "l-1", "title": "L\u00e4mp 65 W", "price": 30, "categories": ["Lamps"]},
    {"id": "l-2", "title": "Lantern", "price": 20.5, "categories": ["Lamps"]},
)
TENTS: Final = {"t-1", "t-2", "t-3", "t-4", "t-5"}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Return a store whose items can be found."""
    merchant = service.register()
    merchant.push(*ITEMS)
    eventually(lambda: len(merchant.search("tent ").ids) == 5, 30)
    return merchant


def ask(shop: Merchant, q: str, *filters: str, **query: object) -> Reply:
    """Search with any number of filters."""
    pairs = [("q", q), *query.items(), *(("filter", one) for one in filters)]
    pairs.append(("key", shop.account.publishable))
    return shop.client.ask("GET", f"/v1/search?{urlencode(pairs)}")


def test_a_bare_call_is_answered_byte_for_byte_as_before(shop: Merchant) -> None:
    bare = shop.search("tent")
    blank = ask(shop, "tent", "", facets="", sort="", highlight="", offset="")

    assert list(bare.json) == ["results"]
    assert blank.body == bare.body
    assert {"total", "facets"}.isdisjoint(bare.json)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["categories:Tents"], {"t-1", "t-2", "t-3"}),
        (["categories:tents "], {"t-1", "t-2", "t-3", "t-5"}),
        (["categories:Sale", "categories:Small things"], {"t-1", "t-4"}),
        (["categories:Sale", "price:..100"], set()),
        (["categories:Unknown"], set()),
        (["price:40..80"], {"t-2", "t-3"}),
        (["price:40..<80"], {"t-3"}),
        (["price:..9.99", "price:100.."], {"t-1", "t-4"}),
        (["in_stock:false"], {"t-5"}),
        (["in_stock:true"], TENTS - {"t-5"}),
        (["in_stock:true", "in_stock:false"], TENTS),
    ],
)
def test_filters_of_a_kind_are_alternatives_and_all_kinds_hold(
    shop: Merchant, filters: list[str], expected: set[str]
) -> None:
    reply = ask(shop, "tent ", *filters)

    assert set(reply.ids) == expected
    assert reply.json["total"] == len(expected)


def test_facets_count_all_results_each_without_its_own_filter(shop: Merchant) -> None:
    names = "categories,price,in_stock"
    reply = ask(shop, "tent ", "categories:Tents", "price:50..", facets=names, num=1)

    assert len(reply.ids) == 1
    assert reply.json["total"] == 2
    facets = reply.json["facets"]
    assert facets["categories"] == [
        {"value": "Tents", "count": 2},
        {"value": "Sale", "count": 1},
    ]
    assert facets["in_stock"] == {"true": 2, "false": 0}
    price = facets["price"]
    assert (price["min"], price["max"]) == (40, 120)
    assert sum(one["count"] for one in price["ranges"]) == 3
    for one in price["ranges"]:
        there = ask(shop, "tent ", "categories:Tents", one["filter"], num=1)
        assert there.json["total"] == one["count"], one


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("price_asc", ["t-4", "t-3", "t-2", "t-1", "t-5"]),
        ("price_desc", ["t-1", "t-2", "t-3", "t-4", "t-5"]),
    ],
)
def test_results_are_sorted_and_what_has_no_price_comes_last(
    shop: Merchant, sort: str, order: list[str]
) -> None:
    reply = ask(shop, "tent ", sort=sort)

    assert reply.ids == order
    scores = [one["score"] for one in reply.json["results"]]
    assert scores == sorted(scores, reverse=True)
    assert ask(shop, "tent ", sort=sort, num=2, offset=2).ids == order[2:4]


def test_the_newest_and_the_best_selling_come_first_when_asked(service: Service) -> None:
    merchant = service.register()
    for name in ("a", "b", "c"):
        merchant.push({"id": name, "title": "Sledge"})
    merchant.order("o-1", "b")
    merchant.order("o-2", "b", "a")
    service.train(merchant)
    eventually(lambda: len(ask(merchant, "sledge").ids) == 3)

    eventually(lambda: ask(merchant, "sledge", sort="best_selling").ids == ["b", "a", "c"])
    assert ask(merchant, "sledge", sort="newest").ids == ["c", "b", "a"]


def test_pages_put_together_are_the_whole_list(service: Service) -> None:
    merchant = service.register()
    merchant.push(*({"id": f"k-{n}", "title": "Kite " + "x" * (n % 7)} for n in range(50)))
    merchant.push(*({"id": f"s-{n}", "title": "String"} for n in range(5)))
    for n in range(4):
        merchant.order(f"o-{n}", *(f"k-{m}" for m in range(30 + n, 50, 5)))
    service.train(merchant)
    eventually(lambda: ask(merchant, "kite string", num=50, offset=0).json["total"] == 55)

    def pages(q: str, num: int) -> list[str]:
        return [
            one
            for offset in range(0, 60, num)
            for one in ask(merchant, q, num=num, offset=offset).ids
        ]

    for q in ("kite", "kite string", ""):
        for num in (7, 12):
            listed = pages(q, num)
            assert len(listed) == len(set(listed)) >= 50, (q, num)
            assert listed[:num] == merchant.search(q, num=num).ids, (q, num)
    assert ask(merchant, "kite", offset=1000).ids == []


def test_a_search_without_words_is_a_page_of_a_category(shop: Merchant) -> None:
    reply = ask(shop, "", "categories:Lamps", sort="price_asc", facets="price")

    assert reply.ids == ["l-2", "l-1"]
    assert reply.json["total"] == 2
    assert set(reply.sources) == {"trending"}


def test_what_answers_the_query_is_marked_and_all_else_escaped(shop: Merchant) -> None:
    reply = ask(shop, "tents two", highlight="true")
    marks = {one["id"]: one["highlight"] for one in reply.json["results"]}

    assert marks["t-5"]["title"] == (
        "<mark>Tent</mark> &lt;b&gt;for&lt;/b&gt; <mark>two</mark> &amp; more"
    )
    assert marks["t-5"]["description"] == (
        "Keeps dry. <mark>Two</mark> people sleep in this <mark>tent</mark>: 10 mm poles."
    )
    assert marks["t-1"] == {"title": "Green <mark>tent</mark>", "description": None}
    lamp = ask(shop, "65 watt", highlight="1").json["results"][0]
    assert lamp["highlight"]["title"] == "L\u00e4mp <mark>65 W</mark>"
    poles = ask(shop, "tent 10mm", highlight="1").json["results"][0]
    assert "<mark>10 mm</mark> poles" in poles["highlight"]["description"]


CLOTHES: Final = (
    {
        "id": "boot",
        "title": "Hiking boot",
        "description": "Keeps feet dry.",
        "brand": "Zephyrion",
        "gtin": 4006381333931,
        "color": "Cobalt",
        "size": ["42", 43],
        "price": 80,
        "list_price": 100,
        "attributes": {"Season": ["Winter", "Autumn"], "Lined": True},
    },
    {
        "id": "shoe",
        "title": "Running shoe",
        "brand": "Zephyrion",
        "color": "Ros\u00e9",
        "size": ["42"],
        "price": 60,
        "attributes": {"season": "Summer"},
    },
    {"id": "sock", "title": "Wool sock for a boot", "material": "Wool", "price": 5},
)


@pytest.fixture(scope="module")
def clothes(service: Service) -> Merchant:
    """Return a store whose items have attributes."""
    merchant = service.register()
    merchant.push(*CLOTHES)
    eventually(lambda: all(map(_finds(merchant), ("hiking", "running", "sock"))), 30)
    return merchant


def _finds(merchant: Merchant) -> Callable[[str], bool]:
    """Return whether a word of a title is indexed; brands are found before."""
    return lambda word: bool(merchant.search(f"{word} ").ids)


@pytest.mark.parametrize(
    ("q", "filters", "expected"),
    [
        ("zephyrion", [], ["boot", "shoe"]),
        ("4006381333931", [], ["boot"]),
        ("cobalt boot", [], ["boot"]),
        ("winter boot", [], ["boot"]),
        ("", ["brand:ZEPHYRION"], ["boot", "shoe"]),
        ("", ["color:rose"], ["shoe"]),
        ("", ["size:43", "size:42"], ["boot", "shoe"]),
        ("", ["size:42", "color:Cobalt"], ["boot"]),
        ("", ["material:wool"], ["sock"]),
        ("", ["attributes.Season:winter"], ["boot"]),
        ("", ["attributes.season:Winter", "attributes.season:Summer"], ["boot", "shoe"]),
        ("", ["attributes.Lined:true"], ["boot"]),
        ("", ["on_sale:true"], ["boot"]),
        ("", ["on_sale:false", "brand:Zephyrion"], ["shoe"]),
        ("", ["brand:Nobody"], []),
    ],
)
def test_attributes_are_searched_and_filtered(
    clothes: Merchant, q: str, filters: list[str], expected: list[str]
) -> None:
    results = ask(clothes, q, *filters).json["results"]

    ids = [one["id"] for one in results]
    assert (sorted(ids) if not q else ids[: len(expected)]) == expected


def test_facets_count_attributes_and_the_most_used_comes_first(clothes: Merchant) -> None:
    facets = "brand,color,size,material,attributes,on_sale"
    everything = ask(clothes, "", facets=facets).json["facets"]
    winter = ask(clothes, "", "attributes.Season:Winter", facets=facets).json["facets"]

    assert [one["name"] for one in everything["attributes"]] == ["Season", "Lined"]
    assert winter["brand"] == [{"value": "Zephyrion", "count": 1}]
    assert winter["size"] == [{"value": "42", "count": 1}, {"value": "43", "count": 1}]
    assert winter["material"] == []
    assert winter["on_sale"] == {"true": 1, "false": 0}
    attributes = {one["name"]: one["values"] for one in winter["attributes"]}
    assert {one["value"] for one in attributes["Season"]} == {"Winter", "Autumn", "Summer"}
    assert attributes["Lined"] == [{"value": "true", "count": 1}]


def test_a_push_without_attributes_keeps_them_and_null_removes_them(
    clothes: Merchant,
) -> None:
    clothes.push({"id": "cap", "title": "Cap", "brand": "Zed", "attributes": {"Fit": "L"}})
    clothes.push({"id": "cap", "title": "Cap, red"})
    eventually(lambda: ask(clothes, "", "brand:Zed").json["results"], 5)
    assert ask(clothes, "", "attributes.Fit:L").json["results"]

    clothes.push({"id": "cap", "brand": None, "attributes": None})
    eventually(lambda: not ask(clothes, "", "brand:Zed").json["results"], 5)
    assert not ask(clothes, "", "attributes.Fit:L").json["results"]


def test_every_suggestion_has_results(shop: Merchant) -> None:
    for q in ("t", "te", "green t", "la", "l\u00e4"):
        reply = ask(shop, q, suggest=5, num=1)
        suggestions: Sequence[str] = reply.json["suggestions"]
        assert suggestions, q
        assert all(shop.search(one + " ").ids for one in suggestions), suggestions
    assert ask(shop, "la", suggest=5).json["suggestions"] == ["lamps", "lantern"]
    assert ask(shop, "green t", suggest=5).json["suggestions"] == ["green tent"]


def test_a_typo_gets_a_suggestion_in_the_spelling_of_the_shop(shop: Merchant) -> None:
    assert ask(shop, "lantren", suggest=1).json["did_you_mean"] == "lantern"
    assert ask(shop, "greeen tent", suggest=1).json["did_you_mean"] == "green tent"
    assert ask(shop, "lamqp w", suggest=1).json["did_you_mean"] is None  # nothing has both
    for right in ("lantern", "lant", "", "xylophone", "green tent"):
        assert ask(shop, right, suggest=3).json["did_you_mean"] is None, right
    assert ask(shop, "xylophone", suggest=3).json == {
        "results": [],
        "suggestions": [],
        "did_you_mean": None,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("filter", "colour:red"),
        ("filter", "price:"),
        ("filter", "price:.."),
        ("filter", "price:a..b"),
        ("filter", "price:1e400.."),
        ("filter", "price:nan..inf"),
        ("filter", "price:-1..2"),
        ("filter", "price:\u0661..\u0662"),
        ("filter", "in_stock:maybe"),
        ("filter", "categories:"),
        ("filter", "categories:" + "x" * 2000),
        ("facets", "colour"),
        ("facets", "price,"),
        ("facets", "price," * 50 + "price"),
        ("sort", "random"),
        ("offset", "-1"),
        ("offset", "1001"),
        ("offset", "x"),
        ("highlight", "maybe"),
        ("suggest", "11"),
        ("suggest", "-1"),
    ],
)
def test_what_it_may_not_be_is_refused_by_its_name(
    shop: Merchant, name: str, value: str
) -> None:
    reply = shop.search("tent", **{name: value})

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"][:2] == ["query", name]


def test_more_filters_than_fifty_are_refused(shop: Merchant) -> None:
    filters = [f"categories:c-{n}" for n in range(51)]

    assert ask(shop, "tent", *filters[:50]).status == 200
    assert ask(shop, "tent", *filters).status == 422


def test_rules_and_windows_hold_for_pages_too(service: Service) -> None:
    merchant = service.register()
    merchant.push(
        {"id": "a", "title": "Kite", "price": 3},
        {"id": "b", "title": "Kite", "price": 2},
        {"id": "gone", "title": "Kite", "price": 1, "availability": "discontinued"},
        {"id": "late", "title": "Kite", "price": 1, "available_from": "2999-01-01"},
        {"id": "pin", "title": "Oak table", "price": 9},
    )
    eventually(lambda: set(merchant.search("kite").ids) == {"a", "b"}, 30)
    rules = merchant.account.domain
    service.run("search-rules", "add", rules, "pin", "kite", "--item", "pin")
    there = merchant.through(service.client())
    eventually(lambda: ask(there, "kite", offset=0).ids == ["pin", "a", "b"], 10)

    assert ask(there, "kite", sort="price_asc").ids == ["b", "a"]
    assert ask(there, "kite", "price:..5").ids == ["a", "b"]
    assert ask(there, "kite", facets="in_stock").json["facets"] == {
        "in_stock": {"true": 2, "false": 0}
    }


def test_rules_that_name_search_and_the_stock_move_what_was_found(service: Service) -> None:
    merchant = service.register()
    merchant.push(
        {"id": "a", "title": "Kite", "availability": "out_of_stock"},
        {"id": "b", "sku": "kite", "title": "Kite"},
        {"id": "c", "title": "Kite"},
        {"id": "d", "title": "Kite"},
    )
    eventually(lambda: merchant.search("kite").ids == ["b", "a", "c", "d"], 30)
    assert ask(merchant, "kite", suggest=3).ids == ["b", "c", "d", "a"]
    domain = merchant.account.domain

    def found(*words: str) -> Merchant:
        service.run(*words)
        return merchant.through(service.client())

    there = found("rules", "add", domain, "boost", "--item", "d", "--in", "search")
    eventually(lambda: there.search("kite").ids == ["b", "d", "a", "c"], 10)
    there = found("rules", "add", domain, "boost", "--item", "c", "--strength", "9")
    last = found("settings", domain, "search_sold_out=last")
    eventually(lambda: last.search("kite").ids == ["b", "d", "c", "a"], 10)
    assert ask(last, "kite", num=2, offset=2).ids == ["c", "a"]
    assert last.search("a").ids[0] == "a"  # its id is exact

    gone = found("settings", domain, "search_sold_out=hidden")
    eventually(lambda: gone.search("kite").ids == ["b", "d", "c"], 10)
    assert ask(gone, "kite", facets="in_stock").json["total"] == 3


def test_words_of_a_query_filter_what_it_finds(service: Service) -> None:
    merchant = service.register()
    merchant.push(
        {"id": "a", "title": "Trainers", "price": 60, "color": ["Red"], "size": ["42"]},
        {"id": "b", "title": "Trainers", "price": 90, "color": ["Red"], "size": ["42"]},
        {"id": "c", "title": "Red trainers", "price": 70},
        {"id": "d", "title": "Trainers", "price": 50, "color": ["Blue"], "size": ["42"]},
        {"id": "e", "title": "Sandals", "price": 20, "brand": "Nike"},
    )
    eventually(lambda: len(merchant.search("trainers ").ids) == 4, 30)
    red = {"field": "color", "value": "Red", "text": "red"}
    price = {"field": "price", "max": 80, "text": "under 80"}
    query = "red trainers under 80"

    bare, paged = ask(merchant, query), ask(merchant, query, offset=0, highlight=1)

    assert set(bare.ids) == set(paged.ids) == {"a", "c"}
    assert bare.json["filters"] == paged.json["filters"] == [red, price]
    assert list(bare.json) == ["results", "filters"]
    assert paged.json["total"] == 2
    assert set(ask(merchant, f"{query} euro in size 42").ids) == {"a"}
    assert set(ask(merchant, query, "in_stock:true", sort="price_asc").ids) == {"a", "c"}
    assert ask(merchant, query, query_filters="price").json["filters"] == [price]
    assert ask(merchant, query, query_filters="colour").status == 422

    plain = ask(merchant, query, query_filters="none")
    assert list(plain.json) == ["results"]
    assert set(plain.ids) == {"a", "b", "c", "d"}
    service.run("settings", merchant.account.domain, "search_query_filters=false")
    there = merchant.through(service.client())
    eventually(lambda: ask(there, query).body == plain.body, 10)


def test_a_question_that_halves_the_results_comes_with_its_answers(
    service: Service,
) -> None:
    merchant = service.register(language="de")
    merchant.push(
        *(
            {"id": f"i-{n}", "title": f"Kiste Modell {n}", "color": ["Rot", "Blau"][n % 2]}
            for n in range(10)
        )
    )
    eventually(lambda: len(merchant.search("kiste ").ids) == 10, 30)

    question = ask(merchant, "kiste ", refine="true", num=3, user_id="s_1")

    options = [
        {"value": "Blau", "count": 5, "filter": "color:Blau"},
        {"value": "Rot", "count": 5, "filter": "color:Rot"},
    ]
    refine = question.json["refine"]
    assert (refine["attribute"], refine["question"]) == ("color", "Welche Farbe?")
    assert sorted(refine["options"], key=lambda one: one["value"]) == options
    assert list(question.json) == ["results", "refine"]
    narrowed = ask(merchant, "kiste ", "color:Rot", refine="true", user_id="s_1")
    assert len(narrowed.ids) == narrowed.json["total"] == 5
    assert "refine" not in narrowed.json
    assert "refine" not in ask(merchant, "kiste rot ", refine="true").json
    assert "refine" not in ask(merchant, "kiste ").json
    assert ask(merchant, "kiste ", refine="perhaps").status == 422

    def counted() -> list[tuple[Any, ...]]:
        with service.database() as database, database.reading() as connection:
            query = sa.select(
                *(question_counts.c[name] for name in ("attribute", "offered", "answered"))
            ).where(question_counts.c.store_id == merchant.account.store_id)
            return [tuple(row) for row in connection.execute(query)]

    eventually(lambda: counted() == [("color", 1, 1)], 10)
    # Another process asked this shopper, and counts that the question was seen.
    for n, extras in enumerate(({}, {"answered": "size"}, {"answered": "color"})):
        ask(merchant, "kiste ", "color:Rot", refine="true", user_id=f"other-{n}", **extras)
    eventually(lambda: counted() == [("color", 1, 2)], 10)


def test_variants_are_one_result_on_request_and_where_the_store_says_so(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push(
        *(
            {"id": f"{colour}-{size}", "title": f"Shirt {colour} {size}", "size": size}
            for colour in ("red", "blue")
            for size in ("S", "M", "L")
        ),
        {"id": "other", "title": "Shirt rack"},
    )
    eventually(lambda: len(merchant.search("shirt ").ids) == 7, 30)

    def variants(reply: Reply) -> list[object]:
        return [one.get("variants") for one in reply.json["results"]]

    for q in ("shirt ", ""):
        for extras in ({}, {"offset": 0}):
            reply = ask(merchant, q, collapse="true", **extras)
            assert sorted(map(str, variants(reply))) == ["6", "None"], (q, extras)
            assert reply.json.get("total") == (2 if extras else None)
            assert len(ask(merchant, q, **extras).ids) == 7
    assert ask(merchant, "blue shirt M", collapse="true").ids[0] == "blue-M"
    assert variants(ask(merchant, "shirt ", "size:S", collapse="true")) == [2]
    assert ask(merchant, "shirt", collapse="maybe").status == 422

    service.run("settings", merchant.account.domain, "search_collapse=always")
    there = merchant.through(service.client())
    eventually(lambda: len(there.search("shirt ").ids) == 2, 10)
    assert len(ask(there, "shirt ", collapse="false").ids) == 7


def test_a_page_is_as_new_as_the_catalog(shop: Merchant) -> None:
    def page() -> Any:
        reply = ask(shop, "lantern", facets="price", highlight="1", offset=0)
        return json.loads(reply.body)

    assert page()["facets"]["price"]["min"] == 20.5
    shop.push({"id": "l-2", "price": 21})
    eventually(lambda: page()["facets"]["price"]["min"] == 21, 10)
    shop.push({"id": "l-2", "price": 20.5})
