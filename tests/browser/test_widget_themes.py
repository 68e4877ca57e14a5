"""Widget themes: light, dark, forced colours, and a conflicting stylesheet."""

import io
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import a_minute_later
from tests.support.storefront import Storefront

LINK = "product-recs >> a[part=link][href]"
ELEMENT = (
    "<main><h1>Tent</h1><product-recs data-layout=carousel data-type=cart "
    "data-item-id=p0></product-recs></main>"
)
BOTH = "<style>:root { color-scheme: light dark } body { margin: 16px }</style>"
HOSTILE = """<style>
* { all: unset !important; float: left !important; position: relative !important;
  box-sizing: content-box !important; padding: 7px !important; width: 20px !important;
  border: 3px solid red !important; color: rgb(90, 0, 90) !important; }
head, script, style { display: none !important }
body, main { display: block !important; width: 1200px !important; float: none !important }
product-recs { padding: 0 !important; border: 0 !important }
</style>"""
# At one place in both pages: half a pixel would draw every letter anew.
PLACE = (
    "<style>product-recs { position: fixed !important; top: 100px !important; "
    "left: 0 !important; width: 1200px !important }</style>"
)
NOTICED, SAME, OTHER = 8, 0.001, 0.01  # of 255; shares of pixels
READ_IN = {"light": "rgb(0, 0, 0)", "dark": "rgb(255, 255, 255)"}
# What is the form of a list? Sizes of what has one whatever the letters.
FORM = """() => {
  const root = document.querySelector("product-recs").shadowRoot;
  const size = (name) => {
    const { width, height } = root.querySelector(name).getBoundingClientRect();
    return [Math.round(width), Math.round(height)];
  };
  const { display, overflowX } = getComputedStyle(root.querySelector(".list"));
  const button = getComputedStyle(root.querySelector(".card .button"));
  return {
    image: size(".image"), round: size(".round"), list: [display, overflowX],
    button: [button.borderTopStyle, button.minHeight, button.position],
    side: getComputedStyle(root.querySelector(".image img")).objectFit,
  };
}"""


def seen(page: Page) -> npt.NDArray[np.int16]:
    """Return the pixels of the list, as they are on the screen."""
    page.mouse.move(0, 0)
    # The buttons have heard which ends are in sight.
    expect(page.locator("product-recs >> [part=nav-button]").first).to_have_attribute(
        "aria-disabled", "true"
    )
    shot = page.locator("product-recs").screenshot(animations="disabled")
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), np.int16)


def differing(one: npt.NDArray[np.int16], other: npt.NDArray[np.int16]) -> float:
    """Return the share of pixels that are not the same; 1 where the sizes differ."""
    if one.shape != other.shape:
        return 1.0
    return float((np.abs(one - other).max(axis=2) > NOTICED).mean())


def form(page: Page, front: Storefront, head: str) -> dict[str, Any]:
    """Return the form of a list of eight in a page with this head."""
    page.goto(front.page("/", ELEMENT, head=head))
    expect(page.locator(LINK)).to_have_count(8)
    expect(page.locator("product-recs >> .round").first).to_be_attached()
    found: dict[str, Any] = page.evaluate(FORM)
    return found


def test_a_theme_that_styles_every_element_changes_no_widget(
    page: Page, front: Storefront
) -> None:
    plain = "<style>product-recs { color: rgb(90, 0, 90) }</style>"

    found, shown = form(page, front, HOSTILE + PLACE), seen(page)
    wanted, usual = form(page, front, plain + PLACE), seen(page)

    assert found == wanted
    assert differing(shown, usual) < SAME
    assert wanted["image"][0] > 250


@pytest.mark.parametrize("theme", ["light", "dark", "forced"])
def test_a_list_can_be_read_in_every_theme(
    browser: Browser, front: Storefront, axe: str, theme: str
) -> None:
    with browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        forced_colors="active" if theme == "forced" else "none",
    ) as context:
        page = context.new_page()
        form(page, front, BOTH)
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        title = page.locator("product-recs >> [part=title]").first
        colour = title.evaluate("one => getComputedStyle(one).color")
        box = page.locator("product-recs >> .image").first

        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
        assert theme == "forced" or colour == READ_IN[theme]  # then it is the system's
        border = box.evaluate("one => getComputedStyle(one).borderTopWidth")
        assert border == ("1px" if theme == "forced" else "0px")


