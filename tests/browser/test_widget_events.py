"""Widget events: each arrives once, with its position, and only with consent."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, BrowserContext, Page, expect

from productrecs.storage.sql.tables import events
from tests.support.browser import another, watched
from tests.support.service import eventually
from tests.support.storefront import SHOP, Storefront

LINK = "product-recs >> a[part=link][href]"
ELEMENT = "<product-recs data-item-id=p0 data-layout=grid data-num=4></product-recs>"
SESSION = re.compile(r"s_[A-Za-z0-9]{20,}")
BEFORE = (
    "<script>window.ProductRecs ||= {q: [], track() { this.q.push(arguments) }};</script>"
)
NOTHING_WAITS = "localStorage.pr_outbox_{} === undefined"
CARDS = "product-recs >> li[data-id]:not([data-id=''])"  # cards that still load have no id
IDS = "all => all.map(one => one.dataset.id)"
CART = "ProductRecs.track('add-to-cart', {item_id: 'p1', value: 19.5, currency: 'EUR'})"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Give a fresh shopper."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(30_000)
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Return an empty page of that shopper's."""
    return context.new_page()


def stored(front: Storefront) -> int:
    """Return how many rows of events the store has."""
    with front.service.database() as database, database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(events)
        of_the_store = events.c.store_id == front.merchant.account.store_id
        return int(connection.execute(query.where(of_the_store)).scalar_one())


@pytest.mark.parametrize(
    ("query", "widgets"),
    [
        ("utm_source=agent.example&utm_medium=assistant", ["assistant-agent.example"]),
        ("utm_medium=assistant", ["assistant-assistant"]),
        (
            "utm_source=agent.example&utm_medium=assistant&utm_campaign=Spring_2026",
            ["assistant-agent.example/spring_2026"],
        ),
        ("utm_medium=assistant&utm_campaign=a@b.example", ["assistant-assistant"]),
        ("utm_medium=assistant&utm_campaign=4915112345678", ["assistant-assistant"]),
        ("utm_source=agent.example&utm_medium=email", []),
        ("q=m%3Dassistant", []),
        ("utm_medium=email&pr_mail=newsletter", ["mail-newsletter"]),
    ],
)
def test_a_link_of_an_assistant_or_a_mail_counts_as_a_click_on_its_product(
    page: Page, front: Storefront, query: str, widgets: list[str]
) -> None:
    page.goto(front.page("/", ELEMENT) + f"?{query}")
    eventually(lambda: front.events("rec-impression"), 20)
    page.evaluate("ProductRecs.track('detail-page-view', {item_id: 'p1'})")
    eventually(lambda: len(front.events("detail-page-view")) == 2, 20)

    clicks = front.events("rec-click")

    assert [(one["item_id"], one["widget"]) for one in clicks] == [
        ("p0", widget) for widget in widgets
    ]


def test_a_view_what_was_seen_and_a_click_that_leaves_arrive(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ELEMENT))
    expect(page.locator(CARDS)).to_have_count(4)
    shown = page.locator(CARDS).evaluate_all(IDS)
    eventually(lambda: front.events("rec-impression"), 20)

    page.locator(LINK).nth(1).click()
    page.wait_for_url("**/p/*")

    eventually(lambda: front.events("rec-click"), 20)
    (view,) = front.events("detail-page-view")
    (seen,) = front.events("rec-impression")
    (click,) = front.events("rec-click")
    assert (view["item_id"], view["widget"]) == ("p0", "recs")
    assert seen["item_ids"] == shown
    assert seen["positions"] == [1, 2, 3, 4]
    assert len(seen["sources"]) == 4
    assert click["item_id"] == shown[1]
    assert (click["source"], click["position"]) == (seen["sources"][1], 2)
    assert click["widget"] == seen["widget"] == "recs"
    (session,) = {one["session_id"] for one in (view, seen, click)}
    assert SESSION.fullmatch(session)
    assert page.evaluate("localStorage.pr_sid") == session
    assert page.context.cookies() == []
    (request,) = front.requests_to("/v1/recommendations")
    assert request["user_id"] == session


