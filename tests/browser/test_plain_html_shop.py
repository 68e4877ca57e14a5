"""Plain HTML shop: the pages of its guide sell, search and count in a browser."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import watched
from tests.support.guides import PAGES, blocks
from tests.support.service import eventually
from tests.support.storefront import SHOP, Storefront

SCRIPT, _, HEADER, HOME, PRODUCT, ANY_PRODUCT, SEARCH, CART, THANKS = (
    one.text for one in blocks((PAGES / "plain-html.md").read_text("utf-8"))
)


@pytest.fixture
def shop(front: Storefront) -> str:
    """Put the guide's pages into the shop; return its origin."""
    script = SCRIPT.replace("{base_url}", front.relay.address).replace("pk_...", front.key)
    head = f"<script>{script}</script>{front.script('search-')}</script>"
    pages = {
        "index": HOME,
        "product": PRODUCT.replace("tent", "p0"),
        "any": ANY_PRODUCT,
        "search": SEARCH,
        "cart": CART,
        "thanks": THANKS,
    }
    for name, body in pages.items():
        front.page(f"/{name}.html", HEADER + body, head=head)
    return front.pages.origin(SHOP)


def test_two_clicks_on_a_product_are_one_line_and_one_purchase(
    page: Page, front: Storefront, shop: str
) -> None:
    watch = watched(page)
    page.goto(f"{shop}/product.html")
    for _ in range(2):
        page.get_by_role("button", name="Add to cart", exact=True).first.click()
    expect(page.locator("#cart-status")).to_contain_text("2 in the cart.")
    page.goto(f"{shop}/cart.html")
    expect(page.locator("#cart li")).to_have_count(2)  # the line and the total
    expect(page.locator("#cart")).to_contain_text("298.00")
    for _ in range(2):  # the shopper loads the page again
        page.goto(f"{shop}/thanks.html?order=1001")
        expect(page.locator("#cart-status")).to_contain_text("0 in the cart.")

    eventually(lambda: front.events("buy"))
    [sold] = front.events("buy")
    assert (sold["item_id"], sold["quantity"], sold["value"]) == ("p0", 2, 298)
    assert watch.complaints == []


def test_a_search_names_its_shopper_and_a_click_its_position(
    page: Page, front: Storefront, shop: str
) -> None:
    page.goto(f"{shop}/product.html")
    page.wait_for_function("localStorage.getItem('pr_sid')")
    page.goto(f"{shop}/search.html?q=tent")
    expect(page.locator("#results li").first).to_contain_text("9.50")
    page.locator("#results a").first.click()

    eventually(lambda: front.events("search-click"))
    [click] = front.events("search-click")
    assert click["position"] == 1
    assert front.requests_to("/v1/search")[-1]["session_id"] == click["session_id"]


def test_a_search_without_results_says_so(page: Page, shop: str) -> None:
    page.goto(f"{shop}/search.html?q=xqzvw")
    expect(page.locator("#message")).to_have_text("Nothing found for “xqzvw”.")


def test_one_page_for_all_products_fills_in_the_id(
    page: Page, front: Storefront, shop: str
) -> None:
    page.goto(f"{shop}/any.html?id=p3")
    eventually(lambda: front.events("detail-page-view"))
    assert {one["item_id"] for one in front.events("detail-page-view")} == {"p3"}


@pytest.mark.parametrize("name", ["index", "cart", "thanks"])
def test_a_page_without_products_has_no_complaints(
    page: Page, shop: str, name: str
) -> None:
    watch = watched(page)
    page.goto(f"{shop}/{name}.html")
    page.wait_for_load_state("networkidle")
    assert watch.complaints == []