def test_a_theme_that_the_merchant_chose_holds_on_any_page(
    page: Page, front: Storefront
) -> None:
    dark = "<style>product-recs { --pr-color: rgb(1, 2, 3) }</style>"
    form(page, front, dark)

    title = page.locator("product-recs >> [part=title]").first
    expect(title).to_have_css("color", "rgb(1, 2, 3)")


@pytest.mark.parametrize("layout", ["carousel", "list"])
def test_products_bear_the_merchants_words_for_their_source(
    page: Page, front: Storefront, layout: str
) -> None:
    change = {"settings": {"badges": {"buy": "Often together"}, "layout": layout}}
    client, account = front.service.client(), front.merchant.server
    target, body = "/integration/widget-config?type=marked", json.dumps(change).encode()
    assert client.ask("PUT", target, body, account).status == 200
    css = "<style>product-recs::part(badge) { color: rgb(1, 2, 3) }</style>"
    element = "<product-recs data-type=marked data-item-id=p0></product-recs>"
    with page.expect_response("**/v1/recommendations*") as response:
        page.goto(front.page("/", element, head=css))
    expect(page.locator(LINK)).to_have_count(8)

    cards = response.value.json()["recommendations"]
    wanted = {one["id"] for one in cards if one["source"] == "buy"}
    marked = page.locator("product-recs >> li", has_text="Often together")
    assert set(marked.evaluate_all("all => all.map(a => a.dataset.id)")) == wanted
    assert 0 < len(wanted) < len(cards)
    badge = marked.first.locator("[part=badge]")
    expect(badge).to_have_css("color", "rgb(1, 2, 3)")
    inside = "one => [one, one.closest('a').querySelector('.image')].map(a => {\n"
    inside += "  const { left, right } = a.getBoundingClientRect(); return [left, right] })"
    (left, right), (start, end) = badge.evaluate(inside)
    assert (start < left < right < end) is (layout == "carousel")  # else beside it


def test_pictures_wait_and_nothing_slides_where_that_is_unwelcome(
    browser: Browser, front: Storefront
) -> None:
    slides = "one => getComputedStyle(one).scrollBehavior"
    for is_unwelcome, found in ((False, "smooth"), (True, "auto")):
        with browser.new_context() as context:
            page = context.new_page()
            page.emulate_media(reduced_motion="reduce" if is_unwelcome else "no-preference")
            form(page, front, "")
            assert page.locator("product-recs >> ul").evaluate(slides) == found
            for name, value in (("loading", "lazy"), ("decoding", "async"), ("alt", "")):
                image = page.locator("product-recs >> img").first
                expect(image).to_have_attribute(name, value)


def styled(*rules: str) -> str:
    return f"{PLACE}<style>{' '.join(rules)}</style>"


DARK = "html { color-scheme: dark }"
NIGHT = "product-recs { background: #16181c; color: #f2f3f5; color-scheme: dark }"
DAY = "product-recs { background: #fff; color: #1b1d21; color-scheme: light }"
ACCENT = "product-recs { --pr-accent: #a03; --pr-radius: 20px; --pr-gap: 6px }"


def test_every_way_to_a_theme_leads_to_the_same_pixels(
    browser: Browser, page: Page, front: Storefront
) -> None:
    def shown(head: str, **settings: object) -> npt.NDArray[np.int16]:
        target = "/integration/widget-config?type=cart"
        usual = {"theme": None, "accent_color": None, "corner_radius": None, "gap": None}
        change = json.dumps({"settings": {**usual, **settings}}).encode()
        account, client = front.merchant.server, front.service.client()
        assert client.ask("PUT", target, change, account).status == 200
        a_minute_later(page)
        form(page, front, head)
        return seen(page)

    light, dark = shown(styled()), shown(styled(DARK))
    with browser.new_context(color_scheme="dark") as context:
        at_night = context.new_page()
        form(at_night, front, BOTH + PLACE)
        of_the_device = seen(at_night)
    chosen = shown(styled(), theme="dark")
    chosen_by_day = shown(styled(DARK), theme="light")
    set_once = shown(styled(), accent_color="#a03", corner_radius=20, gap=6)

    assert differing(dark, of_the_device) < SAME
    assert differing(chosen, shown(styled(NIGHT))) < SAME
    assert differing(chosen_by_day, shown(styled(DAY))) < SAME
    assert differing(set_once, shown(styled(ACCENT))) < SAME
    # Control: what differs is noticed.
    for one, other in ((light, dark), (light, chosen), (light, set_once)):
        assert differing(one, other) > OTHER
