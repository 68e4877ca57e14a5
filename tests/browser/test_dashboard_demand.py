"""Demand in a browser: charts with their tables, with and without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.dashboard_browser import Desk, DeskPage


def test_from_the_store_to_what_to_order_of_one_product(office: DeskPage, axe: str) -> None:
    page = office.open("/dashboard/demand")
    expect(page.locator(".series canvas")).to_be_visible()
    expect(page.locator("section[aria-labelledby=store]")).to_contain_text("was off by")
    page.click("text=Show the numbers")
    expect(page.locator("section[aria-labelledby=store] details tbody tr")).to_have_count(
        28
    )
    office.check(axe)

    page.locator("section[aria-labelledby=orders] tbody a").first.click()
    expect(page.locator("dt", has_text="Days of cover")).to_be_visible()
    expect(page.locator(".series canvas")).to_be_visible()
    office.check(axe)


def test_the_server_draws_the_chart_where_no_script_runs(
    browser: Browser, desk: Desk
) -> None:
    with desk.page(browser) as known:
        state = known.page.context.storage_state()
    with browser.new_context(java_script_enabled=False, storage_state=state) as context:
        page = context.new_page()
        page.goto(desk.address("/dashboard/demand"))
        expect(page.locator(".series .band")).to_be_visible()
        expect(page.locator(".series .sold")).to_be_visible()
        expect(page.locator(".series canvas")).to_have_count(0)
