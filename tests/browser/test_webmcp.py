"""WebMCP: what an assistant in the shopper's browser can do in a shop's pages."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.support.browser import WAIT_MS, a_minute_later, launched
from tests.support.service import eventually
from tests.support.storefront import Storefront

CHUNK: Final = "/widget/v1/_/webmcp.js"
CART: Final = """<script>
window.cart = [];
document.addEventListener("product-recs:add-to-cart", (event) => {
  if (event.detail.items[0].id === "p5") return;
  event.preventDefault();
  event.detail.waitUntil(event.detail.items[0].id === "p3"
    ? Promise.reject(new Error("options"))
    : Promise.resolve().then(() => window.cart.push(event.detail)));
});
</script>"""


@pytest.fixture(scope="module")
def assisted_browser(playwright: Playwright) -> Iterator[Browser]:
    """Give a Chromium that has WebMCP."""
    with launched(playwright, "--enable-features=WebMCP") as browser:
        yield browser


@pytest.fixture
def assisted(assisted_browser: Browser, front: Storefront) -> Iterator[Page]:
    """Give an empty page of a browser with an assistant."""
    with assisted_browser.new_context() as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto(front.pages.origin("127.0.0.1") + "/p/1")  # without a script to cache
        if not page.evaluate("!!document.modelContext"):
            pytest.skip("this Chromium lacks WebMCP, so no assistant's tool was called")
        front.relay.seen.clear()
        yield page


@pytest.fixture(scope="module")
def allowing(storefront: Storefront) -> Storefront:
    """Return the store, which allows assistants in browsers."""
    allow(storefront, "true")
    return storefront


def allow(front: Storefront, is_on: str) -> None:
    """Switch assistants in browsers on or off, and wait until the scripts say so."""
    domain = front.merchant.account.domain
    with front.service.database() as database:
        store = find_store(database, domain)
        change_settings(database, store, {"browser_assistants": is_on})
    script = f"/widget/v1/{domain}.js"

    def is_known() -> bool:
        body = front.merchant.client.ask("GET", script).body
        return (CHUNK.encode() in body) == (is_on == "true")

    eventually(is_known)


def local(front: Storefront, path: str, body: str, **options: str) -> str:
    """Put a page into the shop; return its address, at which a browser offers tools."""
    front.page(path, body, **options)
    return front.pages.origin("127.0.0.1") + path


def chunks(front: Storefront) -> int:
    """Return how often a page asked for the chunk."""
    return sum(one.path == CHUNK for one in front.relay.seen)


def tools(page: Page) -> dict[str, Any]:
    """Return the tools of a page by their name, once they are there."""
    eventually(lambda: bool(page.webmcp.tools()))
    return {tool["name"]: tool for tool in page.webmcp.tools()}


def call(page: Page, tool: str, **values: object) -> dict[str, Any]:
    """Return what a tool answers; an error has the member `error`."""
    reply = page.webmcp.call_tool(tool, values)
    (content,) = reply["content"]
    result: dict[str, Any] = json.loads(content["text"])
    assert reply.get("isError", False) == ("error" in result)
    return result


def ids(result: dict[str, Any]) -> list[str]:
    return [product["id"] for product in result["products"]]


def test_only_a_store_that_allows_it_and_a_browser_with_an_assistant_load_the_tools(
    assisted: Page, assisted_browser: Browser, front: Storefront
) -> None:
    allow(front, "false")
    address = local(front, "/", "<product-recs data-eager data-item-id=p0></product-recs>")
    assisted.goto(address)
    expect(assisted.locator("product-recs >> li[data-id]").first).to_be_visible()
    assert (assisted.webmcp.tools(), chunks(front)) == ([], 0)

    allow(front, "true")
    with assisted_browser.new_context() as context:
        context.add_init_script("Object.defineProperty(document, 'modelContext', {})")
        usual = context.new_page()
        usual.goto(address)
        expect(usual.locator("product-recs >> li[data-id]").first).to_be_visible()
    assert chunks(front) == 0

    a_minute_later(assisted)
    assisted.goto(address)

    assert tools(assisted).keys() == {"search", "recommend"}
    assert chunks(front) == 1


@pytest.mark.parametrize("kind", ["", "search-"])
def test_an_assistant_searches_the_shop_as_its_pages_do(
    assisted: Page, allowing: Storefront, kind: str
) -> None:
    assisted.goto(local(allowing, "/", "<input type=search>", kind=kind))
    about = tools(assisted)["search"]
    assert about["annotations"]["readOnly"]
    assert about["inputSchema"]["required"] == ["query"]

    found = call(assisted, "search", query="trail tant", limit=3)

    origin = allowing.pages.origin("shop.example")
    assert found["currency"] == "EUR"
    assert found["products"][0] == {
        "id": "p0",
        "title": "Trail tent for two",
        "price": 9.5,
        "url": f"{origin}/p/0",
        "image": f"{origin}/picture.svg",
    }
    assert len(found["products"]) <= 3
    priced = call(assisted, "search", query="camping", min_price=50, max_price=80)
    assert {"p5", "p6", "p7"} == set(ids(priced))
    assert call(assisted, "search", query="zzzzqqqq")["products"] == []


@pytest.mark.parametrize("query", ["", "  ", None, 7.5, {"a": 1}, [], True])
def test_a_query_that_is_none_is_an_error_and_not_the_whole_catalog(
    assisted: Page, allowing: Storefront, query: object
) -> None:
    assisted.goto(local(allowing, "/", ""))
    tools(assisted)

    answer = call(assisted, "search", query=query, limit="many", min_price="a", in_stock=3)

    if query == 7.5:  # a number is a query as well
        assert isinstance(answer["products"], list)
    else:
        assert "query is empty" in answer["error"]


def test_an_assistant_gets_what_goes_with_a_product_and_with_the_page(
    assisted: Page, allowing: Storefront
) -> None:
    view = "<product-recs data-item-id=p1 hidden></product-recs>"
    assisted.goto(local(allowing, "/", view))
    tools(assisted)

    bought = call(assisted, "recommend", product_id="p0", kind="bought_together")

    assert set(ids(bought)) == {"p1", "p3"}
    assert bought["currency"] == "EUR"
    assert len(ids(call(assisted, "recommend", limit=2))) == 2
    asked = allowing.requests_to("/v1/recommendations")[-1]
    assert (asked["item_id"], asked["num"], asked["assistant"]) == ("p1", "2", "true")

    assisted.goto(local(allowing, "/plain", ""))
    tools(assisted)
    assert "names no" not in str(call(assisted, "recommend"))
    assert "product_id" in call(assisted, "recommend", kind="similar")["error"]


def test_without_consent_a_tool_names_no_shopper(
    assisted: Page, allowing: Storefront
) -> None:
    assisted.goto(local(allowing, "/", "", tag="async data-consent=required"))
    tools(assisted)

    call(assisted, "search", query="tent")
    call(assisted, "recommend")

    (searched,) = allowing.requests_to("/v1/search")
    (listed,) = allowing.requests_to("/v1/recommendations")
    assert {"user_id", "session_id", "identity"}.isdisjoint({*searched, *listed})
    assert assisted.evaluate("localStorage.length") == 0

    assisted.evaluate("ProductRecs.consent(true)")
    call(assisted, "recommend", limit=3)

    session = assisted.evaluate("localStorage.pr_sid")
    assert allowing.requests_to("/v1/recommendations")[-1]["user_id"] == session


def test_an_assistant_fills_the_cart_by_the_pages_own_script(
    assisted: Page, allowing: Storefront
) -> None:
    assisted.goto(local(allowing, "/", CART, tag="async data-add-to-cart"))
    assert tools(assisted).keys() == {"search", "recommend", "add_to_cart"}

    added = call(assisted, "add_to_cart", product_id="p1", quantity=2)

    assert (added["added"]["title"], added["quantity"]) == ("Gas stove", 2)
    (put,) = assisted.evaluate("window.cart")
    assert put["items"] == [{"id": "p1", "price": 19.5, "quantity": 2}]
    assert (put["currency"], put["widget"]) == ("EUR", "assistant")
    refused: dict[str, dict[str, object]] = {
        "no such product": {"product_id": "p99"},
        "no such": {},
        "quantity is 1 to 99": {"product_id": "p1", "quantity": 100},
        "/p/3": {"product_id": "p3"},  # the shop refuses
        "/p/5": {"product_id": "p5"},  # the page leaves it alone
    }
    for reason, values in refused.items():
        assert reason in call(assisted, "add_to_cart", **values)["error"], reason
    assert len(assisted.evaluate("window.cart")) == 1


def test_a_page_with_a_tool_of_its_own_keeps_it(
    assisted: Page, allowing: Storefront
) -> None:
    own = """<script>document.modelContext.registerTool({
      name: "search", description: "Ours", execute: async () => "ours"})</script>"""
    assisted.goto(local(allowing, "/", "", head=own))

    eventually(lambda: tools(assisted).keys() == {"search", "recommend"})

    assert tools(assisted)["search"]["description"] == "Ours"
