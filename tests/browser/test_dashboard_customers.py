"""Customers in a browser: from a segment to one record, its export and its erasure.

Nobody is erased: the journeys share the store, and its figures would be counted anew.
"""

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.test_dashboard_catalog import focus
from tests.support.dashboard_browser import LoggedInPage


def test_from_who_is_due_to_one_record(owner_page: LoggedInPage, axe: str) -> None:
    page = owner_page.open("/dashboard/customers")
    expect(page.locator("section[aria-labelledby=segments] tbody tr")).to_have_count(6)
    owner_page.check(axe)
    page.click("text=Next order due")
    page.locator("section[aria-labelledby=people] tbody a").first.click()

    expect(page.locator("#records")).to_be_visible()
    with page.expect_download() as download:
        page.click("text=Export everything")
    rows = Path(download.value.path()).read_text("utf-8").splitlines()
    assert {json.loads(row)["record"] for row in rows} >= {"purchase"}
    page.click("summary.danger")
    page.fill("[name=confirm]", "somebody else")
    page.click("text=Erase for good")
    expect(page.locator("#d-confirm")).to_contain_text("not the id above")
    owner_page.watch.complaints.clear()  # of the refused form's status
    owner_page.check(axe)


def test_one_record_is_reached_and_left_alone_with_the_keyboard(
    owner_page: LoggedInPage,
) -> None:
    page = owner_page.open("/dashboard/customers")
    keys = page.keyboard
    focus(page, "section[aria-labelledby=segments] tbody a")
    keys.press("Enter")
    expect(page.locator("section[aria-labelledby=people] h2")).to_contain_text(":")
    focus(page, ".choices a[href*='by=next']", 160)
    keys.press("Enter")
    expect(page.locator(".choices [aria-current]")).to_have_text("Next order due")
    focus(page, "section[aria-labelledby=people] tbody a", 160)
    keys.press("Enter")
    expect(page.locator("#records")).to_be_visible()
    focus(page, "summary.danger")
    keys.press("Enter")
    focus(page, "[name=confirm]")
    keys.type("somebody else")
    keys.press("Enter")

    expect(page.locator("#d-confirm")).to_contain_text("not the id above")
    owner_page.watch.complaints.clear()  # of the refused form's status
