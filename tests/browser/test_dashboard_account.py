"""Journey 1 with the keyboard alone: register, log in, finish the checklist."""

import re
import time
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, expect

from productrecs.core.clock import system_ms
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.team_members import create_registration_invitation
from tests.support.browser import WAIT_MS
from tests.support.dashboard import PASSWORD
from tests.support.dashboard_browser import LOOKS, Look, check_page
from tests.support.service import HOST, Account, Merchant, Service

STEPS = 6
MOST_TABS = 60


def tab_to(page: Page, selector: str) -> None:
    """Move the focus with the Tab key until it is on an element."""
    for _ in range(MOST_TABS):
        if page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not reach {selector}")


def fill(page: Page, **fields: str) -> None:
    """Type into fields, in the order of the form, and send it with Enter."""
    for name, text in fields.items():
        tab_to(page, f"[name={name}]")
        page.keyboard.type(text)
    page.keyboard.press("Enter")


def _registration_link(service: Service, base: str) -> str:
    with closing(Database.open(service.database_url, service.folder)) as database:
        token = create_registration_invitation(database, None, system_ms())
    return f"{base}/dashboard/register?token={token}"


@pytest.mark.parametrize("look", LOOKS)
def test_a_merchant_starts_with_the_keyboard_alone(
    service: Service, browser: Browser, axe: str, look: Look
) -> None:
    width, views = look
    base, domain = f"http://{HOST}:{service.port}", f"start-{time.time_ns()}.example"
    with browser.new_context(
        viewport={"width": width, "height": 800}, reduced_motion="reduce"
    ) as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto(_registration_link(service, base))
        check_page(page, axe, views)
        fill(page, domain=domain, email=f"anna@{domain}", password=PASSWORD)
        expect(page.get_by_text(f"0 of {STEPS} done")).to_be_visible()
        check_page(page, axe, views)

        _do_all(service, page, domain)
        page.reload()
        expect(page.get_by_text(f"{STEPS} of {STEPS} done")).to_be_visible()

        tab_to(page, ".account summary")
        page.keyboard.press("Enter")
        tab_to(page, ".sheet form button")
        page.keyboard.press("Enter")
        expect(page.get_by_text("You are logged out.")).to_be_visible()
        fill(page, name=domain, password=PASSWORD)
        expect(page).to_have_url(f"{base}/dashboard")
        for path in (
            "account",
            "settings",
            "team",
            "security",
            "security/two-factor",
            "audit",
        ):
            page.goto(f"{base}/dashboard/{path}")
            check_page(page, axe, views)


def _do_all(service: Service, page: Page, domain: str) -> None:
    """Do what the checklist says, with the keys that the pages show."""
    source = page.content()
    key = re.search(r"pk_\w{20,}", source)
    assert key is not None
    page.goto(page.url.replace("/start", "/account"))
    tab_to(page, "#keys .confirm summary")
    page.keyboard.press("Enter")
    tab_to(page, "#keys .confirm form button")
    page.keyboard.press("Enter")
    shown = page.locator("#keys .flash code")
    expect(shown).to_contain_text("sk_")
    account = Account("", domain, key[0], shown.inner_text().strip())
    merchant = Merchant(account, service.client())
    assert merchant.push({"id": "sku-1", "title": "Lamp", "price": 9}).status == 200
    view = {"event": "detail-page-view", "item_id": "sku-1", "session_id": "s"}
    shown_one = {"event": "rec-impression", "item_ids": ["sku-1"], "session_id": "s"}
    assert merchant.track(view, {**shown_one, "widget": "recs"}).status == 200
    assert merchant.order("1", "sku-1", session_id="s").status == 200
    assert merchant.recommend(num=4).status == 200
    page.goto(page.url.partition("/dashboard")[0] + "/dashboard/start")
    for _ in range(20):  # the checklist follows within seconds
        if f"{STEPS} of {STEPS} done" in page.content():
            return
        page.wait_for_timeout(500)
        page.reload()
