"""Widgets are whole in any theme: light, dark, in forced colours, and in a hostile one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.storefront import Storefront

LINK = "product-recs >> a[part=link]"
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
product-recs { width: 100% !important; padding: 0 !important; border: 0 !important }
</style>"""
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


def form(page: Page, front: Storefront, head: str) -> dict[str, Any]:
    """Return the form of a list of eight in a page with this head."""
    page.goto(front.page("/", ELEMENT, head=head))
    expect(page.locator(LINK)).to_have_count(8)
    found: dict[str, Any] = page.evaluate(FORM)
    return found


def test_a_theme_that_styles_every_element_changes_no_widget(
    page: Page, front: Storefront
) -> None:
    plain = "<style>main { display: block; width: 1200px } body { margin: 0 }</style>"

    found, wanted = form(page, front, HOSTILE), form(page, front, plain)

    assert found == wanted
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
