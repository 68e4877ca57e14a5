"""Dashboard in a browser: a running service with a year of sales, and logged-in pages.

A journey opens pages with `Desk.page`, and checks each with `DeskPage.check`: no finding of
axe in light or dark, no scrolling to the side, and no complaint in the console.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest

from demo_store.generator import DOMAIN
from productrecs.core.clock import system_ms
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_store,
    register_store,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.tenancy.users.dashboard_user import (
    DashboardUser,
    Role,
    hash_password,
)
from productrecs.tenancy.users.repository import UserRepository
from tests.support.browser import BARRIERS, WAIT_MS, Watch, watched
from tests.support.dashboard import PASSWORD
from tests.support.service import HOST, Service

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page, StorageState

SCHEMES: Final = ("light", "dark")
Look: TypeAlias = tuple[int, tuple[str, ...]]
LOOKS: Final = [
    pytest.param((375, SCHEMES[:1]), id="375px"),
    pytest.param((1280, SCHEMES[1:]), id="1280px"),
    *[
        pytest.param((width, SCHEMES), id=f"{width}px-both", marks=pytest.mark.trust)
        for width in (375, 1280)
    ],
]
"""Widths, each with the colour schemes to look for barriers in.

Colours are the same at every width, so the short form has each width and each scheme once.
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
        self,
        browser: Browser,
        width: int = 1280,
        role: str = "owner",
        schemes: Sequence[str] = SCHEMES,
    ) -> Iterator[DeskPage]:
        """Give a page of this width in which somebody of a role is logged in.

        Barriers are looked for in each of `schemes`. What its console complains of fails
        the test at the end.
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
            yield DeskPage(self, page, watch, schemes)
            assert not watch.complaints, watch.complaints

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
    schemes: Sequence[str] = SCHEMES

    def open(self, path: str) -> Page:
        """Open a page of the dashboard; fail unless it answers."""
        reply = self.page.goto(self.desk.address(path))
        assert reply is not None
        assert reply.ok, (path, reply.status)
        return self.page

    def check(self, axe: str) -> None:
        """Fail on barriers in its colour schemes, and on scrolling to the side."""
        check_width(self.page)
        check_barriers(self.page, axe, self.schemes)


def check_width(page: Page) -> None:
    """Fail when the page scrolls to the side; say what is too wide."""
    found = page.evaluate(_OVERFLOW)
    assert not found, (page.url, found)


def check_barriers(page: Page, axe: str, schemes: Sequence[str] = SCHEMES) -> None:
    """Fail on any finding of axe, in light and in dark."""
    page.evaluate(axe)
    for scheme in schemes:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        found = page.evaluate(BARRIERS)
        assert not found, (page.url, scheme, found)
    page.emulate_media(color_scheme="light")


@contextlib.contextmanager
def demo_desk(folder: Path) -> Iterator[Desk]:
    """Give the running demo, whose store `folder` has."""
    with Service(folder, command="demo") as service:
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
