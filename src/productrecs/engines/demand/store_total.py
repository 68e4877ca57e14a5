"""Store total forecast: forecasts the whole store's sales directly, not by summing items.

Quantiles cannot be summed. The mean of three simple levels is multiplied by the store's
weekday and seasonal factors; the season is weighted by its backtest. The interval comes
from past forecast errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    USUAL_DOUBT,
    WEEK,
    closed_ahead,
    closed_days,
    weekdays,
)
from productrecs.engines.demand.forecast_features import (
    YEAR,
    shrunk_season,
    weekday_factors,
    year_factors_of,
)

if TYPE_CHECKING:
    from productrecs.engines.arrays import Bools, Floats, Ints

_PROFILE_DAYS: Final = 16 * WEEK
_HALF_LIVES: Final = (7.0, 14.0)
_SMOOTHING, _TREND, _DAMPING = 0.3, 0.1, 0.9
_WEEKS: Final = 12
_MOST_ORIGINS: Final = 26
_FEWEST_ORIGINS: Final = 4
_DOUBTS: Final = (USUAL_DOUBT, 0.1, 0.0)  # shrinkage of a season; ties give the default
FIRST_ORIGIN: Final = 5 * WEEK
"""Minimum days of history for an interval from past errors."""


@dataclass(frozen=True, slots=True, eq=False)
class TotalForecast:
    """The store's forecast: mean [28], quantiles [3, 28]; sums [3] of 7 and 28 days."""

    mean: Floats
    quantiles: Floats
    next_7_days: Floats
    next_28_days: Floats
    closed: Bools  # [28]


@dataclass(frozen=True, slots=True, eq=False)
class TotalBacktest:
    """Forecasts at earlier origins: [origins, 28], newest first."""

    forecast: Floats
    actual: Floats
    naive: Floats  # seasonal naive: last week repeated
    moving: Floats  # the mean of the last 28 days

    @property
    def origins(self) -> int:
        """Number of origins."""
        return len(self.forecast)


@dataclass(frozen=True, slots=True, eq=False)
class SeasonOutlook:
    """The HORIZON days after a day, before the season is shrunk."""

    level: Floats  # of each day, including its weekday factor
    season: Floats  # last year's seasonal factor; 1 without that year
    closed: Bools

    def mean(self, doubt: float) -> Floats:
        """Return the expected totals; without `doubt` the season has full weight."""
        expected = np.maximum(self.level * shrunk_season(self.season, doubt), 0.0)
        return np.where(self.closed, 0.0, expected)


class YearlySeasonality:
    """The shrinkage of last year's season, by its backtest in the store."""

    def __init__(self, totals: Floats, first_day: int) -> None:
        """Use `totals` [days]; a forecast at a day reads no later day."""
        self._totals, self._first_day = totals, first_day
        self._outlooks: dict[int, SeasonOutlook] = {}

    def outlook(self, day: int) -> SeasonOutlook:
        """Return the outlook after `day` known days."""
        if day not in self._outlooks:
            self._outlooks[day] = _outlook(self._totals[:day], self._first_day)
        return self._outlooks[day]

    def mean(self, day: int) -> Floats:
        """Return the expected totals of the days after the first `day`."""
        return self.outlook(day).mean(self.best_doubt(day))

    def best_doubt(self, day: int) -> float:
        """Return the shrinkage with the least error at the origins completed by `day`.

        With fewer than four origins that have a previous year, it is the default.
        """
        origins = range(day - HORIZON, YEAR + HORIZON - 1, -WEEK)[:_MOST_ORIGINS]
        if len(origins) < _FEWEST_ORIGINS:
            return USUAL_DOUBT
        return min(_DOUBTS, key=lambda one: self._missed(origins, one))

    def _missed(self, origins: range, doubt: float) -> float:
        return sum(
            float(np.abs(self._came(one) - self.outlook(one).mean(doubt)).sum())
            for one in origins
        )

    def _came(self, origin: int) -> Floats:
        return self._totals[origin : origin + HORIZON]


def _outlook(totals: Floats, first_day: int) -> SeasonOutlook:
    days = len(totals)
    ordinals = first_day + np.arange(days, dtype=np.int64)
    ahead = first_day + days + np.arange(HORIZON, dtype=np.int64)
    closed = closed_days(totals, first_day)
    shut = closed_ahead(closed, first_day, ahead)
    recent = slice(max(0, days - _PROFILE_DAYS), days)
    profile = weekday_factors(totals[recent], ordinals[recent])
    levels = [
        np.full(HORIZON, _weighted(totals, closed, profile, ordinals, half_life))
        for half_life in _HALF_LIVES
    ]
    levels.append(_damped(totals, closed, profile, ordinals))
    level = np.mean(levels, axis=0) * profile[weekdays(ahead)]
    return SeasonOutlook(level, year_factors_of(totals, days), shut)


