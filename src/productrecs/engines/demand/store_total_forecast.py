"""Store total forecast: forecasts the whole store's sales directly, not by summing items.

Quantiles cannot be summed. The mean of three simple levels is multiplied by the store's
weekday and seasonal factors; the season is weighted by its backtest. Mixed with the level
of the last days, weekday means and last week, as past errors say. The interval comes from
past forecast errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import (
    DEFAULT_SHRINKAGE,
    HORIZON,
    QUANTILES,
    WEEK,
    closed_days,
    closed_in_future,
    weekdays,
)
from productrecs.engines.demand.ensemble_and_calibration import equal_share_mixtures
from productrecs.engines.demand.forecast_features import (
    YEAR,
    seasonal_factors,
    shrink_season,
    weekday_factors,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Bools, Floats, Ints

_PROFILE_DAYS: Final = 16 * WEEK
_HALF_LIVES: Final = (7.0, 14.0)
_RECENT_HALF_LIFE: Final = 4.0
_WEEKDAY_WEEKS: Final = 8
_SMOOTHING, _TREND, _DAMPING = 0.3, 0.1, 0.9
_WEEKS: Final = 12
_MAX_ORIGINS: Final = 26
_MIN_ORIGINS: Final = 4
_SHRINKAGES: Final = (
    DEFAULT_SHRINKAGE,
    0.1,
    0.0,
)  # shrinkage of a season; ties give the default
_METHODS: Final = 4
_MIN_SUM: Final = 1e-9  # so that no ratio divides by 0
FIRST_ORIGIN: Final = 5 * WEEK
"""Minimum days of history for an interval from past errors."""


@dataclass(frozen=True, slots=True, eq=False)
class StoreTotalForecast:
    """The store's forecast: mean [28], quantiles [3, 28]; sums [3] of 7 and 28 days."""

    mean: Floats
    quantiles: Floats
    next_7_days: Floats
    next_28_days: Floats
    closed: Bools  # [28]

    def multiply(self, factors: Floats) -> StoreTotalForecast:
        """Return the forecast with each day multiplied by one of `factors` [28]."""
        mean = self.mean * factors
        sums = [
            period * (mean[:days].sum() / max(float(self.mean[:days].sum()), _MIN_SUM))
            for period, days in ((self.next_7_days, WEEK), (self.next_28_days, HORIZON))
        ]
        return StoreTotalForecast(
            mean, self.quantiles * factors, sums[0], sums[1], self.closed | (factors == 0)
        )


@dataclass(frozen=True, slots=True, eq=False)
class StoreTotalBacktest:
    """Forecasts at earlier origins: [origins, 28], newest first.

    Each `forecast` mixes the methods as the errors known at its origin say.
    """

    forecast: Floats
    actual: Floats
    naive: Floats  # seasonal naive: last week repeated
    moving: Floats  # the mean of the last 28 days
    shares: Floats  # [methods] of the mixture with the least error at all origins

    @property
    def origins(self) -> int:
        """Number of origins."""
        return len(self.forecast)


@dataclass(frozen=True, slots=True, eq=False)
class StoreTotalComponents:
    """What the totals of the HORIZON days after a day are multiplied from."""

    level: Floats  # of each day, including its weekday factor
    recent: Floats  # the same with the level of the last days
    season: Floats  # last year's seasonal factor; 1 without that year
    closed: Bools

    def expected_totals(self, shrinkage: float) -> Floats:
        """Return the expected totals; without `shrinkage` the season has full weight."""
        return self._in_season(self.level, shrinkage)

    def expected_totals_at_recent_level(self, shrinkage: float) -> Floats:
        """Return the expected totals at the level of the last days."""
        return self._in_season(self.recent, shrinkage)

    def _in_season(self, level: Floats, shrinkage: float) -> Floats:
        expected = np.maximum(level * shrink_season(self.season, shrinkage), 0.0)
        return np.where(self.closed, 0.0, expected)


