"""The service that the tests of the plugin share; each test registers its own store."""

from collections.abc import Iterator

import pytest

from tests.support.service import Service


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("plugin").resolve()) as running:
        yield running
