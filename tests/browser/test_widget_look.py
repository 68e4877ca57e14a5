"""Look widget: usable with mouse, keyboard and screen reader."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from tests.support.browser import watched
from tests.support.service import eventually
from tests.support.storefront import SHOP, Storefront, catalog

SPOT, POP = "product-look >> .spot", "product-look >> .pop:not([hidden])"
ROW, PICK = "product-look >> li[part=card]", "product-look >> .pick"
FILE = "product-look >> input[type=file]"
ELEMENT = (
    "<main><h1>Tent</h1>"
    "<product-look data-item-id=p0 data-eager data-upload></product-look></main>"
)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
PHOTO: FilePayload = {"name": "me.png", "mimeType": "image/png", "buffer": PIXEL}


def look_of(front: Storefront) -> dict[str, Any]:
    """Return a look of three products, one of which cannot be shown."""
    products = {str(one["id"]): one for one in catalog(front.pages.origin(SHOP))}
    boxes = {f"p{n}": [n / 4, n / 4, 0.2, 0.2] for n in (1, 2, 3)}
    hotspots: list[dict[str, Any]] = [
        {
            "label": f"part {item}",
            "bbox": box,
            "item_id": item,
            "product": {**products[item], "source": "look:1"},
        }
        for item, box in boxes.items()
    ]
    hotspots[2]["product"] = None
    return {
        "id": "look-1",
        "title": "In the hills",
        "image_url": f"{front.pages.origin(SHOP)}/picture.svg",
        "item_id": "p0",
        "hotspots": hotspots,
        "published_at": "2026-01-01T00:00:00Z",
    }


class LookPage:
    """A page with a look, answered as interface 4.1 says, and the calls that it made."""

    def __init__(self, page: Page, front: Storefront) -> None:
        """Answer the page's calls."""
        self.page = page
        self.look: dict[str, Any] | None = look_of(front)
        self.hotspots: list[dict[str, Any]] = []
        self.photos: list[dict[str, Any]] = []
        page.route("**/widget/v1/**", self._script)
        page.route("**/v1/looks?*", lambda route: self._answer(route, {"look": self.look}))
        page.route("**/v1/shop-the-look/analyze?*", self._analyze)

    def _script(self, route: Route) -> None:
        reply = route.fetch()
        answers = '"answers":["looks","analyze"]'
        text = re.sub(r'"answers":\[[^]]*\]', answers, reply.text())
        route.fulfill(response=reply, body=text)

    def _analyze(self, route: Route) -> None:
        self.photos.append(json.loads(route.request.post_data or ""))
        self._answer(route, {"hotspots": self.hotspots})

    def _answer(self, route: Route, said: object) -> None:
        route.fulfill(json=said, headers={"access-control-allow-origin": "*"})


