"""Fixtures of the doctor's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.migrated import link_models

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def linked_models(data_folder: Path) -> None:
    """Put the packaged models where each call of the doctor would write them."""
    link_models(data_folder)
