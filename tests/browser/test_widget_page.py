"""Several widgets on one page: no repeated products, and conflicts are handled."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import watched
from tests.support.storefront import Storefront, catalog

LINK = "product-recs >> a[part=link][href]"
PANEL = "[data-productrecs-tools] >> section"
IDS = """() => [...document.querySelectorAll("product-recs")].map((one) =>
  [...one.shadowRoot.querySelectorAll("li[data-id]")].map((card) => card.dataset.id))"""
ENDED = """(count) => {
  window.ended = 0;
  for (const state of ["loaded", "empty", "error"]) {
    addEventListener(`product-recs:${state}`, () => { window.ended++; });
  }
}"""
COUNTED = f"<script>({ENDED})()</script>"


@pytest.fixture(scope="module")
def large(storefront: Storefront) -> Storefront:
    """Give the store with forty products more, most of which were never bought."""
    origin = storefront.pages.origin("shop.example")
    pattern = catalog(origin)[1]
    more = [
        {**pattern, "id": f"x{n}", "title": f"Thing {n}", "categories": [f"Kind {n % 5}"]}
        for n in range(40)
    ]
    assert storefront.merchant.push(*more).status == 200
    storefront.service.train(storefront.merchant)
    return storefront


def lists(page: Page, front: Storefront, body: str, count: int) -> list[list[str]]:
    """Open a page with so many lists; return the products of each."""
    front.relay.seen.clear()
    page.goto(front.page("/", f"<h1>Tent</h1>{body}", head=COUNTED))
    page.wait_for_function(f"window.ended >= {count}")
    found: list[list[str]] = page.evaluate(IDS)
    return found


def same(found: list[list[str]]) -> set[str]:
    """Return the products that stand in two lists."""
    everything = [one for ids in found for one in ids]
    return {one for one in everything if everything.count(one) > 1}


FIVE = "".join(
    f"<product-recs data-eager {attributes}></product-recs>"
    for attributes in (
        "data-item-id=p0",
        "data-type=similar data-source=similar data-item-id=p0",
        "data-type=trending",
        "data-type=fbt data-item-id=p0",
        "data-source=browse",
    )
)


def test_a_product_is_in_one_list_of_a_page(page: Page, large: Storefront) -> None:
    found = lists(page, large, FIVE, 5)

    assert same(found) == set()
    # All are full; two products were bought with it.
    assert [len(ids) for ids in found] == [8, 8, 8, 2, 8]
    assert set(found[3]) == {"p1", "p3"}  # though its list is the fourth
    assert "p0" not in {one for ids in found for one in ids}


def test_control_lists_that_may_repeat_one_another_do(
    page: Page, large: Storefront
) -> None:
    free = FIVE.replace("data-eager", "data-eager data-allow-duplicates")
    found = lists(page, large, free, 5)

    assert len(same(found)) >= 4
    assert [len(ids) for ids in found] == [8, 8, 8, 2, 8]
    requests = large.requests_to("/v1/recommendations")
    assert not [one for one in requests if "exclude" in one]


def test_the_first_list_is_the_one_that_it_is_alone(page: Page, large: Storefront) -> None:
    alone = "<product-recs data-eager data-item-id=p1></product-recs>"
    (first,) = lists(page, large, alone, 1)
    other = alone.replace("data-eager", "data-eager data-type=similar")
    found = lists(page, large, alone + other, 2)

    assert found[0] == first
    assert same(found) == set()
    requests = large.requests_to("/v1/recommendations")
    assert sorted(one["num"] for one in requests) == ["20", "8"]


def test_a_list_that_is_left_with_few_asks_once_more(page: Page, large: Storefront) -> None:
    lots = "".join(
        f"<product-recs data-eager data-num=12 data-type=t{n} data-source=trending>"
        "</product-recs>"
        for n in range(3)
    )
    found = lists(page, large, lots, 3)

    assert [len(ids) for ids in found] == [12, 12, 12]
    assert same(found) == set()
    excluded = [
        one["exclude"] for one in large.requests_to("/v1/trending") if "exclude" in one
    ]
    assert len(excluded) == 2


def test_a_list_that_is_gone_gives_its_products_back(page: Page, large: Storefront) -> None:
    one = "<product-recs data-eager data-item-id=p1></product-recs>"
    (first,) = lists(page, large, one, 1)

    page.evaluate(
        """() => {
          const old = document.querySelector("product-recs");
          const made = old.cloneNode();
          old.replaceWith(made);
        }"""
    )
    page.wait_for_function("window.ended >= 2")

    assert page.evaluate(IDS) == [first]


@pytest.mark.parametrize("tag", ["product-recs data-eager", "product-recs"])
def test_a_wrong_key_says_in_the_console_what_to_do(
    page: Page, front: Storefront, tag: str
) -> None:
    watch = watched(page)
    page.goto(front.page("/", f"<{tag} data-key=pk_wrong data-item-id=p0></product-recs>"))
    page.wait_for_function("document.querySelector('product-recs').hidden")

    (warning,) = [one for one in watch.complaints if one.startswith("warning: ProductRecs")]
    assert "unknown data-key pk_wrong" in warning


KNOWN = (
    "id=a class=b style='' lang=en title=t tabindex=0 aria-label=c data-v-1234 "
    "data-columns=2 data-heading-level=3 data-allow-duplicates data-consent=required"
)


@pytest.mark.parametrize(
    ("attributes", "unknown"),
    [
        (f"data-item-id=p0 {KNOWN}", {}),
        (
            "item-id=p0 key=pk_1 user-id=u",
            {name: f": write data-{name}" for name in ("item-id", "key", "user-id")},
        ),
        (
            "data-item-id=p0 data-itemid=p0 data-number=4",
            {"data-itemid": "", "data-number": ""},
        ),
    ],
)
@pytest.mark.parametrize("element", ["product-recs", "product-look"])
def test_attributes_that_the_element_ignores_are_named(
    page: Page, front: Storefront, element: str, attributes: str, unknown: dict[str, str]
) -> None:
    watch = watched(page)
    kind = "look-" if element == "product-look" else ""
    body = f"<{element} data-eager {attributes}></{element}>"
    page.goto(front.page("/", body, kind=kind) + "?pr_debug=1")
    panel = page.locator("[data-productrecs-tools] >> section")
    expect(panel).to_contain_text("Elements")

    said = [one for one in watch.complaints if "unknown" in one]
    assert said == [f"warning: ProductRecs: unknown {name}" for name in unknown]
    hints = [one for one in panel.locator("li.wrong").all_inner_texts() if "ignores" in one]
    assert hints == [
        f"<{element}> ignores {name}{remedy}" for name, remedy in unknown.items()
    ]


def test_debug_says_that_a_list_has_no_room(page: Page, front: Storefront) -> None:
    element = "<product-recs data-eager data-item-id=p0></product-recs>"
    body = f"{element}<div style='width:0;overflow:hidden'>{element}</div>"
    page.goto(front.page("/", f"<h1>Tent</h1>{body}") + "?pr_debug=1")

    rows = page.locator(f"{PANEL} >> li", has_text="loaded")
    expect(rows).to_have_count(2)
    reason = "not visible: the page leaves it 0 by"
    expect(rows.filter(has_text=reason)).to_have_count(1)
    expect(rows.filter(has_not_text=reason)).to_have_count(1)  # control


@pytest.mark.parametrize(("width", "most"), [(1280, 10), (375, 8)])
def test_suggestions_with_words_are_as_many_as_a_screen_takes(
    page: Page, front: Storefront, width: int, most: int
) -> None:
    def widened(route: Any) -> None:
        reply = route.fetch().json()
        reply["suggestions"] = ["tent one", "tent two", "tent three"]
        pattern = catalog(front.pages.origin("shop.example"))[1]
        reply["results"] = [{**pattern, "id": f"r{n}"} for n in range(10)]
        route.fulfill(json=reply, headers={"access-control-allow-origin": "*"})

    page.route("**/v1/search?*", widened)
    page.set_viewport_size({"width": width, "height": 900})
    form = "<form action=/s><input name=q></form>"
    page.goto(front.page("/", f"<h1>Tent</h1>{form}", kind="search-"))
    page.locator("[name=q]").fill("tent")

    expect(page.locator(".pr-search-all")).to_be_visible()
    assert page.locator("[role=option]").count() == most