def test_no_request_asks_the_browser_to_ask_first(page: Page, front: Storefront) -> None:
    page.goto(front.page("/", ELEMENT))
    eventually(lambda: front.events("rec-impression"), 20)

    assert "OPTIONS" not in front.relay.methods()
    posted = [one for one in front.relay.seen if one.method == "POST"]
    assert {one.headers["content-type"].lower() for one in posted} == {
        "text/plain;charset=utf-8"
    }


def test_half_a_card_for_less_than_a_second_is_not_seen(
    page: Page, front: Storefront
) -> None:
    element = "<product-recs data-item-id=p0 data-layout=list data-num=6></product-recs>"
    space = "<div style='height:700px'></div>"
    page.set_viewport_size({"width": 400, "height": 900})
    page.clock.install()
    page.goto(front.page("/", space + element + space * 3))
    expect(page.locator(LINK)).to_have_count(6)
    page.clock.run_for(700)
    page.evaluate("scrollTo(0, 2000)")  # away, before a second is over
    page.wait_for_timeout(100)
    page.clock.run_for(2_000)
    before = front.events("rec-impression")

    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(100)
    for _ in range(4):
        page.clock.run_for(700)
        page.wait_for_timeout(30)
    eventually(lambda: front.events("rec-impression"), 20)

    (seen,) = front.events("rec-impression")
    below = page.locator("product-recs >> li").evaluate_all(
        "all => all.map(a => (900 - a.getBoundingClientRect().top) / a.offsetHeight >= .5)"
    )
    assert before == []
    assert seen["positions"] == [at + 1 for at, visible in enumerate(below) if visible]
    assert 0 < len(seen["positions"]) < 6


def test_a_customer_is_named_beside_the_session(page: Page, front: Storefront) -> None:
    named = ELEMENT.replace(" ", " data-user-id=u7 data-customer-id=c7 ", 1)
    page.goto(front.page("/", named))
    expect(page.locator(LINK)).to_have_count(4)
    page.evaluate(CART)

    eventually(lambda: front.events("add-to-cart"), 20)
    events = front.events("detail-page-view") + front.events("add-to-cart")
    assert {one["user_id"] for one in events} == {"c7"}
    assert all(SESSION.fullmatch(one["session_id"]) for one in events)
    assert front.events("add-to-cart")[0]["value"] == 19.5


def test_a_signed_identity_goes_with_the_customer_everywhere(
    page: Page, front: Storefront
) -> None:
    signed = front.merchant.identity("c7")
    named = ELEMENT.replace(" ", f" data-customer-id=c7 data-identity={signed} ", 1)
    page.goto(front.page("/", named))
    expect(page.locator(LINK)).to_have_count(4)
    page.evaluate(CART)

    eventually(lambda: front.events("add-to-cart"), 20)
    (request,) = front.requests_to("/v1/recommendations")
    assert (request["customer_id"], request["identity"]) == ("c7", signed)
    assert SESSION.fullmatch(request["user_id"])
    events = front.events("detail-page-view") + front.events("add-to-cart")
    assert {(one["user_id"], one["identity"]) for one in events} == {("c7", signed)}


def test_track_may_be_called_before_the_script_is_there(
    page: Page, front: Storefront
) -> None:
    early = f"{BEFORE}<script>{CART}; {CART.replace('p1', 'p2')}</script>"
    page.goto(front.page("/", "", head=early))

    eventually(lambda: len(front.events("add-to-cart")) == 2, 20)
    assert [one["item_id"] for one in front.events()] == ["p1", "p2"]


# --------------------------------------------------------- what closes, fails and returns


@pytest.mark.parametrize("seconds", [0, pytest.param(30, marks=pytest.mark.trust)])
def test_a_service_that_is_down_loses_nothing_and_doubles_nothing(
    page: Page, front: Storefront, seconds: int
) -> None:
    before = stored(front)
    page.goto(front.page("/", ""))
    page.wait_for_function("!!window.ProductRecs?.core")
    front.relay.is_down = True
    for number in range(3):
        page.evaluate(f"{CART.replace('p1', f'p{number}')}; ProductRecs.core.hurry()")
    page.wait_for_timeout(300 + 1_000 * seconds)
    page.goto(f"{front.pages.origin(SHOP)}/p/1")  # the first page closes, unheard
    assert front.events() == []

    front.relay.is_down = False
    page.goto(front.page("/", ""))
    eventually(lambda: len(front.events()) == 3, 20)
    page.wait_for_function(NOTHING_WAITS.format(front.key[-8:]))
    page.reload()
    page.wait_for_function("!!window.ProductRecs?.core")
    page.wait_for_timeout(500)

    assert [one["item_id"] for one in front.events()] == ["p0", "p1", "p2"]
    assert stored(front) == before + 3


