"""Customers in a browser: from a segment to one record, and to its erasure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.support.dashboard_browser import DeskPage


def test_from_who_is_due_to_one_record(office: DeskPage, axe: str) -> None:
    page = office.open("/dashboard/customers")
    expect(page.locator("section[aria-labelledby=segments] tbody tr")).to_have_count(6)
    office.check(axe)
    page.click("text=Next order due")
    width = office.page.viewport_size or {"width": 0}
    people = page.locator("section[aria-labelledby=people] tbody a")
    people.nth(width["width"] % 7).click()  # another customer at each width

    expect(page.locator("#records")).to_be_visible()
    name = (page.locator("h1").text_content() or "").removeprefix("Customer ")
    link = page.locator("text=Export everything").get_attribute("href")
    rows = page.request.get(office.desk.address(str(link))).text().splitlines()
    assert {json.loads(row)["record"] for row in rows} >= {"purchase"}
    page.click("summary.danger")
    page.fill("[name=confirm]", "somebody else")
    page.click("text=Erase for good")
    expect(page.locator("#d-confirm")).to_contain_text("not the id above")
    office.watch.complaints.clear()  # of the refused form's status
    office.check(axe)

    page.fill("[name=confirm]", name)
    page.click("text=Erase for good")
    expect(page.locator(".flash")).to_contain_text("being erased")
