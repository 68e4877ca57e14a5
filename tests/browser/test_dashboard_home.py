"""Dashboard's first pages in a browser: full, true and usable on every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.dashboard_browser import new_desk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.dashboard_browser import Desk, DeskPage


def test_home_of_a_store_with_a_year_of_sales(office: DeskPage, axe: str) -> None:
    page = office.open("/dashboard")
    expect(page.locator(".tile .figure").first).to_contain_text("€")
    assert page.locator(".chart rect").count() > 20
    office.check(axe)


def test_home_of_a_new_store_leads_to_the_checklist(
    browser: Browser, desk: Desk, axe: str
) -> None:
    fresh = new_desk(desk.service, "empty-home.example")
    with fresh.page(browser, 375, role="viewer") as visitor:
        page = visitor.open("/dashboard")
        visitor.check(axe)
        page.click("main >> text=Get started")
        expect(page.locator("h1")).to_have_text("Get started")
        visitor.check(axe)
