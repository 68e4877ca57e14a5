"""Formats: a number with its noun, and months."""

import pytest

from productrecs.dashboard.formats import Formats


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 clicks"), (1, "1 click"), (2, "2 clicks"), (1200, "1,200 clicks")],
)
def test_a_number_agrees_with_its_noun(value: int, text: str) -> None:
    assert Formats.plain().count(value, "click") == text


def test_a_month_has_its_name() -> None:
    assert Formats.plain().month("2026-11") == "November 2026"
