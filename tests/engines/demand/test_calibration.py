"""Interval calibration: too narrow bands widen at once, too wide ones shrink slowly."""

import numpy as np
import pytest

from productrecs.engines.demand.calibration import (
    WEEKS,
    ForecastPaths,
    PastForecasts,
    fit_calibration,
)
from productrecs.engines.demand.demand_series import HORIZON, WEEK

ITEMS, LEVEL = 200, 10.0


def a_past(spread: float) -> PastForecasts:
    """Return days even between 0 and LEVEL, told with `spread` about the middle."""
    week = np.linspace(0, LEVEL, ITEMS * WEEK, dtype=np.float32).reshape(ITEMS, WEEK)
    actual = np.tile(week, (1, WEEKS))
    told = np.full((ITEMS, HORIZON), LEVEL / 2, np.float32)
    paths = ForecastPaths(told, np.stack((told - spread, told, told + spread)))
    often = np.full(ITEMS, 4)
    everywhere = np.ones((ITEMS, HORIZON), np.bool_)
    return PastForecasts(paths, actual, everywhere, np.full(ITEMS, LEVEL), often)


def held(past: PastForecasts) -> float:
    """Return the share of days inside the band once it is calibrated by themselves."""
    moved = fit_calibration(past).applied(past.paths, past.levels, past.classes)
    low, _, high = moved.quantiles
    return float(((past.actual >= low) & (past.actual <= high)).mean())


def test_a_band_that_was_too_narrow_is_wider_at_once() -> None:
    past = a_past(1.0)  # holds a fifth
    found = fit_calibration(past)
    assert found.lower[4] == pytest.approx(np.full(WEEKS, 0.3), abs=0.005)  # to LEVEL / 10
    assert found.upper[4] == pytest.approx(np.full(WEEKS, 0.26), abs=0.005)
    assert 0.74 < held(past) < 0.78


def test_a_band_that_was_too_wide_is_drawn_in_part_of_the_way() -> None:
    past = a_past(5.0)  # holds every day
    found = fit_calibration(past)
    assert found.lower[4] == pytest.approx(np.full(WEEKS, -0.06), abs=0.005)  # of -0.1
    assert found.upper[4] == pytest.approx(np.full(WEEKS, -0.084), abs=0.005)  # of -0.14
    assert 0.83 < held(past) < 0.88


def test_a_right_band_stays_about_where_it_is() -> None:
    assert 0.76 < held(a_past(4.0)) < 0.81
