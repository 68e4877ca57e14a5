"""Widgets page in a browser: the preview follows the form, with and without the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.dashboard_browser import Desk, DeskPage

PAGE = "/dashboard/widgets"


def test_the_preview_follows_the_form_and_sends_nothing(office: DeskPage, axe: str) -> None:
    page = office.open(f"{PAGE}?type=trending")
    calls: list[str] = []
    page.on("request", lambda sent: calls.append(sent.url))
    preview = page.frame_locator("iframe[name=preview]")
    expect(preview.locator("product-recs li").first).to_be_visible()
    expect(preview.locator("product-recs")).to_contain_text("Trending now")
    office.check(axe)

    page.fill("[name=title]", "Wanted now")
    page.fill("[name=accent_color]", "#ffcc00")

    expect(preview.locator("product-recs")).to_contain_text("Wanted now")
    expect(page.locator("#live")).to_contain_text("hard to read")
    expect(page.get_by_role("region", name="Changes that are not saved")).to_contain_text(
        "Wanted now"
    )
    office.check(axe)
    page.click("main >> text=Save")
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    expect(preview.locator("product-recs")).to_contain_text("Wanted now")
    page.click("text=Reset to default")
    page.click("text=Reset it now")
    expect(preview.locator("product-recs")).to_contain_text("Trending now")
    assert not [url for url in calls if "/v1/" in url and "/widget/" not in url]


def test_every_widget_type_has_a_preview(office: DeskPage, axe: str) -> None:
    for widget_type in ("recs", "fbt", "cart"):
        page = office.open(f"{PAGE}?type={widget_type}")
        preview = page.frame_locator("iframe[name=preview]")
        expect(preview.locator("product-recs li").first).to_be_visible()
    page = office.open(f"{PAGE}?type=search")
    preview = page.frame_locator("iframe[name=preview]")
    expect(preview.get_by_role("option").first).to_be_visible()
    office.check(axe)


def test_a_preview_needs_no_script_of_the_dashboard(browser: Browser, desk: Desk) -> None:
    with desk.page(browser) as found:
        found.page.route("**/dashboard/static/appearance.js*", lambda one: one.abort())
        found.page.route("**/dashboard/static/htmx*", lambda one: one.abort())
        page = found.open(PAGE)
        page.fill("[name=title]", "By the button")
        page.get_by_role("button", name="Preview").click()
        preview = page.frame_locator("iframe[name=preview]")
        expect(preview.locator("product-recs")).to_contain_text("By the button")
        expect(page.locator("[name=title]")).to_have_value("By the button")
        found.watch.complaints.clear()
