"""Plugins and modules of shop systems: what their pages do in a browser."""

import json
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.plugin.shop import PLUGIN, in_module, in_shop, nowhere, unpacked_core
from tests.support.project import ROOT
from tests.support.service import eventually

SHOP: Final = "http://shop.example"
ASSETS: Final = ROOT / "src/productrecs/assets"
ADMIN: Final = (PLUGIN / "assets/admin.js").read_text("utf-8")
MODULE: Final = (ASSETS / "shop_module/module.js").read_text("utf-8")


def shown(page: Page, pages: dict[str, str]) -> list[str]:
    """Open the shop's home page; return the paths of its requests, as they come."""
    paths: list[str] = []

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(SHOP)
        paths.append(path)
        route.fulfill(body=pages.get(path, ""), content_type="text/html")

    page.route("**/*", answer)
    page.goto(f"{SHOP}/")
    return paths


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (json.dumps({"html": "<p>Products: all 9 sent.</p>"}), "Products: all 9 sent."),
        ("<h1>Log in</h1>", "Products: 0 of 0 sent.Orders: all sent."),
    ],
)
def test_the_screen_shows_the_progress_and_never_a_login_page(
    page: Page, tmp_path: Path, reply: str, text: str
) -> None:
    script = """$settings->change(array('connected' => 1, 'url' => 'https://r.example'));
        $screen = new Screen($shop);
        $result = $screen->html('/go', '/progress', '/work', '/cron');"""
    html = in_module(unpacked_core(tmp_path), script)

    paths = shown(page, {"/": html, "/progress": reply})

    eventually(lambda: page.evaluate("1") and "/progress" in paths)
    page.evaluate("fetch('/later').then((reply) => reply.text())")  # the reply was read
    expect(page.locator("#product-recs-progress")).to_have_text(text)
    assert "/work" in paths


@pytest.mark.parametrize(
    ("reply", "path"),
    [({"success": "Added"}, "/"), ({"redirect": f"{SHOP}/tent"}, "/tent")],
)
def test_a_page_starts_the_work_and_puts_products_into_the_cart(
    page: Page, reply: dict[str, str], path: str
) -> None:
    addresses = 'data-pr-work="/work" data-pr-cart="/add" data-pr-info="/info"'
    html = f"""<script {addresses}>{MODULE}</script>
        <output></output><div id="cart">0 items</div><script>
        document.addEventListener("product-recs:cart-changed", () => {{
            document.querySelector("output").append("changed");
        }});
        addEventListener("load", () => {{
            const waitUntil = (work) => work.catch(() => {{}});
            const detail = {{ items: [{{ id: "7" }}], waitUntil }};
            const kind = "product-recs:add-to-cart";
            document.dispatchEvent(new CustomEvent(kind, {{ cancelable: true, detail }}));
        }});
        </script>"""

    pages = {"/": html, "/add": json.dumps(reply), "/tent": "Tent", "/info": "1 item"}
    paths = shown(page, pages)

    page.wait_for_url(f"{SHOP}{path}")
    eventually(lambda: page.evaluate("1") and {"/work", "/add"} <= set(paths))
    if path == "/":
        expect(page.locator("output")).to_have_text("changed")
        expect(page.locator("#cart")).to_have_text("1 item")


def test_a_button_that_asks_the_service_leaves_the_page_usable_meanwhile(
    page: Page,
) -> None:
    draw = (
        "ob_start(); ProductRecs\\Admin::waiting_form('connect'); $result = ob_get_clean();"
    )
    form = in_shop(draw, nowhere(), before="function wp_nonce_field() {}")
    button = '<input name="submit" type="submit" value="Connect"></form>'
    html = f'<meta charset="utf-8">{form}{button}<script>{ADMIN}</script>'
    paths = shown(page, {"/": html})
    waiting: list[Route] = []
    page.route("**/admin-post.php", lambda route: waiting.append(route))  # noqa: PLW0108 -- Playwright marks it.

    page.get_by_role("button").click()

    expect(page.get_by_role("button")).to_have_value("Asking the service…")
    expect(page.get_by_role("button")).to_be_disabled()
    eventually(lambda: page.evaluate("1") and len(waiting) == 1)
    with page.expect_navigation(url=f"{SHOP}/"):
        waiting[0].fulfill(status=302, headers={"Location": f"{SHOP}/"})
    assert paths == ["/", "/"]
