"""Dashboard's first pages in a browser: full, true and usable on every screen."""

from playwright.sync_api import Browser, expect

from tests.support.dashboard_browser import LoggedInPage, StoreDashboard, new_dashboard


def test_home_of_a_store_with_a_year_of_sales(owner_page: LoggedInPage, axe: str) -> None:
    page = owner_page.open("/dashboard")
    expect(page.locator(".tile .figure").first).to_contain_text("€")
    plot = page.locator("[data-plot]")
    plot.hover()
    expect(page.locator("[data-readout]")).to_contain_text("Sales €")
    page.mouse.move(0, 0)
    expect(page.locator("[data-readout]")).to_be_empty()
    plot.focus()
    today = plot.get_attribute("aria-valuetext")
    page.keyboard.press("Home")
    first = page.locator(".chart tbody tr").first.locator("td").first
    expect(page.locator("[data-readout]")).to_contain_text(first.text_content() or "?")
    assert plot.get_attribute("aria-valuetext") != today
    owner_page.check(axe)


def test_home_of_a_new_store_leads_to_the_checklist(
    browser: Browser, dashboard: StoreDashboard, axe: str
) -> None:
    fresh = new_dashboard(dashboard.service, "empty-home.example")
    with fresh.page(browser, 375, role="viewer") as visitor:
        page = visitor.open("/dashboard")
        visitor.check(axe)
        page.click("main >> text=Get started")
        expect(page.locator("h1")).to_have_text("Get started")
        visitor.check(axe)


def test_the_search_box_is_reached_and_used_by_keys(
    browser: Browser, dashboard: StoreDashboard, axe: str
) -> None:
    wide = ((1280, "light"), (1280, "dark"))  # a phone has no such box
    with dashboard.page(browser, 1280, views=wide) as owner_page:
        page = owner_page.open("/dashboard")
        page.keyboard.press("/")
        page.keyboard.type("tent")
        expect(page.locator("#finder a").first).to_be_visible()
        owner_page.check(axe)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("#lists")).to_be_visible()


def test_a_phone_has_the_search_on_a_page(
    browser: Browser, dashboard: StoreDashboard, axe: str
) -> None:
    with dashboard.page(browser, 375) as owner_page:
        page = owner_page.open("/dashboard")
        page.click("text=Find")
        owner_page.check(axe)
        page.fill("#f-find", "audit")
        page.click("#found >> text=Audit log")
        expect(page.locator("h1")).to_have_text("Audit log")


def test_the_sidebar_fits_a_small_screen_and_shows_where_one_is(
    browser: Browser, dashboard: StoreDashboard
) -> None:
    with dashboard.page(browser, 1280) as owner_page:
        owner_page.page.set_viewport_size({"width": 1280, "height": 720})
        page = owner_page.open("/dashboard/merchandising/rule")
        assert page.evaluate(
            "() => { const side = document.querySelector('[data-side]');"
            " return side.scrollHeight <= side.clientHeight; }"
        )
        expect(page.locator("[data-side] [aria-current]")).to_have_text("Merchandising")


def test_tables_are_cards_on_a_phone(
    browser: Browser, dashboard: StoreDashboard, axe: str
) -> None:
    with dashboard.page(browser, 375) as owner_page:
        page = owner_page.open("/dashboard/demand")
        row = page.locator("section[aria-labelledby=orders] tbody tr").first
        expect(row.locator("td").first).to_have_attribute("data-label", "Status")
        scroll = page.locator("section[aria-labelledby=orders] .scroll")
        assert scroll.evaluate("one => one.scrollWidth <= one.clientWidth")
        expect(page.get_by_role("columnheader", name="Status")).to_be_attached()
        owner_page.check(axe)
        page = owner_page.open("/dashboard/account")
        page.locator(".snippet button").first.wait_for()
        assert page.evaluate(
            "() => [...document.querySelectorAll('.snippet')].every(one =>"
            " one.querySelector('pre').getBoundingClientRect().right"
            " <= one.querySelector('button').getBoundingClientRect().left)"
        )