@pytest.fixture
def world(browser: Browser, front: Storefront) -> Iterator[LookPage]:
    """Give a fresh page that shows a look."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(30_000)
        page = context.new_page()
        world = LookPage(page, front)
        front.page("/", ELEMENT, kind="look-")
        yield world


def test_hotspots_show_their_product_and_escape_puts_it_away(
    world: LookPage, front: Storefront
) -> None:
    page = world.page
    page.goto(front.pages.origin(SHOP))
    first, second = page.locator(SPOT).nth(0), page.locator(SPOT).nth(1)
    expect(page.locator(SPOT)).to_have_count(2)
    expect(first).to_have_accessible_name("Gas stove")

    first.focus()
    page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(page.locator(POP)).to_contain_text("Gas stove")
    page.keyboard.press("Tab")
    expect(page.locator(f"{POP} >> a")).to_be_focused()
    page.keyboard.press("Escape")
    expect(first).to_be_focused()
    expect(first).to_have_attribute("aria-expanded", "false")

    first.click()
    second.click()  # one at a time
    expect(page.locator(POP)).to_have_count(1)
    box, photo = page.locator(POP).bounding_box(), page.locator("product-look >> img").first
    around = photo.bounding_box()
    assert box is not None
    assert around is not None
    assert around["x"] <= box["x"]
    assert box["x"] + box["width"] <= around["x"] + around["width"]


def test_the_same_products_are_listed_beside_the_photo(
    world: LookPage, front: Storefront, axe: str
) -> None:
    page = world.page
    page.goto(front.pages.origin(SHOP))

    expect(page.locator(ROW)).to_have_count(2)
    expect(page.locator(ROW).first).to_contain_text("€19.50")
    expect(page.locator("product-look >> .gone")).to_have_text(
        "part p3: Not available at the moment"
    )
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []


def test_impressions_and_clicks_of_a_look_are_sent(
    world: LookPage, front: Storefront
) -> None:
    page = world.page
    page.goto(front.pages.origin(SHOP))
    expect(page.locator(ROW)).to_have_count(2)

    def seen() -> list[tuple[str, int, str]]:
        # Together, unless the machine is so slow that one is seen long after the other.
        return [
            each
            for one in front.events("rec-impression")
            for each in zip(one["item_ids"], one["positions"], one["sources"], strict=True)
        ]

    eventually(lambda: sorted(seen()) == [("p1", 1, "look:1"), ("p2", 2, "look:1")], 20)

    page.locator(ROW).nth(1).locator("a").click()
    page.wait_for_url("**/p/2")

    eventually(lambda: front.events("rec-click"), 20)
    (click,) = front.events("rec-click")
    assert (click["item_id"], click["position"], click["widget"]) == ("p2", 2, "look")
    assert click["source"] == "look:1"
    assert [one["item_id"] for one in front.events("detail-page-view")] == ["p0"]


def test_the_pages_own_product_is_in_a_look_and_never_reported(
    world: LookPage, front: Storefront
) -> None:
    page, products = world.page, catalog(front.pages.origin(SHOP))
    look = look_of(front)
    own = {"label": "tent", "bbox": [0.5, 0.5, 0.1, 0.1], "item_id": "p0"}
    look["hotspots"][0] = own | {"product": products[0]}
    world.look = look
    page.goto(front.pages.origin(SHOP))
    expect(page.locator(ROW)).to_have_count(2)
    expect(page.locator(ROW).first).to_contain_text("Trail tent")

    eventually(lambda: front.events("rec-impression"), 20)
    page.wait_for_timeout(1_500)  # the own product is as long in sight
    page.locator(ROW).first.locator("a").click()
    page.wait_for_url("**/p/0")

    shown = [one for event in front.events("rec-impression") for one in event["item_ids"]]
    assert shown == ["p2"]  # the control: what is no anchor is reported
    assert front.events("rec-impression")[0]["positions"] == [2]
    assert front.events("rec-click") == []


def test_the_services_own_look_is_shown(
    browser: Browser, front: Storefront, tmp_path: Path
) -> None:
    look = look_of(front)
    hotspots = [
        {n: one[n] for n in ("label", "bbox", "item_id")} for one in look["hotspots"]
    ]
    wanted = {name: look[name] for name in ("item_id", "title", "image_url")}
    file = tmp_path / "looks.json"
    file.write_text(json.dumps([{**wanted, "hotspots": hotspots}]), "utf-8")
    domain = front.merchant.account.domain
    front.service.run("looks", "import", domain, str(file), "--publish")
    with browser.new_context(viewport={"width": 375, "height": 900}) as context:
        page = context.new_page()
        watch = watched(page)
        page.goto(front.page("/", ELEMENT, kind="look-"))

        expect(page.locator(ROW)).to_have_count(3)
        expect(page.locator(SPOT)).to_have_count(3)
        expect(page.locator("product-look >> figcaption")).to_have_text("In the hills")
        expect(page.locator(PICK)).to_have_count(0)  # no pictures are indexed yet
        assert watch.complaints == []


def test_a_photo_is_analysed_and_its_products_are_shown(
    world: LookPage, front: Storefront
) -> None:
    page = world.page
    products = look_of(front)["hotspots"]
    world.look = None
    world.hotspots = [
        {
            "label": "hat",
            "bbox": [0, 0, 0.5, 0.5],
            "confidence": 0.9,
            "products": [{**one["product"], "score": 1} for one in products[:2]],
        }
    ]
    page.goto(front.pages.origin(SHOP))
    expect(page.locator(PICK)).to_contain_text("Upload an outfit")

    page.locator(FILE).set_input_files([PHOTO])

    expect(page.locator(ROW)).to_have_count(2)
    expect(page.locator("product-look >> .label")).to_have_text("hat")
    assert world.photos[0]["image"].startswith("data:image/jpeg;base64,")


def test_a_photo_of_nothing_says_so(world: LookPage, front: Storefront) -> None:
    page = world.page
    page.goto(front.pages.origin(SHOP))

    page.locator(FILE).set_input_files([PHOTO])

    expect(page.locator(PICK)).to_contain_text("No products were recognised")
    expect(page.locator(SPOT)).to_have_count(2)


def test_without_a_look_and_without_analysis_nothing_is_there(
    world: LookPage, front: Storefront
) -> None:
    page = world.page
    watch = watched(page)
    world.look = None
    plain = ELEMENT.replace(" data-upload", "")
    page.goto(front.page("/", plain, kind="look-"))
    # A place in sight is kept, not visible, so that nothing moves.
    page.wait_for_function(
        "(look => look.hidden || look.style.visibility == 'hidden')"
        "(document.querySelector('product-look'))"
    )

    assert watch.complaints == []
