"""Fixtures of the browser tests: Chromium, and a service that it can reach.

All tests share one browser; each takes pages of its own from it.
"""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.support.browser import MISSING, WAIT_MS, find_chromium, launched
from tests.support.dashboard_browser import (
    LOOKS,
    LoggedInPage,
    StoreDashboard,
    demo_dashboard,
)
from tests.support.demo import demo_folder
from tests.support.project import ROOT
from tests.support.service import Merchant, Service
from tests.support.storefront import SHOP, TITLES, Storefront, catalog
from tests.support.web import Pages, Relay

__all__ = ["demo_folder"]


def pytest_report_header() -> str:
    """Say which browser the tests run in, or that they do not."""
    return f"chromium: {find_chromium() or MISSING}"


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Give what starts browsers; skip the test where no Chromium is installed.

    While it runs, nothing else in this thread can run an event loop.
    """
    if find_chromium() is None:
        pytest.skip(MISSING)
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Give the system's Chromium."""
    with launched(playwright) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Give an empty page of a fresh profile, 1280 pixels wide."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(WAIT_MS)
        yield context.new_page()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core, which finds barriers for people with disabilities."""
    script = ROOT / "widgets/node_modules/axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip(
            "axe-core is not installed, so no barriers were looked for: tools/setup test"
        )
    return script.read_text("utf-8")


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a running service over SQLite."""
    service = Service(tmp_path_factory.mktemp("service")).prepare()
    with service:
        yield service


@pytest.fixture
def merchant(service: Service) -> Merchant:
    """Return a fresh store and its connection."""
    return service.register()


@pytest.fixture(scope="module")
def storefront(service: Service) -> Iterator[Storefront]:
    """Give a store of ten products with its pages; the relay has seen what it has seen."""
    merchant = service.register(language="en", currency="EUR")
    picture = "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'/>"
    products = {f"/p/{n}": "<title>Product</title>Product" for n in range(len(TITLES))}
    shown = {"/picture.svg": picture, "/favicon.ico": ""} | products
    with Pages(shown) as pages, Relay(service.port) as relay:
        assert merchant.push(*catalog(pages.origin(SHOP))).status == 200
        for order in range(4):
            sent = merchant.order(f"o{order}", "p0", "p1", "p3", session_id=f"s_{order}")
            assert sent.status == 200
        service.train(merchant)
        yield Storefront(service, merchant, pages, relay)


@pytest.fixture
def front(storefront: Storefront) -> Storefront:
    """Return the store with its pages; without requests so far."""
    storefront.relay.seen.clear()
    return storefront


@pytest.fixture(scope="package")
def dashboard(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[StoreDashboard]:
    """Give the dashboard of the demo store, which all journeys share."""
    if find_chromium() is None:
        pytest.skip(MISSING)
    folder = tmp_path_factory.mktemp("dashboard")
    shutil.copytree(request.getfixturevalue("demo_folder"), folder, dirs_exist_ok=True)
    with demo_dashboard(folder) as found:
        yield found


@pytest.fixture(params=LOOKS)
def owner_page(
    request: pytest.FixtureRequest, browser: Browser, dashboard: StoreDashboard
) -> Iterator[LoggedInPage]:
    """Give a page with the owner logged in, once at each width."""
    width, views = request.param
    with dashboard.page(browser, width, views=views) as found:
        yield found
