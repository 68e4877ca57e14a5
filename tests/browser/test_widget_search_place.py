"""Search widget: its suggestions stand below the box, in pages of every kind."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import watched
from tests.support.storefront import Storefront

FORM = "<form action=/found><input name=q type=search aria-label=Search></form>"
GAP_PX, EDGE_PX = 6, 8
# Where the box is in the page: the style of the page, and what is around the box.
PAGES: dict[str, tuple[str, str]] = {
    "without a margin": ("body {margin: 0}", FORM),
    "the browser's own margin": ("", FORM),
    "centred": ("body {max-width: 1000px; margin: 1em auto; padding: 0 1em}", FORM),
    "a body with a position": ("body {position: relative; margin: 30px 0 0 50px}", FORM),
    "a body with a border": ("body {position: relative; border: 20px solid}", FORM),
    "a moved body": ("body {transform: translate(20px, 30px)}", FORM),
    "a body that is scaled": (
        "body {transform: scale(.8); transform-origin: 0 0; margin: 40px}",
        FORM,
    ),
    "a body that is zoomed": ("body {zoom: 1.25; margin: 20px}", FORM),
    "a header with a position": (
        "header {position: relative; margin: 20px; border: 5px solid}",
        f"<header>{FORM}</header>",
    ),
    "a header that stays": (
        "header {position: fixed; inset: 10px 10px auto}",
        f"<header>{FORM}</header>",
    ),
    "a header that cuts off": (
        "header {position: relative; overflow: hidden; margin: 20px}",
        f"<header>{FORM}</header>",
    ),
    "from right to left": ("html {direction: rtl} body {margin: 24px}", FORM),
}


@pytest.mark.parametrize("name", PAGES)
def test_suggestions_stand_below_the_box_and_cover_nothing_of_it(
    browser: Browser, front: Storefront, name: str
) -> None:
    style, body = PAGES[name]
    tall = "<main style='height: 3000px'></main>"
    address = front.page("/", f"<style>{style}</style>{body}{tall}", kind="search-")
    with browser.new_context() as context:
        page = context.new_page()
        watched(page)
        page.goto(address)
        page.wait_for_function("!!window.ProductRecs?.core")
        for width, scrolled in ((1280, 0), (1280, 40), (375, 40)):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate("y => scrollTo(0, y)", scrolled)
            box, panel = page.locator("input[name=q]"), page.locator(".pr-search")
            box.fill("tent")
            expect(panel).to_be_visible()
            above, below = box.bounding_box(), panel.bounding_box()
            page.keyboard.press("Escape")

            assert above
            assert below
            gap = below["y"] - above["y"] - above["height"]
            assert gap == pytest.approx(GAP_PX, abs=1)
            left, right = below["x"], below["x"] + below["width"]
            assert EDGE_PX - 1 <= left <= right <= width - EDGE_PX + 1
            if width == 1280 and "right to left" in name:
                assert right == pytest.approx(above["x"] + above["width"], abs=1)
            elif width == 1280:
                assert left == pytest.approx(max(above["x"], EDGE_PX), abs=1)
