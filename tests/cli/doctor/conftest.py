"""Fixtures of the doctor's tests."""

from pathlib import Path

import pytest

from tests.support.migrated import link_models


@pytest.fixture(autouse=True)
def linked_models(data_folder: Path) -> None:
    """Put the packaged models where each call of the doctor would write them."""
    link_models(data_folder)