def test_a_refusal_of_one_event_does_not_hold_the_others_up(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ""))
    page.wait_for_function("!!window.ProductRecs?.core")

    page.evaluate(f"{CART}; ProductRecs.track('add-to-cart', {{}}); {CART}")

    eventually(lambda: len(front.events()) == 2, 20)
    page.wait_for_function(NOTHING_WAITS.format(front.key[-8:]))


def test_events_are_sent_again_when_the_service_was_busy(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ""))
    page.wait_for_function("!!window.ProductRecs?.core")
    front.relay.refusals = [503, 500]

    page.evaluate(CART)

    eventually(front.events, 30)
    assert front.relay.refusals == []
    page.wait_for_function(NOTHING_WAITS.format(front.key[-8:]))


def leave_at_once(page: Page, front: Storefront, times: int) -> int:
    """Click that often on a product that leads away at once; return how many arrived."""
    address = front.page("/", ELEMENT)
    for _ in range(times):
        page.goto(address, wait_until="commit")
        page.locator(LINK).first.click(no_wait_after=True)
        page.wait_for_url("**/p/*", wait_until="commit")
    page.goto(front.page("/end", ""))
    page.wait_for_function("!!window.ProductRecs?.core")
    page.wait_for_timeout(1_000)
    return len(front.events("rec-click"))


@pytest.mark.parametrize("times", [6, pytest.param(500, marks=pytest.mark.trust)])
def test_clicks_that_leave_at_once_arrive(
    page: Page, front: Storefront, times: int
) -> None:
    before = stored(front)

    arrived = leave_at_once(page, front, times)

    assert arrived >= 0.995 * times
    clicks = len(front.events("rec-click"))
    views = len(front.events("detail-page-view"))
    seen = sum(len(one["item_ids"]) for one in front.events("rec-impression"))
    assert stored(front) == before + clicks + views + seen


# --------------------------------------------------------------------------- who agrees


def kept(page: Page) -> list[str]:
    """Return the names of everything that the page keeps in the browser."""
    names: list[str] = page.evaluate("Object.keys(localStorage)")
    return names


def test_without_consent_nothing_is_stored_or_sent_until_it_is_given(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ELEMENT, tag="async data-consent=required"))
    expect(page.locator(LINK)).to_have_count(4)
    page.evaluate(CART)
    page.wait_for_timeout(1_800)
    assert (kept(page), front.events()) == ([], [])
    (request,) = front.requests_to("/v1/recommendations")
    assert "user_id" not in request

    page.evaluate("ProductRecs.consent(true)")

    eventually(lambda: len(front.events()) >= 3, 20)
    assert {one["event"] for one in front.events()} == {
        "detail-page-view",
        "rec-impression",
        "add-to-cart",
    }


def test_a_no_forgets_everything(page: Page, front: Storefront) -> None:
    page.goto(front.page("/", ELEMENT))
    expect(page.locator(LINK)).to_have_count(4)
    first = page.evaluate("localStorage.pr_sid")

    page.evaluate("ProductRecs.consent(false)")
    page.evaluate(CART)
    page.wait_for_timeout(600)
    assert kept(page) == []
    assert front.events("add-to-cart") == []

    page.evaluate(f"ProductRecs.consent(true); {CART}")
    eventually(lambda: front.events("add-to-cart"), 20)
    assert page.evaluate("localStorage.pr_sid") != first


@pytest.mark.parametrize(
    "script",
    [
        "Object.defineProperty(navigator, 'globalPrivacyControl', {get: () => true})",
        "window.wp_has_consent = () => false",
        "window.Shopify = {customerPrivacy: {analyticsProcessingAllowed: () => false}}",
    ],
)
def test_consent_tools_and_the_browsers_own_word_are_heard(
    page: Page, front: Storefront, script: str
) -> None:
    page.goto(front.page("/", ELEMENT, head=f"<script>{script}</script>"))
    expect(page.locator(LINK)).to_have_count(4)
    page.wait_for_timeout(500)

    assert (kept(page), front.events()) == ([], [])


