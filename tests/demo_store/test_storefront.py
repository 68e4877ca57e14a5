"""Demo storefront: serves pages, keeps a cart, and places orders."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest

from demo_store.departments import DEPARTMENTS
from demo_store.looks import LOOKS
from demo_store.storefront.application import Storefront
from demo_store.storefront.demo_customers import demo_customers
from productrecs.records.catalog.availability import Availability
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from tests.support.migrated import bring
from tests.support.stores import new_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import Message, Receive, Scope, Send

DOMAIN = "demo.localhost"
HOSTILE = '<img src=x onerror="alert(1)">'
HOST = "127.0.0.1:8000"


@dataclass
class Recorder:
    """The service, as far as this shop calls it, and a record of its calls."""

    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    status: int = 200
    relaxed: str = ""
    did_you_mean: str | None = None
    redirect: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer everything alike."""
        body = (await receive())["body"]
        self.requests.append((scope["method"], scope["path"], json.loads(body or b"null")))
        self.queries.append(dict(parse_qsl(scope["query_string"].decode())))
        answered: dict[str, Any] = {
            "results": [{"id": "enamel-mug"}, {"id": "gone"}],
            "did_you_mean": self.did_you_mean,
            "redirect": self.redirect,
        }
        if self.relaxed:
            answered["filters"] = [{"text": "under 50"}]
        headers = [(b"x-search-relaxed", self.relaxed.encode())]
        start = {"type": "http.response.start", "status": self.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": json.dumps(answered).encode()})


@dataclass
class BrowserSession:
    """One shopper's browser, without scripts: it keeps cookies and sends forms."""

    shop: Storefront
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, method: str = "GET") -> Page:
        """Ask for a page."""
        return self._send(method, path, b"", {})

    def post(self, path: str, headers: dict[str, str] | None = None, **form: str) -> Page:
        """Send a form."""
        return self._send("POST", path, urlencode(form).encode(), headers or {})

    def _send(self, method: str, address: str, body: bytes, more: dict[str, str]) -> Page:
        path, _, query = address.partition("?")
        cookie = "; ".join(f"{name}={one}" for name, one in self.cookies.items())
        headers = {"host": HOST, "cookie": cookie} | more
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
        }
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        asyncio.run(self.shop(scope, receive, send))
        page = Page(
            messages[0]["status"],
            b"".join(one.get("body", b"") for one in messages),
            {name.decode(): one.decode() for name, one in messages[0]["headers"]},
        )
        for name, one in messages[0]["headers"]:
            if name == b"set-cookie":
                for key, morsel in SimpleCookie(one.decode()).items():
                    self.cookies[key] = morsel.value
        return page


@dataclass
class Page:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """The page's HTML."""
        return self.body.decode()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("shop")
    bring(folder)
    services = build_services(Settings(data=folder))
    store = new_store(services.database, DOMAIN)
    items = [
        _item("ridge-tent-for-two", 189.0),
        _item("enamel-mug", 9.5),
        _item("lambswool-scarf-moss", 44.0),
        _item("lambswool-scarf-ink", 44.0),
        _item("compass", 21.0, stock_qty=0),
        _item("rope-toy", 9.9, availability=Availability.DISCONTINUED),
        _item("hostile", 1.0, title=HOSTILE),
    ]
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(
            services.database, transaction, store.store_id, services.numbers
        )
        upsert_items(log, items, services.clock())
    yield services
    services.close()


def _item(item_id: str, price: float, **fields: object) -> ItemPatch:
    shown = {
        "title": item_id,
        "price": price,
        "image_url": f"/demo/pictures/{item_id}.webp",
        "product_url": f"/demo/product/{item_id}",
    }
    return ItemPatch(item_id, shown | fields)


@pytest.fixture
def service() -> Recorder:
    return Recorder()


@pytest.fixture
def browser(services: Services, service: Recorder) -> BrowserSession:
    return BrowserSession(Storefront(service, services, DOMAIN))


@pytest.mark.parametrize(
    "path",
    [
        "/demo",
        *(f"/demo/category/{one.id}" for one in DEPARTMENTS[:2]),
        "/demo/category/outdoor/tents?order=low&colour=moss",
        "/demo/product/ridge-tent-for-two",
        "/demo/search?q=mug",
        "/demo/search",
        "/demo/cart",
        f"/demo/look/{LOOKS[0].id}",
    ],
)
def test_every_page_is_whole_and_strict(browser: BrowserSession, path: str) -> None:
    page = browser.get(path)

    assert page.status == 200
    assert page.text.count("<h1") == 1
    assert page.text.rstrip().endswith("</html>")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\bstyle=", page.text)
    assert not re.search(r"(src|href|action)=\"(https?:)?//", page.text)


