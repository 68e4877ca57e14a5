"""Fixtures of the API tests: a running service, and stores in it.

One service for all of them, with two API processes; each test has stores of its own.
"""

from collections.abc import Iterator

import pytest

from tests.support.service import Merchant, Service


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a running service over SQLite, with two API processes."""
    service = Service(tmp_path_factory.mktemp("service"), workers=2).prepare()
    with service:
        yield service


@pytest.fixture
def merchant(service: Service) -> Merchant:
    """Return a fresh store and its connection."""
    return service.register()


@pytest.fixture
def other(service: Service) -> Merchant:
    """Return another fresh store."""
    return service.register()
