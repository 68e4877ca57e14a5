"""Stored XSS: payloads in every text field, and no page of the dashboard runs one.

The browser ignores the pages' Content-Security-Policy here, so escaping alone must hold.
"""

import contextlib
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, BrowserContext, Error, Page

from productrecs.core.clock import system_ms
from productrecs.dashboard.page import Page as DashboardPage
from productrecs.dashboard.page_registry import PAGES
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import touch_days
from productrecs.tenancy.accounts.store_management import find_or_create_owner
from productrecs.tenancy.users.login_and_sessions import begin_session
from tests.support.browser import WAIT_MS
from tests.support.dashboard_calls import address_of, names_read
from tests.support.filled_store import Filled, fill, open_store
from tests.support.service import HOST, Service, eventually
from tests.support.xss import PAYLOADS

STORES = 3  # a list shows some fifty rows at most; the short form visits one of them
SHOWN = [page for page in PAGES if page.show is not None]
# What would run once somebody points at it, clicks it, or lets htmx read it.
ARMED = """() => {
  const bad = [];
  const unsafe = /^\\s*(javascript|vbscript|data:text)/i;
  for (const one of document.querySelectorAll("*")) {
    for (const {name, value} of one.attributes) {
      const runs = /^(on|hx-on|data-hx-on|srcdoc)/.test(name)
        || (/^(data-)?hx-(vals|headers|trigger)$/.test(name) && /js:|\\[/.test(value));
      const leads = /^(href|src|action|formaction|data|xlink:href|hx-get|hx-post)$/;
      const address = value.replace(/[\\x00-\\x20]/g, "");
      if (runs || (leads.test(name) && unsafe.test(address)))
        bad.push(one.outerHTML.slice(0, 200));
    }
    if (one.localName === "script" && !one.src && !/json/.test(one.type))
      bad.push(one.outerHTML.slice(0, 200));
  }
  return bad;
}"""


class ScriptTrap:
    """A browser profile in which `xss()` and every dialog are noted."""

    def __init__(self, context: BrowserContext) -> None:
        self.sprung: list[str] = []
        context.expose_binding("xss", lambda source: self._note(source["frame"].url))
        context.on("page", lambda page: page.on("dialog", self._dismiss))
        context.set_default_timeout(WAIT_MS)
        self.context = context
        self.page: Page = context.new_page()

    def open(self, address: str) -> bool:
        """Open a page; return whether it is one, not a file to save."""
        try:
            self.page.goto(address, wait_until="load")
        except Error as error:
            if "Download is starting" in str(error):
                return False
            raise
        return True

    def _note(self, url: str) -> None:
        self.sprung.append(url)

    def _dismiss(self, dialog: object) -> None:
        self.sprung.append("dialog")
        dialog.dismiss()  # type: ignore[attr-defined]  # a dialog of Playwright


@pytest.fixture
def trap(browser: Browser) -> Iterator[ScriptTrap]:
    with browser.new_context(bypass_csp=True) as context:
        yield ScriptTrap(context)


@contextlib.contextmanager
def filled_stores(service: Service, count: int) -> Iterator[list[Filled]]:
    """Give stores that hold payloads in every field that takes them."""
    with service.database() as database:
        filled = []
        for number in range(count):
            domain = f"xss-{number}-{time.time_ns()}.example"
            made = open_store(database, system_ms, service.client(), domain)
            filled.append(fill(made, PAYLOADS[number::STORES]))
        eventually(lambda: _is_attributed(database, filled[-1]))
        yield filled


def _is_attributed(database: Database, filled: Filled) -> bool:
    with database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(touch_days)
        mine = query.where(touch_days.c.store_id == filled.store.store_id)
        return bool(connection.execute(mine).scalar())


def test_a_page_that_does_not_escape_is_caught(trap: ScriptTrap) -> None:
    for payload in PAYLOADS[:12]:
        trap.page.set_content(f"<p>{payload}</p>")
    armed = []
    for payload in PAYLOADS:
        if payload.startswith(("<a ", "<svg", "javascript:", "<form")):
            trap.page.set_content(f"<p><a href='{payload}'></a>{payload}</p>")
            armed += trap.page.evaluate(ARMED)

    assert len(trap.sprung) > 10
    assert len(armed) > 10


@pytest.mark.parametrize("count", [1, pytest.param(STORES, marks=pytest.mark.trust)])
def test_no_payload_of_250_runs_on_any_page(
    service: Service, trap: ScriptTrap, count: int
) -> None:
    with filled_stores(service, count) as stores:
        check_pages(service, stores, trap)


def check_pages(service: Service, stores: list[Filled], trap: ScriptTrap) -> None:
    """No page of the stores runs a payload, or would if one pointed at it."""
    base = f"http://{HOST}:{service.port}"
    armed: list[tuple[str, str]] = []
    visited = 0

    for filled in stores:
        _log_in(trap.context, base, filled)
        for page in SHOWN:
            for address in _addresses(page, filled, visited):
                if not trap.open(base + address):
                    continue
                armed += [(address, one) for one in trap.page.evaluate(ARMED)]
                visited += 1

    held = {name for filled in stores for name, count in filled.held.items() if count}
    assert len(PAYLOADS) >= 250
    assert held >= {"items", "item ids", "orders", "events", "rules", "looks", "users"}
    assert visited >= len(stores) * len(SHOWN) * 0.8  # others are files
    assert armed == []
    assert trap.sprung == []


def _log_in(context: BrowserContext, base: str, filled: Filled) -> None:
    owner = find_or_create_owner(filled.database, filled.store)
    session = begin_session(filled.database, owner, filled.clock())
    context.add_cookies(
        [{"name": "productrecs_session", "value": session.token, "url": base}]
    )


def _addresses(page: DashboardPage, filled: Filled, turn: int) -> Iterator[str]:
    """Yield a page with ids of its store, and with a payload in each field of its query."""
    yield address_of(page, filled)
    names = sorted(names_read(page))
    if names:
        payload = PAYLOADS[turn * 7 % len(PAYLOADS)]
        yield f"{page.path}?{urlencode(dict.fromkeys(names, payload))}"
