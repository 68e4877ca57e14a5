"""Which stores with few, busy series do we make up? Seeded daily sales by group.

A bakery: strong weekdays, closed on Sundays, weather that lasts for days. A pharmacy:
groups with opposite seasons, and drift. A restaurant: many dishes, growth and then a drop.
Ten stores: levels that move at once, promotions, a crisis. Nothing in them is measured.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.engines.demand.demand_series import Amounts

FIRST_DAY: Final = date(2023, 1, 2).toordinal()  # a Monday
_YEAR: Final = 365.25


def bakery(seed: int, days: int) -> Amounts:
    """Return six groups: strong weekdays, closed on Sundays, summer guests, weather."""
    rng = np.random.default_rng([seed, 1])
    levels = np.array([320.0, 130, 80, 60, 45, 25])
    weekdays = np.array([0.8, 0.8, 0.85, 0.9, 1.1, 1.55, 0.0]) + rng.normal(0, 0.06, (6, 7))
    weekdays[:, 6] = 0
    season = 0.3 * _wave(days, 200)[None] * rng.uniform(0.3, 1.6, (6, 1))
    season[5] = 0.9 * _wave(days, 350)  # sold in winter above all
    weather = _persistent(rng, 1, days, 0.85, 0.15) * rng.uniform(-0.5, 1.5, (6, 1))
    own = _persistent(rng, 6, days, 0.2, 0.10)
    return _drawn(
        rng,
        levels[:, None]
        * np.resize(weekdays.T, (days, 6)).T
        * np.exp(season + weather + own),
        40,
    )


def pharmacy(seed: int, days: int) -> Amounts:
    """Return eight groups: winter or spring seasons, drift, weak weekdays."""
    rng = np.random.default_rng([seed, 2])
    levels = np.array([5.0, 3.7, 3.9, 30, 8.8, 0.6, 5.5, 2.9])
    peaks = np.array([15, 15, 330, 10, 80, 200, 20, 140])
    strength = np.array([0.1, 0.1, 0.1, 0.55, 0.1, 0.1, 0.6, 0.7])
    season = strength[:, None] * np.stack([_wave(days, peak) for peak in peaks.tolist()])
    flu = 0.25 * _persistent(rng, 1, days, 0.97, 0.24) * (peaks < 30)[:, None]
    drift = np.cumsum(rng.normal(0, 0.012, (8, days)), axis=1)
    weekdays = np.resize(np.array([1.0, 1, 1, 1, 1.05, 1.3, 0.8]), days)
    return _drawn(rng, levels[:, None] * weekdays * np.exp(season + flu + drift), 12)


def restaurant(seed: int, days: int) -> Amounts:
    """Return 91 dishes: growth, then a drop of a third; busy on Fridays and Saturdays."""
    rng = np.random.default_rng([seed, 3])
    levels = np.exp(rng.normal(0.2, 1.3, 91))
    weekdays = np.resize(np.array([0.7, 0.75, 0.8, 0.9, 1.5, 1.6, 0.8]), days)
    drop = int(days * rng.uniform(0.55, 0.9))
    trend = np.minimum(np.arange(days), drop) * 0.0012
    trend[drop:] -= 0.4
    own = _persistent(rng, 91, days, 0.98, 0.35)
    menu = np.arange(days) >= (rng.uniform(-1.5, 0.7, 91) * days)[:, None]
    mood = _persistent(rng, 1, days, 0.8, 0.15)
    return _drawn(rng, levels[:, None] * weekdays * np.exp(trend + own + mood) * menu, 3)


def ten_stores(seed: int, days: int) -> Amounts:
    """Return 82 groups of ten stores: levels that move at once, promotions, Christmas."""
    rng = np.random.default_rng([seed, 4])
    store = np.resize(np.arange(10), 82)
    levels = np.exp(rng.normal(3.2, 0.9, 82))
    weekdays = np.array([0.9, 0.85, 0.85, 0.9, 1.1, 1.35, 1.05])
    shifts = np.zeros((10, days))
    for row in shifts:
        for day in rng.integers(30, days, max(2, days // 150)).tolist():
            row[day:] += rng.normal(-0.05, 0.3)
    promotion = np.zeros((82, days))
    for row in promotion:
        for day in rng.integers(0, days, max(1, days // 70)).tolist():
            row[day : day + 14] = rng.uniform(0.2, 0.8)
    season = 0.15 * _wave(days, 190) + 0.5 * np.exp(
        -0.5 * (_days_to_peak(days, 355) / 12) ** 2
    )
    crisis = np.zeros(days)  # a fall by half within days, half recovered in four months
    begin = int(days * rng.uniform(0.55, 0.9))
    since = np.arange(days - begin)
    crisis[begin:] = -0.7 * np.minimum(since / 10, 1) * (0.5 + 0.5 * np.exp(-since / 120))
    own = _persistent(rng, 82, days, 0.9, 0.12)
    expected = levels[:, None] * np.resize(weekdays, days)
    moved = shifts[store] + promotion + season + crisis + own
    return _drawn(rng, expected * np.exp(moved), 60)


def _days_to_peak(days: int, peak: float) -> Floats:
    """Return each day's distance from the day `peak` of its year."""
    distance = (np.arange(days) - peak) % _YEAR
    return np.asarray(np.minimum(distance, _YEAR - distance))


def _wave(days: int, peak: float) -> Floats:
    return np.asarray(np.cos(2 * np.pi * (np.arange(days) - peak) / _YEAR))


def _persistent(
    rng: np.random.Generator, series: int, days: int, share: float, deviation: float
) -> Floats:
    """Return series that keep `share` of each day's deviation on the next."""
    values = rng.normal(0, deviation, (series, days))
    values[:, 1:] *= np.sqrt(1 - share**2)
    for day in range(1, days):
        values[:, day] += share * values[:, day - 1]
    return np.asarray(values)


def _drawn(rng: np.random.Generator, expected: Floats, size: float) -> Amounts:
    """Return counts around `expected`; a small `size` scatters more."""
    scatter = rng.gamma(size, 1 / size, expected.shape)
    return rng.poisson(expected * scatter).astype(np.float32)
