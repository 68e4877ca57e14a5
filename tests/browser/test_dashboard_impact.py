"""Impact in a browser: from a number to its orders, and to a file."""

from pathlib import Path

from playwright.sync_api import expect

from tests.support.dashboard_browser import LoggedInPage


def test_a_number_leads_to_its_orders_and_to_a_file(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/impact")
    expect(page.locator(".tile .figure").first).to_contain_text("€")
    expect(page.locator(".chart tbody tr")).to_have_count(30)  # each day
    expect(page.locator("#holdout")).to_be_visible()
    expect(page.locator(".compared")).to_have_count(2)
    owner_page.check(axe)

    page.click("nav.choices >> text=Widget and source")
    expect(page.locator("section[aria-labelledby=by] thead")).to_contain_text("Source")
    with page.expect_download() as download:
        page.locator("text=Download CSV").first.click()
    rows = Path(download.value.path()).read_text().splitlines()
    assert rows[0].startswith('\ufeff"widget","source","currency","shown"')
    assert len(rows) > 5

    page.locator("section[aria-labelledby=by] tbody a").first.click()
    expect(page.locator("h1")).to_have_text("Orders after recommendations")
    assert page.locator("tbody tr").count() > 0
    owner_page.check(axe)
