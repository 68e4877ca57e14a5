"""Embed code: every element that the service tells shops to copy works in a browser."""

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page

from productrecs.dashboard.pages.connect.widgets import TYPES
from productrecs.http.routes.public.embed_code import YOUR_PRODUCT, widget_element
from tests.support.browser import watched
from tests.support.guides import PAGES
from tests.support.project import ROOT
from tests.support.service import eventually
from tests.support.storefront import Storefront

DASHBOARD: Final = ROOT / "src/productrecs/dashboard"
ELEMENT: Final = re.compile(
    r"<product-(?:recs|look)\b(?:<\?.*?\?>|=\{[^}]*\}|[^<>])*>", re.S
)
FILLED: Final = (  # what a template language or a framework puts in
    (re.compile(r"\{%[^%]*%\}"), " "),
    (re.compile(r"\{\{[^{}]*\}\}|<\?.*?\?>|\$\{[^}]*\}|\$\w+"), "p0"),
    (re.compile(r"=\{[^}]*\}"), "=p0"),
    (re.compile(r"\s:(?=data-)"), " "),
    (re.compile(r"\\"), ""),
    (re.compile(r"SKU-1|tent|pk_\.\.\."), "p0"),
)


def elements_of(text: str) -> Iterator[str]:
    """Yield the elements of a page's source, with a product where one is filled in."""
    for element in dict.fromkeys(ELEMENT.findall(text)):
        filled = element.removesuffix(">").removesuffix("/")
        for pattern, product in FILLED:
            filled = pattern.sub(product, filled)
        filled = re.sub(r"\sdata-(ssr|key=\S+)", " data-eager", filled)
        name = filled.split()[0].lstrip("<")
        yield f"{filled}></{name}>"


GUIDES: Final = {
    path.stem: found
    for path in sorted(PAGES.glob("*.md"))
    if (found := list(elements_of(path.read_text("utf-8"))))
}


def complaints(page: Page, front: Storefront, body: str) -> list[str]:
    """Open a page of the shop; return what the widgets' console says of it."""
    watch = watched(page)
    head = front.script("look-") + "</script>"
    page.goto(front.page("/", body, head=head))
    page.wait_for_function(
        "[...document.querySelectorAll('product-recs, product-look')]"
        ".every((one) => one.shadowRoot)"
    )
    page.wait_for_load_state("networkidle")
    return [one for one in watch.complaints if "ProductRecs" in one]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_elements_of_a_guide_have_no_unknown_attribute(
    page: Page, front: Storefront, guide: str
) -> None:
    assert complaints(page, front, "".join(GUIDES[guide])) == []


@pytest.mark.parametrize("widget_type", [one for one in TYPES if one != "search"])
def test_the_element_of_a_type_sends_the_view_and_asks_for_the_product(
    page: Page, front: Storefront, widget_type: str
) -> None:
    element = widget_element(widget_type).replace(YOUR_PRODUCT, "p0")

    assert complaints(page, front, element) == []

    if widget_type not in {"cart", "home", "thanks", "trending"}:
        eventually(lambda: front.events("detail-page-view"))
        assert {one["item_id"] for one in front.events("detail-page-view")} == {"p0"}
    if widget_type not in {"home", "look", "trending"}:
        request = front.requests_to("/v1/recommendations")[-1]
        assert request.get("item_id", request.get("item_ids")) == "p0"


def test_pages_write_elements_with_one_function_only() -> None:
    sources = [
        path
        for path in (*DASHBOARD.rglob("*.html"), *DASHBOARD.rglob("*.py"))
        if path.name != "widget_preview.html"  # draws them, and is not copied
    ]
    assert [path.name for path in sources if "<product-" in path.read_text("utf-8")] == []
    assert len(GUIDES) >= 8


def test_control_a_wrong_attribute_is_noticed(page: Page, front: Storefront) -> None:
    wrong = next(elements_of('<product-recs item-id="{{ product.sku }}">'))
    assert complaints(page, front, wrong) == ["warning: ProductRecs: unknown item-id"]
