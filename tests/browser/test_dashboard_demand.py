"""Demand in a browser: charts with their tables, with and without JavaScript."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_dashboard_catalog import focus
from tests.support.dashboard_browser import LoggedInPage, StoreDashboard


def test_from_the_store_to_what_to_order_of_one_product(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/demand")
    expect(page.locator(".plot svg")).to_be_visible()
    expect(page.locator("section[aria-labelledby=store]")).to_contain_text("was off by")
    page.click("text=Show the numbers")
    rows = page.locator("section[aria-labelledby=store] details tbody tr")
    expect(rows).to_have_count(120 + 28)
    page.click("text=30 past days")
    expect(rows).to_have_count(30 + 28)
    owner_page.check(axe)

    page.locator("section[aria-labelledby=orders] tbody a").first.click()
    expect(page.locator("dt", has_text="Days of cover")).to_be_visible()
    page.locator("[data-plot]").focus()
    expect(page.locator("[data-readout]")).to_contain_text("Expected")
    owner_page.check(axe)


def test_what_to_order_is_found_and_changed_with_the_keyboard_alone(
    owner_page: LoggedInPage,
) -> None:
    page = owner_page.open("/dashboard/demand")
    keys = page.keyboard
    focus(page, ".choices a[href*='by=expected_28_days']", 160)
    keys.press("Enter")
    expect(page.locator(".choices [aria-current][href*='by='][href$=orders]")).to_have_text(
        "Expected sales"
    )
    focus(page, "section[aria-labelledby=orders] tbody a", 160)
    keys.press("Enter")
    expect(page.locator("dt", has_text="Days of cover")).to_be_visible()
    focus(page, ".chart summary")
    keys.press("Enter")
    expect(page.locator(".chart tbody tr").last).to_be_visible()

    owner_page.open("/dashboard/demand")
    focus(page, "[name=lead_time_days]", 240)
    before = page.input_value("[name=lead_time_days]")
    keys.press("Control+A")
    keys.type("21" if before != "21" else "14")
    keys.press("Enter")
    expect(page.locator(".flash")).to_contain_text("Saved")


@pytest.mark.parametrize(
    ("path", "field", "typed", "focused"),
    [
        ("/orders", "order_budget", "lots", "[name=order_budget]"),
        ("/orders", "lead_time", "soon", "#suppliers .error"),
        ("/calendar", "holiday_country", "Nowhere", "[name=holiday_country]"),
    ],
)
def test_the_first_message_of_a_refused_form_is_in_view(
    owner_page: LoggedInPage, path: str, field: str, typed: str, focused: str
) -> None:
    page = owner_page.open(f"/dashboard/demand{path}")
    if field == "lead_time":
        page.fill("#f-supplier", "Tents Ltd")
    page.fill(f"#f-{field}", typed)
    page.press(f"#f-{field}", "Enter")

    expect(page.locator(focused)).to_be_focused()
    expect(page.locator("[data-refused] .error").first).to_be_in_viewport()
    owner_page.watch.complaints.clear()  # of the refused form's status


def test_a_closed_day_offers_no_field_of_a_campaign(owner_page: LoggedInPage) -> None:
    page = owner_page.open("/dashboard/demand/calendar")
    expect(page.locator("#f-price_change")).to_be_visible()
    page.select_option("#f-kind", "closure")
    expect(page.locator("#f-price_change")).to_be_hidden()


def test_the_server_draws_the_chart_where_no_script_runs(
    browser: Browser, dashboard: StoreDashboard
) -> None:
    with dashboard.page(browser) as known:
        state = known.page.context.storage_state()
    with browser.new_context(java_script_enabled=False, storage_state=state) as context:
        page = context.new_page()
        page.goto(dashboard.address("/dashboard/demand"))
        expect(page.locator(".plot .band")).to_be_visible()
        expect(page.locator(".plot .sold")).to_be_visible()
        expect(page.locator(".plot .amounts li").first).to_be_visible()