def backtest_totals(totals: Floats, first_day: int) -> TotalBacktest:
    """Return the forecasts from one horizon ago, one week earlier, and so on."""
    origins = range(len(totals) - HORIZON, FIRST_ORIGIN - 1, -WEEK)
    chosen, seasons = list(origins)[:_MOST_ORIGINS], YearlySeasonality(totals, first_day)
    forecast, actual, naive, moving = (np.zeros((len(chosen), HORIZON)) for _ in range(4))
    for row, origin in enumerate(chosen):
        known = totals[:origin]
        forecast[row] = seasons.mean(origin)
        actual[row] = totals[origin : origin + HORIZON]
        naive[row] = np.tile(known[-WEEK:], HORIZON // WEEK)
        moving[row] = known[-HORIZON:].mean()
    return TotalBacktest(forecast, actual, naive, moving)


def forecast_total(totals: Floats, first_day: int, past: TotalBacktest) -> TotalForecast:
    """Return the forecast by the best method in `past`, with a calibrated interval."""
    seasons, days = YearlySeasonality(totals, first_day), len(totals)
    mean, shut = seasons.mean(days), seasons.outlook(days).closed
    if past.origins < _FEWEST_ORIGINS:
        return _uncertain(totals, mean, shut)
    served, ahead = past.forecast, mean
    for rival, expected in (
        (past.naive, np.tile(totals[-WEEK:], HORIZON // WEEK)),
        (past.moving, np.full(HORIZON, totals[-HORIZON:].mean())),
    ):
        if np.abs(past.actual - rival).sum() < np.abs(past.actual - served).sum():
            served, ahead = rival, np.where(shut, 0.0, expected)
    quantiles = error_quantiles(served, past.actual)[:, None] * ahead
    sums = [
        error_quantiles(_sum(served, length), _sum(past.actual, length))
        * ahead[:length].sum()
        for length in (WEEK, HORIZON)
    ]
    return TotalForecast(ahead, quantiles, sums[0], sums[1], shut)


def shifted_forecast(
    total: TotalForecast, totals: Floats, first_day: int, lead: int
) -> TotalForecast:
    """Return the HORIZON days that begin `lead` days later (below a week).

    Days beyond the last week repeat it; closed days are 0.
    """
    days = len(totals)
    places = np.arange(lead, lead + HORIZON)
    ahead = first_day + days + places
    places = np.where(places < HORIZON, places, places - WEEK)
    shut = closed_ahead(closed_days(totals, first_day), first_day, ahead)
    mean = np.where(shut, 0.0, total.mean[places])
    quantiles = np.where(shut, 0.0, total.quantiles[:, places])
    sums = [
        band * (mean[:length].sum() / max(float(total.mean[:length].sum()), 1e-9))
        for band, length in ((total.next_7_days, WEEK), (total.next_28_days, HORIZON))
    ]
    return TotalForecast(mean, quantiles, sums[0], sums[1], shut)


def error_quantiles(forecast: Floats, actual: Floats) -> Floats:
    """Return the QUANTILES of actual over forecast: [3], for equal shapes."""
    held = forecast > 0
    ratios = actual[held] / forecast[held]
    return np.array([_at(ratios, share) for share in QUANTILES])


def _sum(values: Floats, length: int) -> Floats:
    return np.asarray(values[:, :length].sum(axis=1))


def _at(ratios: Floats, share: float) -> float:
    """Return the conformal quantile: corrected for one more draw."""
    count = len(ratios)
    if not count:
        return 1.0
    wider = 0.5 + (share - 0.5) * (count + 1) / count
    return float(np.quantile(ratios, min(max(wider, 0.0), 1.0)))


def _uncertain(totals: Floats, mean: Floats, shut: Bools) -> TotalForecast:
    """Return an interval from the variance of days, without past errors."""
    sold = totals[totals > 0]
    average = sold.mean() if len(sold) else 0.0
    ratios = sold / average if average > 0 else np.ones(1)
    quantiles = np.stack([mean * float(np.quantile(ratios, share)) for share in QUANTILES])
    # Chance averages out over more days, but the error of the level does not.
    sums = [
        np.array(
            [
                mean[:length].sum() * (1 + (float(np.quantile(ratios, share)) - 1) / 2)
                for share in QUANTILES
            ]
        )
        for length in (WEEK, HORIZON)
    ]
    return TotalForecast(mean, quantiles, sums[0], sums[1], shut)


def _weighted(
    totals: Floats, closed: Bools, profile: Floats, ordinals: Ints, half_life: float
) -> float:
    ages = len(totals) - 1 - np.arange(len(totals))
    weights = np.where(closed, 0, 0.5 ** (ages / half_life))
    worth = float((weights * profile[weekdays(ordinals)]).sum())
    return float((weights * totals).sum()) / worth if worth > 0 else 0.0


def _damped(totals: Floats, closed: Bools, profile: Floats, ordinals: Ints) -> Floats:
    """Return the level of each future day by a damped trend of the last weeks: [28]."""
    worth = np.where(closed, 0, profile[weekdays(ordinals)])
    weeks = min(_WEEKS, len(totals) // WEEK)
    if weeks < 2:  # noqa: PLR2004 - too few for a trend
        return np.full(HORIZON, _weighted(totals, closed, profile, ordinals, 14.0))
    span = slice(len(totals) - weeks * WEEK, len(totals))
    sums = totals[span].reshape(weeks, WEEK).sum(axis=1)
    open_days = worth[span].reshape(weeks, WEEK).sum(axis=1)
    values = (sums[open_days > 0] / open_days[open_days > 0]).tolist()
    if not values:
        return np.zeros(HORIZON)
    level, trend = float(np.mean(values[:4])), 0.0
    for value in values:
        before = level
        level = _SMOOTHING * value + (1 - _SMOOTHING) * (level + _DAMPING * trend)
        trend = _TREND * (level - before) + (1 - _TREND) * _DAMPING * trend
    steps = np.arange(HORIZON) // WEEK + 1
    faded = np.cumsum(_DAMPING ** np.arange(1, HORIZON // WEEK + 1))
    return np.maximum(level + trend * faded[steps - 1], 0.0)
