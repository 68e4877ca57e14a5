"""API reference page: /docs works without any other host."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import BARRIERS, WAIT_MS, watched
from tests.support.openapi import operations
from tests.support.service import HOST, Merchant, Service

OPERATION = ".opblock"


def test_the_reference_draws_every_operation_and_asks_no_other_host(
    page: Page, service: Service
) -> None:
    watch = watched(page)
    described = service.client().ask("GET", "/openapi.json").json
    expected = sorted(one.name for one in operations(described))

    page.goto(f"http://{HOST}:{service.port}/docs")
    expect(page.locator(OPERATION)).to_have_count(len(expected), timeout=WAIT_MS)

    drawn = page.locator(OPERATION).evaluate_all(DRAWN)
    for width in (375, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(TOO_WIDE) <= 0, width
    assert re.search(r"\S", page.title())
    assert sorted(drawn) == expected
    assert watch.hosts() == {f"{HOST}:{service.port}"}
    assert watch.complaints == []


def test_a_call_can_be_tried_from_the_page(
    page: Page, service: Service, merchant: Merchant
) -> None:
    assert merchant.push({"id": "tent", "title": "Tent"}).status == 200
    watch = watched(page)

    page.goto(f"http://{HOST}:{service.port}/docs")
    page.locator("button.authorize").click()
    dialog = page.locator(".auth-container", has_text=re.compile(r"Name:\s*key"))
    dialog.locator("input").fill(merchant.account.publishable)
    dialog.locator("button.authorize").click()
    dialog.locator(".btn-done").click()
    block = page.locator("#operations-widget-trending")
    block.locator(".opblock-summary-control").click()
    block.locator("button.execute").click()

    status = block.locator(".live-responses-table .response-col_status").nth(1)
    expect(status).to_contain_text("200", timeout=WAIT_MS)
    assert '"tent"' in block.locator(".live-responses-table").inner_text()
    assert watch.hosts() == {f"{HOST}:{service.port}"}
    assert any("/v1/trending?" in address for address in watch.requested)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (375, "dark"),
        pytest.param(1280, "light", marks=pytest.mark.trust),
        pytest.param(375, "light", marks=pytest.mark.trust),
        pytest.param(1280, "dark", marks=pytest.mark.trust),
    ],
)
def test_the_reference_has_no_barriers_open_or_tried(
    browser: Browser, service: Service, axe: str, width: int, scheme: str
) -> None:
    with browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,  # for the script that looks for barriers
    ) as context:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"http://{HOST}:{service.port}/docs")
        trending = page.locator("#operations-widget-trending")
        trending.locator(".opblock-summary-control").click()
        page.locator("#operations-server-push_items .opblock-summary-control").click()
        trending.locator("button.execute").click()
        expect(trending.locator(".live-responses-table")).to_be_visible()
        expect(trending.locator("button.execute")).to_be_enabled()
        page.mouse.move(0, 0)
        page.evaluate(SETTLED)
        page.evaluate(axe)
        wrong = [f"open: {one}" for one in page.evaluate(BARRIERS)]
        page.locator("button.authorize").first.click()
        page.evaluate(SETTLED)
        wrong += [f"dialog: {one}" for one in page.evaluate(BARRIERS, ".dialog-ux")]

    assert wrong == []


# Two frames, in which the names are given, and the colours that change slowly.
SETTLED = """async () => {
  for (let at = 0; at < 2; at++) await new Promise(requestAnimationFrame);
  await Promise.all(document.getAnimations().map(one => one.finished));
}"""
DRAWN = """blocks => blocks.map(one => {
  const [method, path] = [".opblock-summary-method", ".opblock-summary-path"]
    .map(name => one.querySelector(name));
  return `${method.innerText} ${path.dataset.path ?? ""}`;
})"""
TOO_WIDE = "(all => all.scrollWidth - all.clientWidth)(document.documentElement)"
PAGES = ("/", "/guides", "/guides/quickstart", "/guides/catalog-files")


@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (1280, "dark")])
def test_pages_fit_every_screen_and_complain_of_nothing(
    browser: Browser, service: Service, width: int, scheme: str
) -> None:
    wrong = []
    with browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    ) as context:
        for path in PAGES:
            page = context.new_page()
            watch = watched(page)
            page.goto(f"http://{HOST}:{service.port}{path}", wait_until="networkidle")
            overflow = page.evaluate(TOO_WIDE)
            if overflow > 0:
                wrong.append(f"{path} is {overflow} px too wide")
            if watch.complaints or watch.hosts() != {f"{HOST}:{service.port}"}:
                wrong.append(f"{path}: {watch.complaints} {watch.hosts()}")
            if not re.search(r"\S", page.title()):
                wrong.append(f"{path} has no title")
            page.close()

    assert wrong == []


def test_control_another_host_and_a_complaint_are_noticed(page: Page) -> None:
    watch = watched(page)

    page.set_content(
        "<img src='http://cdn.elsewhere.test/x.png'><script>undefined.x</script>"
    )
    page.wait_for_function("document.images[0].complete")

    assert watch.hosts() == {"cdn.elsewhere.test"}
    assert any("uncaught" in one for one in watch.complaints)
    assert any("ERR_NAME_NOT_RESOLVED" in one for one in watch.complaints)