def test_head_answers_as_get(browser: BrowserSession) -> None:
    page = browser.get("/demo", method="HEAD")

    assert page.status == 200
    assert int(page.headers["content-length"]) > 1_000


def test_a_method_that_no_page_has_is_refused(browser: BrowserSession) -> None:
    page = browser.get("/demo/cart", method="DELETE")

    assert page.status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/demo/nowhere",
        "/demo/product/rope-toy",
        "/demo/product/unknown",
        "/demo/category/unknown",
        "/demo/category/outdoor/unknown",
        "/demo/assets/unknown.js",
        "/demo/pictures/unknown.webp",
        "/demo/pictures/../../../productrecs.db",
        "/demo/pictures/large/..%2f.webp",
    ],
)
def test_what_is_not_there_is_404(browser: BrowserSession, path: str) -> None:
    assert browser.get(path).status == 404


def test_everything_else_is_the_services(
    browser: BrowserSession, service: Recorder
) -> None:
    browser.get("/v1/trending")
    browser.get("/demonstration")

    assert [path for _, path, _ in service.requests] == ["/v1/trending", "/demonstration"]


def test_a_hostile_title_stays_text(browser: BrowserSession) -> None:
    page = browser.get("/demo/product/hostile")

    assert "<img src=x" not in page.text
    assert "&lt;img src=x" in page.text


def test_a_hostile_search_stays_text(browser: BrowserSession) -> None:
    page = browser.get(f"/demo/search?q={quote(HOSTILE)}")

    assert "<img src=x" not in page.text


def test_a_search_shows_what_the_service_found_and_the_shop_has(
    browser: BrowserSession,
) -> None:
    page = browser.get("/demo/search?q=mug")

    assert "1 thing," in page.text
    assert "/demo/product/enamel-mug" in page.text


def test_a_search_goes_to_the_page_that_the_service_names(
    browser: BrowserSession, service: Recorder
) -> None:
    service.redirect = "/demo/help"
    page = browser.get("/demo/search?q=help")

    assert (page.status, page.headers["location"]) == (303, "/demo/help")


def test_a_search_names_the_shopper_as_the_search_box_does(
    browser: BrowserSession, service: Recorder
) -> None:
    browser.cookies["pr_sid"] = "s_anna"
    browser.get("/demo/search?q=mug")
    browser.cookies["pr_sid"] = "no session"
    browser.get("/demo/search?q=mug")

    named, unnamed = service.queries[-2:]
    assert named["session_id"] == "s_anna"
    assert not {"session_id", "user_id"} & set(unnamed)


def test_a_search_says_how_its_words_were_read(
    browser: BrowserSession, service: Recorder
) -> None:
    plain = browser.get("/demo/search?q=blue+mug+under+50").text
    service.relaxed = "words"
    page = browser.get("/demo/search?q=blue+mug+Under+50").text

    assert "Not everything here matches all the words" in page
    assert 'href="/demo/search?q=blue%20mug"' in page
    assert "Not everything here" not in plain
    assert "Filters in your words" not in plain


@pytest.mark.parametrize("relaxed", ["spelling", "words"])
def test_a_search_says_that_its_spelling_was_corrected(
    browser: BrowserSession, service: Recorder, relaxed: str
) -> None:
    service.relaxed, service.did_you_mean = relaxed, "coffee grinder"
    page = browser.get("/demo/search?q=cofee+grinder").text

    assert "These are the results for \u201ccoffee grinder\u201d." in page
    assert ("Not everything here" in page) == (relaxed == "words")


def test_what_is_sold_out_cannot_be_put_into_the_cart(browser: BrowserSession) -> None:
    page = browser.get("/demo/product/compass")
    browser.post("/demo/cart", item_id="compass", more="1")

    assert "disabled>Sold out" in page.text
    assert "Your cart is empty" in browser.get("/demo/cart").text


def test_the_same_thing_in_other_colours_is_offered(browser: BrowserSession) -> None:
    page = browser.get("/demo/product/lambswool-scarf-moss")

    assert "/demo/product/lambswool-scarf-ink" in page.text


