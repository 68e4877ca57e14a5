"""What tests in a browser can ask for: Chromium, and a service that it can reach.

The browser lives as long as a module; each test takes pages of its own from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import MISSING, find_chromium, launched
from tests.support.service import Merchant, Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


def pytest_report_header() -> str:
    """Say which browser the tests run in, or that they do not."""
    return f"chromium: {find_chromium() or MISSING}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give the system's Chromium; skip the test where none is installed."""
    if find_chromium() is None:
        pytest.skip(MISSING)
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Give an empty page of a fresh profile."""
    with browser.new_context() as context:
        yield context.new_page()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a running service over SQLite."""
    service = Service(tmp_path_factory.mktemp("service")).prepare()
    with service:
        yield service


@pytest.fixture
def merchant(service: Service) -> Merchant:
    """Return a fresh store and its connection."""
    return service.register()
