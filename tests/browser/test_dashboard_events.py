"""Events page in a browser: events appear by themselves, each with its verdict."""

import json
import time

from playwright.sync_api import expect

from demo_store.generator import DOMAIN
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.dashboard_browser import LoggedInPage, StoreDashboard

PAGE = "/dashboard/events"


def send(dashboard: StoreDashboard, session: str, **event: str) -> None:
    """Send one event as another browser does."""
    with dashboard.service.database() as database:
        key = find_store(database, DOMAIN).publishable_key
    body = json.dumps({"session_id": session, **event}).encode()
    kind = {"content-type": "text/plain"}
    reply = dashboard.service.client().ask("POST", f"/v1/events?key={key}", body, kind)
    assert reply.status in {200, 422}


def test_events_appear_by_themselves_with_a_remedy(
    owner_page: LoggedInPage, axe: str
) -> None:
    session = f"s_{time.time_ns()}"
    page = owner_page.open(f"{PAGE}?session={session}")
    expect(page.locator(".stream .none")).to_be_visible()
    owner_page.check(axe)

    send(
        owner_page.dashboard,
        session,
        event="detail-page-view",
        item_id="ridge-tent-for-two",
    )
    send(owner_page.dashboard, session, event="detail-page-view", item_id="nowhere")
    send(owner_page.dashboard, session, event="nonsense")

    rows = page.locator(".stream li:not(.none)")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("Accepted")
    expect(rows.nth(1)).to_contain_text("is not in your catalog")
    expect(rows.nth(0)).to_contain_text("Invalid")
    rows.nth(2).locator("summary").click()
    expect(rows.nth(2).locator("pre")).to_contain_text("ridge-tent-for-two")
    owner_page.check(axe)
    page.click("text=Pause")
    send(owner_page.dashboard, session, event="detail-page-view", item_id="later")
    expect(page.get_by_text("Paused.")).to_be_visible()
    expect(rows).to_have_count(3)
    page.check("[name=mine]")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(0)
