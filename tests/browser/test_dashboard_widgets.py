"""Widgets page in a browser: the preview follows the form, with and without the script."""

from functools import partial

from playwright.sync_api import Browser, expect

from tests.support.browser import evaluates_to
from tests.support.dashboard_browser import LoggedInPage, StoreDashboard
from tests.support.service import eventually

PAGE = "/dashboard/widgets"
_IN_A_ROW = """list => { const all = [...list.querySelectorAll("li")];
  const top = all[0].getBoundingClientRect().top;
  return all.filter(one => one.getBoundingClientRect().top === top).length; }"""


def test_the_preview_follows_the_form_and_sends_nothing(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open(f"{PAGE}?type=trending")
    calls: list[str] = []
    page.on("request", lambda sent: calls.append(sent.url))
    preview = page.frame_locator("iframe[name=preview]")
    expect(preview.locator("product-recs li").first).to_be_visible()
    expect(preview.locator("product-recs")).to_contain_text("Trending now")
    owner_page.check(axe)

    page.fill("[name=title]", "Wanted now")
    page.fill("[name=accent_color]", "#ffcc00")

    expect(preview.locator("product-recs")).to_contain_text("Wanted now")
    expect(page.locator("#live")).to_contain_text("hard to read")
    expect(page.get_by_role("region", name="Changes that are not saved")).to_contain_text(
        "Wanted now"
    )
    owner_page.check(axe)
    page.click("main >> text=Save")
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    expect(preview.locator("product-recs")).to_contain_text("Wanted now")
    page.click("text=Reset to default")
    page.click("text=Reset it now")
    expect(preview.locator("product-recs")).to_contain_text("Trending now")
    assert not [url for url in calls if "/v1/" in url and "/widget/" not in url]


def test_every_widget_type_has_a_preview(owner_page: LoggedInPage, axe: str) -> None:
    for widget_type in ("recs", "fbt", "cart"):
        page = owner_page.open(f"{PAGE}?type={widget_type}")
        preview = page.frame_locator("iframe[name=preview]")
        expect(preview.locator("product-recs li").first).to_be_visible()
    page = owner_page.open(f"{PAGE}?type=search")
    preview = page.frame_locator("iframe[name=preview]")
    expect(preview.get_by_role("option").first).to_be_visible()
    owner_page.check(axe)


def test_a_preview_needs_no_script_of_the_dashboard(
    browser: Browser, dashboard: StoreDashboard
) -> None:
    with dashboard.page(browser) as found:
        found.page.route("**/dashboard/static/appearance.js*", lambda one: one.abort())
        found.page.route("**/dashboard/static/htmx*", lambda one: one.abort())
        page = found.open(PAGE)
        page.fill("[name=title]", "By the button")
        page.get_by_role("button", name="Preview").click()
        preview = page.frame_locator("iframe[name=preview]")
        expect(preview.locator("product-recs")).to_contain_text("By the button")
        expect(page.locator("[name=title]")).to_have_value("By the button")
        found.watch.complaints.clear()


def test_the_preview_has_the_width_of_a_phone_a_tablet_and_a_desktop(
    owner_page: LoggedInPage,
) -> None:
    page = owner_page.open(f"{PAGE}?type=trending")
    frame = page.frame_locator("iframe[name=preview]")
    expect(frame.locator("product-recs li").first).to_be_visible()
    page.select_option("[name=layout]", "grid")

    for width in (375, 768, 1280):
        page.click(f"[data-width='{width}']")
        body = frame.locator("body")
        eventually(partial(evaluates_to, body, "() => innerWidth", width))
        for columns in ("2", "5"):
            page.fill("[name=columns]", columns)
            expect(page.locator("#live")).to_contain_text(columns)
            if width == 1280:
                lists = frame.locator("product-recs ul").first
                eventually(partial(evaluates_to, lists, _IN_A_ROW, int(columns)))
    page.locator("[data-picks]").fill("#123456")
    expect(page.locator("[name=accent_color]")).to_have_value("#123456")
    expect(page.locator("#live")).to_contain_text("#123456")
