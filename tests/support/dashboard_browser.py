"""Dashboard in a browser: a running service with a year of sales, and logged-in pages.

A journey opens pages with `StoreDashboard.page`, and checks each with
`LoggedInPage.check`: as on a phone and as on a desktop no finding of axe, no scrolling
to the side, and no complaint in the console.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, StorageState

from demo_store.generator import DOMAIN
from productrecs.core.clock import system_ms
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_store,
    register_store,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.repository import UserRepository
from tests.support.browser import BARRIERS, WAIT_MS, PageLog, watched
from tests.support.dashboard import PASSWORD
from tests.support.service import HOST, Service

Views: TypeAlias = "tuple[tuple[int, str], ...]"
VIEWS: Final[Views] = ((375, "light"), (1280, "dark"))
"""Widths and colour schemes that each page is checked in.

Colours are the same at every width, so each width and each scheme is there once.
"""
Look: TypeAlias = tuple[int, Views]
LOOKS: Final = [
    pytest.param((375, VIEWS), id="375px"),
    *[
        pytest.param(
            (width, tuple((width, scheme) for scheme in ("light", "dark"))),
            id=f"{width}px-both",
            marks=pytest.mark.trust,
        )
        for width in (375, 1280)
    ],
]
"""Widths that a journey is made at, each with the views that its pages are checked in.

The short form is made on a phone, where there is less room for each step.
"""
_OVERFLOW: Final = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const found = [...document.querySelectorAll("main *, header *")].filter(one =>
    one.getBoundingClientRect().right > wide + 1
    && !one.parentElement.closest(".scroll, pre"));
  return ["page", ...found.slice(0, 5).map(one => one.outerHTML.slice(0, 120))];
}"""


@dataclass
class StoreDashboard:
    """A service, one of its stores, and who logs in there."""

    service: Service
    domain: str
    _states: dict[str, StorageState] = field(default_factory=dict)

    def address(self, path: str) -> str:
        """Return the address of a path."""
        return f"http://{HOST}:{self.service.port}{path}"

    @contextlib.contextmanager
    def page(
        self, browser: Browser, width: int = 1280, role: str = "owner", views: Views = VIEWS
    ) -> "Iterator[LoggedInPage]":
        """Give a page of this width in which somebody of a role is logged in.

        It is checked in each of `views`. What its console complains of fails the test at
        the end.
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
            yield LoggedInPage(self, page, watch, views)
            assert not watch.complaints, watch.complaints

    def _log_in(self, page: Page, email: str) -> None:
        page.goto(self.address("/dashboard/login"))
        page.fill("[name=name]", email)
        page.fill("[name=password]", PASSWORD)
        page.click("main button")
        page.wait_for_url("**/dashboard")


@dataclass(frozen=True)
class LoggedInPage:
    """A logged-in page: what Playwright gives, and what every journey checks."""

    dashboard: StoreDashboard
    page: Page
    watch: PageLog
    views: Views = VIEWS

    def open(self, path: str) -> Page:
        """Open a page of the dashboard; fail unless it answers."""
        reply = self.page.goto(self.dashboard.address(path))
        assert reply is not None
        assert reply.ok, (path, reply.status)
        return self.page

    def check(self, axe: str) -> None:
        """Fail on barriers and on scrolling to the side, in each of its views."""
        check_page(self.page, axe, self.views)


def check_page(page: Page, axe: str, views: Views = VIEWS) -> None:
    """Fail on any finding of axe and on scrolling to the side, in each of the views."""
    size = page.viewport_size
    assert size is not None
    page.evaluate(axe)
    for width, scheme in views:
        page.set_viewport_size({"width": width, "height": size["height"]})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        too_wide = page.evaluate(_OVERFLOW)
        assert not too_wide, (page.url, width, too_wide)
        barriers = page.evaluate(BARRIERS)
        assert not barriers, (page.url, width, scheme, barriers)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(size)


@contextlib.contextmanager
def demo_dashboard(folder: Path) -> Iterator[StoreDashboard]:
    """Give the running demo, whose store `folder` has."""
    with Service(folder, command="demo") as service:
        _add_users(service, DOMAIN)
        yield StoreDashboard(service, DOMAIN)


def new_dashboard(service: Service, domain: str, **settings: str) -> StoreDashboard:
    """Return a new store without any data, in the same service."""
    plan = DEFAULT_PLANS["unlimited"]
    wanted = Registration(domain=domain, plan=plan, settings=settings)
    with service.database() as database:
        register_store(database, wanted, system_ms)
    _add_users(service, domain)
    return StoreDashboard(service, domain)


def _add_users(service: Service, domain: str) -> None:
    """Add a user of each role, such as `viewer@DOMAIN`."""
    hashed = validate_and_hash_password(PASSWORD)
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
