"""Dashboard in a browser: a running service with a year of sales, and logged-in pages.

A journey opens pages with `Desk.page`, and checks each with `check_page`: no finding of axe
in light or dark, no scrolling to the side, and no complaint in the console.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from demo_store import command
from demo_store.generator import DOMAIN
from demo_store.storefront.picture_files import pictures_folder
from productrecs.core.clock import system_ms
from productrecs.entrypoints.services import build_services
from productrecs.features.insights.attribution.attributor import Attributor
from productrecs.features.insights.customers.customer_report import compute_customers
from productrecs.settings import Settings
from productrecs.tenancy.accounts.login.dashboard_user import DashboardUser, Role
from productrecs.tenancy.accounts.login.passwords_and_tokens import hash_password
from productrecs.tenancy.accounts.login.repository import UserRepository
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_store,
    register_store,
)
from productrecs.tenancy.billing.plans import DEFAULT_PLANS
from tests.support.browser import WAIT_MS, Watch, watched
from tests.support.dashboard import PASSWORD
from tests.support.demo import paint
from tests.support.service import HOST, Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
    from playwright.sync_api import Browser, Page, StorageState

WIDTHS: Final = (375, 1280)
_BARRIERS: Final = """async () => (await axe.run(document)).violations.map(
  one => `${one.id}: ${one.nodes.map(node => node.target).join(" | ")}`)"""
_OVERFLOW: Final = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const found = [...document.querySelectorAll("main *, header *")].filter(one =>
    one.getBoundingClientRect().right > wide + 1
    && !one.parentElement.closest(".scroll, pre"));
  return ["page", ...found.slice(0, 5).map(one => one.outerHTML.slice(0, 120))];
}"""


@dataclass
class Desk:
    """A service, one of its stores, and who logs in there."""

    service: Service
    domain: str
    _states: dict[str, StorageState] = field(default_factory=dict)

    def address(self, path: str) -> str:
        """Return the address of a path."""
        return f"http://{HOST}:{self.service.port}{path}"

    @contextlib.contextmanager
    def page(
        self, browser: Browser, width: int = 1280, role: str = "owner"
    ) -> Iterator[DeskPage]:
        """Give a page of this width in which somebody of a role is logged in.

        What its console complains of fails the test at the end.
        """
        with browser.new_context(
            viewport={"width": width, "height": 900},
            storage_state=self._states.get(role),
            reduced_motion="reduce",
        ) as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            watch = watched(page)
            if role not in self._states:
                self._log_in(page, f"{role}@{self.domain}")
                self._states[role] = context.storage_state()
            yield DeskPage(self, page, watch)
            assert not watch.complaints

    def _log_in(self, page: Page, email: str) -> None:
        page.goto(self.address("/dashboard/login"))
        page.fill("[name=name]", email)
        page.fill("[name=password]", PASSWORD)
        page.click("main button")
        page.wait_for_url("**/dashboard")


@dataclass(frozen=True)
class DeskPage:
    """A logged-in page: what Playwright gives, and what every journey checks."""

    desk: Desk
    page: Page
    watch: Watch

    def open(self, path: str) -> Page:
        """Open a page of the dashboard; fail unless it answers."""
        reply = self.page.goto(self.desk.address(path))
        assert reply is not None
        assert reply.ok, (path, reply.status)
        return self.page

    def check(self, axe: str) -> None:
        """Fail on barriers in light or dark, and on scrolling to the side."""
        check_width(self.page)
        check_barriers(self.page, axe)


def check_width(page: Page) -> None:
    """Fail when the page scrolls to the side; say what is too wide."""
    found = page.evaluate(_OVERFLOW)
    assert not found, (page.url, found)


def check_barriers(page: Page, axe: str) -> None:
    """Fail on any finding of axe, in light and in dark."""
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(_BARRIERS)
        assert not found, (page.url, scheme, found)
    page.emulate_media(color_scheme="light")


@contextlib.contextmanager
def demo_desk(folder: Path, patched: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Give the running demo: a year of sales, its pictures plain. It takes 15 seconds."""
    service = Service(folder, command="demo").prepare()
    paint(pictures_folder(service.folder))
    patched.setattr(command, "draw_in_background", lambda _folder: contextlib.nullcontext())
    services = build_services(Settings(data=service.folder))
    store = command.prepare_store(services).store
    Attributor(services.database, services.trails).catch_up(store)
    compute_customers(services.database, store, services.clock())
    services.close()
    service.run("forecast", DOMAIN)
    with service:
        _add_users(service, DOMAIN)
        yield Desk(service, DOMAIN)


def new_desk(service: Service, domain: str, **settings: str) -> Desk:
    """Return a new store without any data, in the same service."""
    plan = DEFAULT_PLANS["unlimited"]
    wanted = Registration(domain=domain, plan=plan, settings=settings)
    with service.database() as database:
        register_store(database, wanted, system_ms)
    _add_users(service, domain)
    return Desk(service, domain)


def _add_users(service: Service, domain: str) -> None:
    """Add a user of each role, such as `viewer@DOMAIN`."""
    hashed = hash_password(PASSWORD)
    with service.database() as database:
        store = find_store(database, domain)
        with database.transaction() as transaction:
            users = UserRepository(transaction, store.store_id)
            for role in Role:
                email = f"{role.label}@{domain}"
                user = DashboardUser(
                    store.store_id, f"test-{role.label}", email, role, hashed
                )
                users.add(user, system_ms())
