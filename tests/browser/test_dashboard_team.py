"""A team in a browser: list settings, an invited editor, a second factor, the audit log."""

import time

import pytest
from playwright.sync_api import Browser, Page, expect

from productrecs.core.clock import system_ms
from productrecs.tenancy.accounts.team_members import create_registration_invitation
from productrecs.tenancy.users.two_factor import totp_code
from tests.browser.test_dashboard_account import fill, tab_to
from tests.support.dashboard import PASSWORD
from tests.support.dashboard_browser import (
    LOOKS,
    LoggedInPage,
    Look,
    StoreDashboard,
    check_page,
    new_dashboard,
)

STEP_MS = 30_000


@pytest.mark.parametrize("look", LOOKS)
def test_a_team_works_on_a_store_and_its_owner_sees_who_did_what(
    browser: Browser, dashboard: StoreDashboard, axe: str, look: Look
) -> None:
    width, views = look
    domain = f"team-{time.time_ns()}.example"
    shop = new_dashboard(dashboard.service, domain)
    with shop.page(browser, width, views=views) as owner:
        link = _invite(owner, axe, f"bea@{domain}")
        with browser.new_context(
            viewport={"width": width, "height": 800}, reduced_motion="reduce"
        ) as other:
            editor = other.new_page()
            editor.goto(link)
            check_page(editor, axe, views)
            fill(editor, password=PASSWORD)
            expect(editor.locator(".flash")).to_contain_text("Welcome to the team")
            _change_settings(editor, owner, axe)
        codes = _turn_on_second_factor(owner, axe)
        _log_in_again(owner, axe, f"owner@{domain}", codes[0])

        page = owner.open("/dashboard/audit")
        rows = page.locator("tbody tr")
        expect(rows.filter(has_text="List settings")).to_contain_text(f"bea@{domain}")
        expect(rows.filter(has_text="Joined the team")).to_have_count(1)
        expect(rows.filter(has_text="Turned two-factor login on")).to_have_count(1)
        owner.check(axe)


@pytest.mark.parametrize("look", LOOKS)
def test_a_person_adds_a_store_and_switches_between_both(
    browser: Browser, dashboard: StoreDashboard, axe: str, look: Look
) -> None:
    width, views = look
    domain, second = f"first-{time.time_ns()}.example", f"second-{time.time_ns()}.example"
    with dashboard.service.database() as database:
        token = create_registration_invitation(database, None, system_ms())
    with new_dashboard(dashboard.service, domain).page(
        browser, width, views=views
    ) as owner:
        page = owner.open(f"/dashboard/register?token={token}")
        owner.check(axe)
        fill(page, domain=second)
        page.wait_for_url("**/dashboard/start")
        expect(page.locator(".switch > summary")).to_have_text(second)
        page.locator(".switch > summary").focus()
        page.keyboard.press("Enter")
        owner.check(axe)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/dashboard")
        expect(page.locator(".switch > summary")).to_have_text(domain)


def _invite(owner: LoggedInPage, axe: str, email: str) -> str:
    """Invite an editor with the keyboard; return the link to send."""
    page = owner.open("/dashboard/team")
    fill(page, email=email)
    shown = page.locator(".flash code")
    expect(shown).to_contain_text("/dashboard/invitation?token=")
    owner.check(axe)
    return shown.inner_text().strip()


def _change_settings(page: Page, owner: LoggedInPage, axe: str) -> None:
    """Make lists shorter, after an error that is shown beside its field."""
    page.goto(owner.dashboard.address("/dashboard/merchandising/settings"))
    for number in ("40", "5"):
        tab_to(page, "[name=rec_num]")
        page.keyboard.press("Control+A")
        page.keyboard.type(number)
        page.keyboard.press("Enter")
        if number == "40":
            expect(page.locator("#d-rec_num")).to_contain_text("must be")
            check_page(page, axe, owner.views)
    expect(page.locator(".flash")).to_be_visible()
    expect(page.locator("[name=rec_num]")).to_have_value("5")


def _turn_on_second_factor(owner: LoggedInPage, axe: str) -> list[str]:
    """Set an authenticator app up; return the recovery codes."""
    page = owner.open("/dashboard/security/two-factor")
    tab_to(page, "main form button")
    page.keyboard.press("Enter")
    expect(page.locator("img.qr")).to_be_visible()
    owner.check(axe)
    secret = page.locator(".snippet code").inner_text().strip()
    fill(page, code=totp_code(secret, system_ms() // STEP_MS))
    codes = page.locator(".flash code").inner_text().split()
    owner.check(axe)
    return codes


def _log_in_again(owner: LoggedInPage, axe: str, email: str, code: str) -> None:
    """Log out, and in with a password and a recovery code; the page asked for opens."""
    page = owner.open("/dashboard")
    tab_to(page, ".account summary")
    page.keyboard.press("Enter")
    tab_to(page, ".sheet form button")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You are logged out.")).to_be_visible()
    owner.open("/dashboard/products?q=tent")  # leads to the login
    fill(page, name=email, password=PASSWORD)
    expect(page.locator("h1")).to_have_text("Your code")
    owner.check(axe)
    fill(page, code=code)
    expect(page).to_have_url(owner.dashboard.address("/dashboard/products?q=tent"))