def test_storage_that_is_blocked_is_no_obstacle(page: Page, front: Storefront) -> None:
    watch = watched(page)
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', "
        "{get() { throw new DOMException('no', 'SecurityError') }})"
    )
    page.goto(front.page("/", ELEMENT))
    expect(page.locator(LINK)).to_have_count(4)
    eventually(lambda: front.events("rec-impression"), 20)

    (session,) = {one["session_id"] for one in front.events()}
    assert SESSION.fullmatch(session)
    assert watch.complaints == []


SHOW_ITEM = """(item) => {
  history.pushState({}, "", "/" + item);
  for (const one of document.querySelectorAll("product-recs")) {
    one.dataset.userId = "";
    one.dataset.itemId = item;
  }
}"""


def test_each_page_of_a_single_page_shop_is_a_view(page: Page, front: Storefront) -> None:
    free = ELEMENT.replace("<product-recs", "<product-recs data-allow-duplicates")
    page.goto(front.page("/", free * 2))  # two lists that are the same share a call
    expect(page.locator(LINK)).to_have_count(8)

    def requested() -> list[str]:
        return [one["item_id"] for one in front.requests_to("/v1/recommendations")]

    for count, item in enumerate(("p1", "p2", "p1"), 2):
        page.evaluate(SHOW_ITEM, item)
        page.wait_for_timeout(50)
        eventually(partial(lambda wanted: len(requested()) == wanted, count))

    def viewed() -> list[Any]:
        return [one["item_id"] for one in front.events("detail-page-view")]

    eventually(lambda: len(viewed()) >= 4, 20)
    assert viewed() == ["p0", "p1", "p2", "p1"]
    assert requested() == ["p0", "p1", "p2", "p1"]


RESTORED = """<script>
addEventListener("pageshow", (event) => { window.restored = event.persisted; });
</script>"""


@pytest.mark.trust
def test_a_page_restored_from_the_browsers_cache_sends_nothing_twice(
    browser: Browser, front: Storefront
) -> None:
    with another(browser) as other, other.new_context() as context:
        page = context.new_page()
        page.goto(front.page("/", ELEMENT, head=RESTORED))
        expect(page.locator(LINK)).to_have_count(4)
        eventually(lambda: front.events("rec-impression"), 20)
        page.locator(LINK).nth(0).click()
        page.wait_for_url("**/p/*")

        page.go_back(wait_until="commit")  # a page that comes back whole loads nothing
        page.wait_for_function("window.restored")
        page.locator(LINK).nth(1).click()
        page.wait_for_url("**/p/*")
        eventually(lambda: len(front.events("rec-click")) == 2, 20)

    events = front.events()
    seen = [item for one in events if "item_ids" in one for item in one["item_ids"]]
    assert len(seen) == len(set(seen)) == 4
    assert [one["position"] for one in front.events("rec-click")] == [1, 2]
    assert len(front.events("detail-page-view")) == 1


def test_who_and_which_widget_sold_is_what_the_service_credits(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ELEMENT))
    expect(page.locator(LINK)).to_have_count(4)
    eventually(lambda: front.events("rec-impression"), 20)
    page.locator(LINK).nth(2).click()
    page.wait_for_url("**/p/*")
    eventually(lambda: front.events("rec-click"), 20)
    (click,) = front.events("rec-click")
    page.goto(front.page("/cart", ""))
    page.wait_for_function("!!window.ProductRecs?.core")
    page.evaluate(CART.replace("p1", click["item_id"]))
    eventually(lambda: front.events("add-to-cart"), 20)

    session = click["session_id"]
    merchant = front.merchant.through(front.service.client())
    assert merchant.order("J-1", click["item_id"], session_id=session).status == 200
    domain = front.merchant.account.domain
    said = json.loads(front.service.run("report", domain, "credited-sales", "--json"))
    (sale,) = [row for row in said["rows"] if row["order_id"] == "J-1"]
    assert (sale["widget"], sale["source"], sale["position"]) == (
        "recs",
        click["source"],
        3,
    )