class StoreTotalForecaster:
    """Forecasts a store's totals, with last year's season shrunk by its backtest."""

    def __init__(self, totals: Floats, first_day: int) -> None:
        """Use `totals` [days]; a forecast at a day reads no later day."""
        self._totals, self._first_day = totals, first_day
        self._components: dict[int, StoreTotalComponents] = {}

    def components_after(self, day: int) -> StoreTotalComponents:
        """Return the components after `day` known days."""
        if day not in self._components:
            self._components[day] = _forecast_components(
                self._totals[:day], self._first_day
            )
        return self._components[day]

    def expected_totals(self, day: int) -> Floats:
        """Return the expected totals of the days after the first `day`."""
        return self.components_after(day).expected_totals(self.best_shrinkage(day))

    def expected_totals_by_method(self, day: int) -> Floats:
        """Return the expected totals by each method: [methods, HORIZON].

        The season's mean, that at the level of the last days, weekday means of 8 weeks, and
        last week repeated.
        """
        components, shrinkage = self.components_after(day), self.best_shrinkage(day)
        weeks = min(_WEEKDAY_WEEKS, max(1, day // WEEK))
        past_weeks = np.resize(
            self._totals[max(0, day - weeks * WEEK) : day], (weeks, WEEK)
        )
        repeated = np.tile(
            np.stack((past_weeks.mean(axis=0), past_weeks[-1])), HORIZON // WEEK
        )
        return np.concatenate(
            (
                components.expected_totals(shrinkage)[None],
                components.expected_totals_at_recent_level(shrinkage)[None],
                np.where(components.closed, 0.0, repeated),
            )
        )

    def best_shrinkage(self, day: int) -> float:
        """Return the shrinkage with the least error at the origins completed by `day`.

        With fewer than four origins that have a previous year, it is the default.
        """
        origins = range(day - HORIZON, YEAR + HORIZON - 1, -WEEK)[:_MAX_ORIGINS]
        if len(origins) < _MIN_ORIGINS:
            return DEFAULT_SHRINKAGE
        return min(_SHRINKAGES, key=lambda shrinkage: self._total_error(origins, shrinkage))

    def _total_error(self, origins: range, shrinkage: float) -> float:
        return sum(
            float(
                np.abs(
                    self._totals[origin : origin + HORIZON]
                    - self.components_after(origin).expected_totals(shrinkage)
                ).sum()
            )
            for origin in origins
        )


def _forecast_components(totals: Floats, first_day: int) -> StoreTotalComponents:
    days = len(totals)
    ordinals = first_day + np.arange(days, dtype=np.int64)
    future_days = first_day + days + np.arange(HORIZON, dtype=np.int64)
    closed = closed_days(totals)
    is_closed = closed_in_future(closed, first_day, future_days)
    recent = slice(max(0, days - _PROFILE_DAYS), days)
    profile = weekday_factors(totals[recent], ordinals[recent])
    levels = [
        np.full(HORIZON, _weighted_level(totals, closed, profile, ordinals, half_life))
        for half_life in _HALF_LIVES
    ]
    levels.append(_damped_trend_levels(totals, closed, profile, ordinals))
    recent_level = _weighted_level(totals, closed, profile, ordinals, _RECENT_HALF_LIFE)
    shape = profile[weekdays(future_days)]
    return StoreTotalComponents(
        np.mean(levels, axis=0) * shape,
        recent_level * shape,
        seasonal_factors(totals, days),
        is_closed,
    )


def backtest_totals(totals: Floats, first_day: int) -> StoreTotalBacktest:
    """Return the forecasts from one horizon ago, one week earlier, and so on."""
    origins = range(len(totals) - HORIZON, FIRST_ORIGIN - 1, -WEEK)
    newest_origins = list(origins)[:_MAX_ORIGINS]
    forecaster = StoreTotalForecaster(totals, first_day)
    actual, naive, moving = (np.zeros((len(newest_origins), HORIZON)) for _ in range(3))
    methods = np.zeros((len(newest_origins), _METHODS, HORIZON))
    for row, origin in enumerate(newest_origins):
        totals_so_far = totals[:origin]
        methods[row] = forecaster.expected_totals_by_method(origin)
        actual[row] = totals[origin : origin + HORIZON]
        naive[row] = np.tile(totals_so_far[-WEEK:], HORIZON // WEEK)
        moving[row] = totals_so_far[-HORIZON:].mean()
    return _backtest_best_mixture(methods, actual, naive, moving)


def _backtest_best_mixture(
    methods: Floats, actual: Floats, naive: Floats, moving: Floats
) -> StoreTotalBacktest:
    """Return the backtest of the best mixture; each origin knows only completed ones."""
    options = equal_share_mixtures(_METHODS)
    mixtures = np.einsum("om,rmd->rod", options, methods)  # [origins, mixtures, days]
    errors = np.abs(mixtures - actual[:, None]).sum(axis=2)
    forecast = np.zeros_like(actual)
    for row in range(len(actual)):
        completed = errors[row + HORIZON // WEEK :]
        is_known = len(completed) >= _MIN_ORIGINS
        forecast[row] = mixtures[row, completed.sum(axis=0).argmin() if is_known else 0]
    return StoreTotalBacktest(
        forecast, actual, naive, moving, options[errors.sum(axis=0).argmin()]
    )


def forecast_store_total(
    past_totals: Floats, history_first_day: int, backtest: StoreTotalBacktest
) -> StoreTotalForecast:
    """Return the forecast by the best mixture in `backtest`, with a calibrated interval."""
    forecaster = StoreTotalForecaster(past_totals, history_first_day)
    days = len(past_totals)
    is_closed = forecaster.components_after(days).closed
    if backtest.origins < _MIN_ORIGINS:
        return _total_forecast_without_past_errors(
            past_totals, forecaster.expected_totals(days), is_closed
        )
    mean = backtest.shares @ forecaster.expected_totals_by_method(days)
    quantiles = (
        actual_over_forecast_quantiles(backtest.forecast, backtest.actual)[:, None] * mean
    )
    sums = [
        actual_over_forecast_quantiles(
            _sum_first_days(backtest.forecast, length),
            _sum_first_days(backtest.actual, length),
        )
        * mean[:length].sum()
        for length in (WEEK, HORIZON)
    ]
    return StoreTotalForecast(mean, quantiles, sums[0], sums[1], is_closed)


def shift_forecast(
    total: StoreTotalForecast, totals: Floats, first_day: int, shift_days: int
) -> StoreTotalForecast:
    """Return the HORIZON days that begin `shift_days` days later (below a week).

    Days beyond the last week repeat it; closed days are 0.
    """
    days = len(totals)
    day_index = np.arange(shift_days, shift_days + HORIZON)
    future_days = first_day + days + day_index
    day_index = np.where(day_index < HORIZON, day_index, day_index - WEEK)
    is_closed = closed_in_future(closed_days(totals), first_day, future_days)
    mean = np.where(is_closed, 0.0, total.mean[day_index])
    quantiles = np.where(is_closed, 0.0, total.quantiles[:, day_index])
    sums = [
        sums_of_period
        * (mean[:length].sum() / max(float(total.mean[:length].sum()), _MIN_SUM))
        for sums_of_period, length in (
            (total.next_7_days, WEEK),
            (total.next_28_days, HORIZON),
        )
    ]
    return StoreTotalForecast(mean, quantiles, sums[0], sums[1], is_closed)


def actual_over_forecast_quantiles(forecast: Floats, actual: Floats) -> Floats:
    """Return the QUANTILES of actual over forecast: [3], for equal shapes."""
    has_forecast = forecast > 0
    ratios = actual[has_forecast] / forecast[has_forecast]
    return np.array([_conformal_quantile(ratios, share) for share in QUANTILES])


def _sum_first_days(values: Floats, length: int) -> Floats:
    return np.asarray(values[:, :length].sum(axis=1))


def _conformal_quantile(ratios: Floats, share: float) -> float:
    """Return the conformal quantile: corrected for one more draw."""
    count = len(ratios)
    if not count:
        return 1.0
    corrected_share = 0.5 + (share - 0.5) * (count + 1) / count
    return float(np.quantile(ratios, min(max(corrected_share, 0.0), 1.0)))


def _total_forecast_without_past_errors(
    totals: Floats, mean: Floats, is_closed: Bools
) -> StoreTotalForecast:
    """Return an interval from the variance of days, without past errors."""
    open_totals = totals[totals > 0]
    average = open_totals.mean() if len(open_totals) else 0.0
    ratios = open_totals / average if average > 0 else np.ones(1)
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
    return StoreTotalForecast(mean, quantiles, sums[0], sums[1], is_closed)


def _weighted_level(
    totals: Floats, closed: Bools, profile: Floats, ordinals: Ints, half_life: float
) -> float:
    ages = len(totals) - 1 - np.arange(len(totals))
    weights = np.where(closed, 0, 0.5 ** (ages / half_life))
    total_weight = float((weights * profile[weekdays(ordinals)]).sum())
    return float((weights * totals).sum()) / total_weight if total_weight > 0 else 0.0


def _damped_trend_levels(
    totals: Floats, closed: Bools, profile: Floats, ordinals: Ints
) -> Floats:
    """Return the level of each future day by a damped trend of the last weeks: [28]."""
    weekday_shares = np.where(closed, 0, profile[weekdays(ordinals)])
    weeks = min(_WEEKS, len(totals) // WEEK)
    if weeks < 2:  # noqa: PLR2004 - too few for a trend
        return np.full(HORIZON, _weighted_level(totals, closed, profile, ordinals, 14.0))
    span = slice(len(totals) - weeks * WEEK, len(totals))
    sums = totals[span].reshape(weeks, WEEK).sum(axis=1)
    open_day_shares = weekday_shares[span].reshape(weeks, WEEK).sum(axis=1)
    values = (sums[open_day_shares > 0] / open_day_shares[open_day_shares > 0]).tolist()
    if not values:
        return np.zeros(HORIZON)
    level, trend = float(np.mean(values[:4])), 0.0
    for value in values:
        previous_level = level
        level = _SMOOTHING * value + (1 - _SMOOTHING) * (level + _DAMPING * trend)
        trend = _TREND * (level - previous_level) + (1 - _TREND) * _DAMPING * trend
    steps = np.arange(HORIZON) // WEEK + 1
    damping_sums = np.cumsum(_DAMPING ** np.arange(1, HORIZON // WEEK + 1))
    return np.maximum(level + trend * damping_sums[steps - 1], 0.0)
