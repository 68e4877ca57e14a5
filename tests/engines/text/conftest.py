"""The engine's tests ask the arrays, as a service does once it is warm."""

from __future__ import annotations

import pytest

from productrecs.engines.text.warming import warm_up


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm_up()