def test_a_cart_grows_shrinks_and_adds_up(browser: BrowserSession) -> None:
    browser.post("/demo/cart", item_id="enamel-mug", more="3")
    browser.post("/demo/cart", item_id="enamel-mug", more="-1")
    reply = browser.post(
        "/demo/cart", {"accept": "application/json"}, item_id="ridge-tent-for-two"
    )
    full = browser.get("/demo/cart")
    browser.post("/demo/cart", item_id="ridge-tent-for-two", exactly="0")

    assert json.loads(reply.body) == {"count": 3, "total": 208.0}
    assert 'data-item-ids="enamel-mug,ridge-tent-for-two"' in full.text
    assert "€23.90" in browser.get("/demo/cart").text  # two mugs and delivery


@pytest.mark.parametrize("value", ["x", "a*1|*", "enamel-mug*99999", "gone*2", '"'])
def test_a_broken_cart_is_an_empty_one(browser: BrowserSession, value: str) -> None:
    browser.cookies["demo_cart"] = value

    assert "Your cart is empty" in browser.get("/demo/cart").text


def test_an_order_goes_to_the_service_with_who_bought_what(
    browser: BrowserSession, service: Recorder
) -> None:
    someone = demo_customers()[1]
    browser.post("/demo/as", customer=someone.customer_id, back="/demo/cart")
    browser.cookies["pr_sid"] = "s_abc123"
    browser.post("/demo/cart", item_id="enamel-mug", more="2")
    form = browser.get("/demo/checkout").text
    order_id = re.findall(r'name="order_id" value="(HO-\w+)"', form)[0]

    sent = browser.post("/demo/checkout", order_id=order_id)
    thanks = browser.get("/demo/thanks")

    assert sent.headers["location"] == "/demo/thanks"
    assert service.requests == [
        (
            "POST",
            "/v1/orders",
            {
                "order_id": order_id,
                "user_id": someone.customer_id,
                "session_id": "s_abc123",
                "currency": "EUR",
                "items": [{"item_id": "enamel-mug", "quantity": 2, "price": 9.5}],
            },
        )
    ]
    assert f"Thank you, {someone.name}." in thanks.text
    assert 'data-item-ids="enamel-mug"' in thanks.text
    assert "Your cart is empty" in browser.get("/demo/cart").text


def test_a_session_that_is_none_is_not_sent(
    browser: BrowserSession, service: Recorder
) -> None:
    browser.cookies["pr_sid"] = "s_<script>"
    browser.post("/demo/cart", item_id="enamel-mug")

    browser.post("/demo/checkout", order_id="anything")

    (_, _, order) = service.requests[0]
    assert (order["session_id"], order["user_id"]) == (None, None)
    assert re.fullmatch(r"HO-[0-9A-F]{10}", order["order_id"])


def test_an_order_that_the_service_refuses_leaves_the_cart(
    browser: BrowserSession, service: Recorder
) -> None:
    browser.post("/demo/cart", item_id="enamel-mug")
    service.status = 503

    sent = browser.post("/demo/checkout")

    assert sent.headers["location"] == "/demo/checkout"
    assert "enamel-mug" in browser.get("/demo/checkout").text


def test_a_form_of_another_site_does_nothing(browser: BrowserSession) -> None:
    foreign = browser.post(
        "/demo/cart", {"origin": "https://evil.example"}, item_id="enamel-mug"
    )
    ours = browser.post("/demo/cart", {"origin": f"http://{HOST}"}, item_id="enamel-mug")

    assert (foreign.status, ours.status) == (403, 303)


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/v1", "/demox"]
)
def test_a_form_leads_back_into_the_shop_only(browser: BrowserSession, back: str) -> None:
    sent = browser.post("/demo/as", customer="", back=back)

    assert sent.headers["location"] == "/demo"


def test_a_form_longer_than_any_of_ours_is_refused(browser: BrowserSession) -> None:
    assert browser.post("/demo/cart", item_id="x" * 30_000).status == 413


def test_a_picture_is_drawn_once_and_kept(
    browser: BrowserSession, services: Services
) -> None:
    first = browser.get("/demo/pictures/enamel-mug.webp")
    kept: Path = services.settings.data / "demo" / "pictures" / "card" / "enamel-mug.webp"
    kept.write_bytes(b"kept")

    again = browser.get("/demo/pictures/enamel-mug.webp")

    assert (first.status, first.headers["content-type"]) == (200, "image/webp")
    assert again.body == b"kept"


def test_the_regulars_are_six_people_with_accounts() -> None:
    customers = {one.customer_id for one in demo_customers()}

    assert len(customers) == 6
    assert all(re.fullmatch(r"c1\d{4}", one) for one in customers)
