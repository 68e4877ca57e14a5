"""Search in a browser: from a failed query to a synonym, and the effect, by keyboard."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from productrecs.core.clock import system_ms
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.dashboard_browser import LoggedInPage, StoreDashboard


@pytest.fixture
def without_rules(dashboard: StoreDashboard) -> Iterator[None]:
    """Remove what a journey adds: the journeys share the store."""
    yield
    with dashboard.service.database() as database:
        store = find_store(database, dashboard.domain)
        editor = SearchRuleEditor(database, store, system_ms)
        for number in editor.synonyms():
            editor.remove_synonym(number)


def press_until(page: Page, selector: str) -> None:
    """Go to an element with the Tab key alone."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
    raise AssertionError(selector)


def unfold(page: Page) -> None:
    """Open the ends of long tables: other tests search in this shop too."""
    page.evaluate(
        "document.querySelectorAll('details.more').forEach(one => one.open = true)"
    )


@pytest.mark.usefixtures("without_rules")
def test_from_a_failed_search_to_a_synonym(owner_page: LoggedInPage, axe: str) -> None:
    page = owner_page.open("/dashboard/search")
    page.fill("#f-q", "jumpr")
    expect(page.locator("#found")).to_contain_text("read as jumper")
    expect(page.locator("#found .picks li").first).to_contain_text("jumper")
    owner_page.check(axe)

    # Queries without results come before those without clicks, which may name it too.
    unfold(page)
    page.locator("[aria-label='Synonym for headphones']").first.click()
    expect(page.locator("#effect")).to_contain_text("No product is found")
    page.fill("#f-texts", "lamp")
    after = page.locator("section[aria-labelledby=after]")
    expect(after.locator(".picks li").first).to_contain_text("lamp")
    owner_page.check(axe)
    page.click("text=Save")

    expect(page.locator(".flash")).to_contain_text("Saved")
    expect(page.locator("#found")).to_contain_text("also finds lamp (synonym)")
    expect(page.locator("section[aria-labelledby=rules]")).to_contain_text("headphones")


@pytest.mark.usefixtures("without_rules")
def test_the_whole_journey_by_keyboard(owner_page: LoggedInPage) -> None:
    page = owner_page.open("/dashboard/search")
    unfold(page)
    press_until(page, "[aria-label='Synonym for headphones']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/improve?**")
    press_until(page, "#f-texts")
    page.keyboard.type("lamp")
    expect(page.locator("section[aria-labelledby=after]")).to_contain_text("Table lamp")
    page.keyboard.press("Enter")

    expect(page.locator(".flash")).to_contain_text("Saved")


def test_a_query_is_added_and_its_results_judged_by_keyboard(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = owner_page.open("/dashboard/search/relevance")
    page.fill("#f-q", "lamp for reading")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("“lamp for reading”")
    first = page.locator(".judged li").first
    expect(first).to_contain_text("lamp")

    press_until(page, ".judged li:first-child [value=good]")
    page.keyboard.press("Enter")

    expect(page.locator("[role=status] strong")).to_have_text("100 %")
    pressed = first.locator("[aria-pressed=true]")
    expect(pressed).to_have_text("Good")
    expect(pressed).to_be_focused()  # the next Tab goes on from here
    owner_page.check(axe)
    page.goto(page.url.partition("/query")[0])
    expect(page.locator("#queries")).to_be_visible()
    owner_page.check(axe)
    page.click("[aria-label='Remove lamp for reading']")
    expect(page.locator(".flash")).to_contain_text("Removed from the set")
