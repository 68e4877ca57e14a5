"""Forecast features: an item's history as numbers relative to its level.

Features are computed at an origin: the number of known days. A target is `days_ahead` days
after the last known one, 1 to 28.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    WEEK,
    Amounts,
    DailyDemand,
    bulk_order_additions,
    bulk_order_caps,
    weekdays,
    without_bulk_orders,
)

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

YEAR: Final = 52 * WEEK
SALES_RATE_HALF_LIFE: Final = 14.0
"""Half-life of the recent pace, in days: the best of 7 to 56 on earlier origins."""

_WINDOWS: Final = (7, 28, 56, 112)
_LEVEL_DAYS: Final = 56
_LEVEL_FLOOR: Final = 0.1
_MAX_AGE: Final = 365.0
_HALF_LIVES: Final = (7.0, SALES_RATE_HALF_LIFE, 28.0, 56.0)
_WEEKDAY_DAYS: Final = 16 * WEEK
_RECENT_DAYS: Final = 12 * WEEK
_CLIP_QUANTILE: Final = 0.97
_MIN_WEEK_SHARE: Final = 0.75  # minimum share of weeks in which a weekday has sales
_MIN_YEAR_FACTOR, _MAX_YEAR_FACTOR = 0.4, 2.5


def open_day_means(
    demand: DailyDemand, origin: int, window: int, caps: Floats | None = None
) -> Floats:
    """Return each item's mean amount on its open days of the last `window` days: [items].

    NaN without open days; a day counts at most `caps` [items].
    """
    start = max(0, origin - window)
    on_sale = demand.on_sale[:, start:origin]
    amounts = demand.amounts[:, start:origin]
    if caps is not None:
        amounts = np.minimum(amounts, caps[:, None])
    sums = np.where(on_sale, amounts, 0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / on_sale.sum(axis=1), dtype=np.float64)


def item_levels(demand: DailyDemand, origin: int, caps: Floats | None = None) -> Floats:
    """Return the scale of each item's amounts: above 0, [items].

    `caps` are its `bulk_order_caps`, if already computed.
    """
    caps_of_items = bulk_order_caps(demand, origin) if caps is None else caps
    recent = open_day_means(demand, origin, _LEVEL_DAYS, caps_of_items)
    longer = open_day_means(demand, origin, origin)
    return np.nan_to_num(np.where(np.isnan(recent), longer, recent)) + _LEVEL_FLOOR


def sales_rates(ordinary_days: DailyDemand, profile: Floats, half_life: float) -> Floats:
    """Return each item's recent sales on an average open day: [items].

    `ordinary_days` have no bulk orders; `profile` [7] are the store's weekday factors.
    """
    days = profile[weekdays(ordinary_days.ordinals(0, ordinary_days.days))]
    return decayed_open_day_means(ordinary_days, ordinary_days.days, half_life, days)


class ForecastOriginFeatures:
    """The features of every item at one origin."""

    def __init__(
        self, demand: DailyDemand, origin: int, full_demand: DailyDemand | None = None
    ) -> None:
        """Compute features of the first `origin` days of `demand`; later days are not read.

        `full_demand` is the whole store's demand, if `demand` has only some of its items.
        """
        all_demand = self._full_demand = full_demand or demand
        self._demand = demand
        self._origin = origin
        self.caps = bulk_order_caps(demand, origin)
        self.levels = item_levels(demand, origin, self.caps)
        self._store_profile = store_weekday_factors(all_demand, origin)
        without_bulk = without_bulk_orders(demand, origin, self.caps)
        rates = [
            sales_rates(without_bulk, self._store_profile, half_life)
            for half_life in _HALF_LIVES
        ]
        self.daily_sales = rates[1] + _LEVEL_FLOOR
        self.added = bulk_order_additions(demand, origin, self.caps)
        self._item = np.concatenate(
            (self._item_features(), self._rate_features(rates)), axis=1
        )
        self._store = _store_features(all_demand, origin)
        self._profile, self._last = self._weekday_means_and_last_amounts()
        demand_so_far = all_demand.until(origin)
        self._last_year = _last_year_sales_ratios(store_totals(demand_so_far), origin)

    def feature_rows(self, items: Items, days_ahead: Ints) -> Amounts:
        """Return the features of parallel `items` and days `days_ahead`.

        [rows, features].
        """
        days = self._demand.first_day + self._origin - 1 + days_ahead
        weekday = weekdays(days)
        per_row = np.stack(
            (
                days_ahead,
                weekday,
                self._profile[items, weekday],
                self._last[items, weekday],
                self._store_profile[weekday],
                self._last_year[np.minimum(days_ahead, HORIZON) - 1],
            ),
            axis=1,
        ).astype(np.float32)
        store = np.broadcast_to(self._store, (len(items), len(self._store)))
        return np.concatenate((self._item[items], store, per_row), axis=1)

    def _item_features(self) -> Amounts:
        demand, origin = self._demand, self._origin
        columns = [np.log(self.levels)]
        amounts, on_sale = demand.amounts[:, :origin], demand.on_sale[:, :origin]
        by_window = {window: open_day_means(demand, origin, window) for window in _WINDOWS}
        columns += [by_window[window] / self.levels for window in _WINDOWS]
        for window in (28, 112):
            window_amounts = amounts[:, -window:]
            is_on_sale = on_sale[:, -window:]
            mean = np.nan_to_num(by_window[window])[:, None]
            count = np.maximum(is_on_sale.sum(axis=1), 1)
            spread = np.sqrt(
                (np.where(is_on_sale, window_amounts - mean, 0) ** 2).sum(axis=1) / count
            )
            sold = (window_amounts > 0) & is_on_sale
            columns += [
                spread / self.levels,
                sold.sum(axis=1) / count,
                window_amounts.max(axis=1, initial=0) / self.levels,
                is_on_sale.mean(axis=1),
            ]
        sold = amounts > 0
        has_sold = sold.any(axis=1)
        days_since_sale = np.where(has_sold, np.argmax(sold[:, ::-1], axis=1), origin)
        age = np.where(has_sold, origin - np.argmax(sold, axis=1), 0)
        for window in (56, 112):
            columns += [
                quantile / self.levels
                for quantile in open_day_quantiles(demand, origin, window)
            ]
        columns += [np.minimum(days_since_sale, _MAX_AGE), np.minimum(age, _MAX_AGE)]
        columns.append(decayed_open_day_means(demand, origin, 14.0) / self.levels)
        columns.append(self._category_trends_of_items())
        columns.append(_last_year_means(demand, origin) / self.levels)
        return np.stack(columns, axis=1).astype(np.float32)

    def _rate_features(self, rates: list[Floats]) -> Amounts:
        """Return the trend of the pace, and the deviation of days from it, in paces."""
        demand_so_far = self._demand.amounts[:, : self._origin]
        change_scales = np.sqrt(
            (np.diff(demand_so_far, axis=1) ** 2).mean(axis=1, dtype=np.float64)
        )
        largest = np.minimum(self.caps, demand_so_far.max(axis=1))
        columns = [*rates, self.added, largest, change_scales]
        return np.stack([column / self.daily_sales for column in columns], axis=1).astype(
            np.float32
        )

    def _category_trends_of_items(self) -> Floats:
        """Return the trend of each item's category: [items], NaN without one."""
        codes = self._demand.categories
        if not (codes >= 0).any():
            return np.full(len(codes), np.nan)
        return np.where(
            codes >= 0, _category_trends(self._full_demand, self._origin)[codes], np.nan
        )

    def _weekday_means_and_last_amounts(self) -> tuple[Floats, Floats]:
        """Return each item's mean and last amount by weekday, in levels: [items, 7]."""
        demand, origin = self._demand, self._origin
        start = max(0, origin - 8 * WEEK)
        days = weekdays(demand.ordinals(start, origin - start))
        profile = np.full((demand.items, WEEK), np.nan)
        last = np.full((demand.items, WEEK), np.nan)
        for weekday in range(WEEK):
            weekday_columns = start + np.flatnonzero(days == weekday)
            is_on_sale = demand.on_sale[:, weekday_columns]
            sums = np.where(is_on_sale, demand.amounts[:, weekday_columns], 0).sum(axis=1)
            count = is_on_sale.sum(axis=1)
            profile[:, weekday] = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
            if len(weekday_columns):
                last[:, weekday] = demand.amounts[:, weekday_columns[-1]]
        return profile / self.levels[:, None], last / self.levels[:, None]


def open_day_quantiles(demand: DailyDemand, origin: int, window: int) -> list[Floats]:
    """Return the quantiles of each item's open days: one [items] for each of QUANTILES."""
    start = max(0, origin - window)
    is_on_sale = demand.on_sale[:, start:origin]
    sorted_amounts = np.sort(
        np.where(is_on_sale, demand.amounts[:, start:origin], np.inf), axis=1
    )
    count = is_on_sale.sum(axis=1)
    rows = np.arange(demand.items)
    quantiles = []
    for share in QUANTILES:
        index = np.maximum(np.round(share * (count - 1)), 0).astype(np.int64)
        value = (
            sorted_amounts[rows, index]
            if sorted_amounts.shape[1]
            else np.full(demand.items, np.inf)
        )
        quantiles.append(np.where(count > 0, value, np.nan).astype(np.float64))
    return quantiles


def store_totals(demand: DailyDemand) -> Floats:
    """Return the store's sales by day: [days]."""
    return np.asarray(demand.amounts.sum(axis=0, dtype=np.float64))


def store_weekday_factors(demand: DailyDemand, origin: int) -> Floats:
    """Return the store's factor of each weekday, mean 1 over its open weekdays: [7].

    Bulk orders are capped, because they do not depend on the weekday.
    """
    start = max(0, origin - _WEEKDAY_DAYS)
    window_amounts = demand.amounts[:, start:origin]
    caps = (
        np.quantile(window_amounts, 0.98, axis=1)[:, None]
        if window_amounts.size
        else np.zeros((1, 1))
    )
    totals = np.minimum(window_amounts, np.maximum(caps, 1)).sum(axis=0, dtype=np.float64)
    return weekday_factors(totals, demand.ordinals(start, origin - start))


def weekday_factors(totals: Floats, ordinals: Ints) -> Floats:
    """Return each weekday's share of an open day: [7], mean 1 over those with sales.

    The average of two estimates: the median of all weeks, which is robust, and the mean of
    the last twelve, which adapts faster. On earlier origins both together were better than
    either.
    """
    recent = slice(max(0, len(totals) - _RECENT_DAYS), len(totals))
    of_all_days = _weekday_factors_of_median_week(totals, ordinals)
    of_recent_days = _weekday_factors_of_mean_week(totals[recent], ordinals[recent])
    combined = of_all_days + of_recent_days
    return (
        np.asarray(combined / combined[combined > 0].mean())
        if combined.any()
        else np.ones(WEEK)
    )


def _weekday_factors_of_mean_week(totals: Floats, ordinals: Ints) -> Floats:
    """Return the mean of each weekday's open days, with the largest capped: [7]."""
    days, factors = weekdays(ordinals), np.zeros(WEEK)
    sold = totals > 0
    if not sold.any():
        return factors
    capped = np.minimum(totals, np.quantile(totals[sold], _CLIP_QUANTILE))
    for weekday in range(WEEK):
        weekday_totals = capped[(days == weekday) & sold]
        factors[weekday] = weekday_totals.mean() if len(weekday_totals) else 0.0
    return np.asarray(factors / factors[factors > 0].mean())


def _weekday_factors_of_median_week(totals: Floats, ordinals: Ints) -> Floats:
    """Return each weekday's share of the median week, or the mean if sales are few."""
    factors = np.zeros(WEEK)
    weeks = len(totals) // WEEK
    weekly_totals = totals[len(totals) - weeks * WEEK :].reshape(weeks, WEEK)
    sold = weekly_totals > 0
    mean_open_days = weekly_totals.sum(axis=1) / np.maximum(sold.sum(axis=1), 1)
    has_sales = mean_open_days > 0
    if not has_sales.any():
        return factors
    shares = weekly_totals[has_sales] / mean_open_days[has_sales][:, None]
    sold = sold[has_sales]
    for column, weekday in enumerate(
        weekdays(ordinals[len(totals) - weeks * WEEK :])[:WEEK]
    ):
        is_open = sold[:, column]
        is_regular = is_open.mean() >= _MIN_WEEK_SHARE
        values = shares[is_open, column] if is_regular else shares[:, column]
        factors[weekday] = np.median(values) if is_regular else values.mean()
    return np.asarray(factors / factors[factors > 0].mean())


def decayed_open_day_means(
    demand: DailyDemand, origin: int, half_life: float, profile: Floats | None = None
) -> Floats:
    """Return each item's mean on open days, newer days weighing more: [items].

    `profile` [origin] normalises days: the result is the mean of a day worth 1.
    """
    start = max(0, origin - round(8 * half_life))
    ages = origin - 1 - np.arange(start, origin)
    weights = (0.5 ** (ages / half_life)).astype(np.float32)
    day_weights = np.ones_like(weights) if profile is None else profile[start:origin]
    weighted_days = demand.on_sale[:, start:origin] * weights
    sums = (demand.amounts[:, start:origin] * weighted_days).sum(axis=1)
    return np.asarray(
        sums / np.maximum((weighted_days * day_weights).sum(axis=1), 1e-6), dtype=np.float64
    )


def _store_features(demand: DailyDemand, origin: int) -> Amounts:
    totals = demand.amounts[:, :origin].sum(axis=0, dtype=np.float64)
    mean28 = totals[-28:].mean() + _LEVEL_FLOOR
    return np.array(
        [totals[-7:].mean() / mean28, mean28 / (totals[-112:].mean() + _LEVEL_FLOOR)],
        dtype=np.float32,
    )


def _category_trends(demand: DailyDemand, origin: int) -> Floats:
    """Return each category's current sales relative to its last 56 days: [codes]."""
    has_category = demand.categories >= 0
    codes = demand.categories[has_category]
    amounts = demand.amounts[has_category, max(0, origin - 56) : origin]
    recent_means = np.bincount(codes, amounts[:, -14:].mean(axis=1))
    window_means = np.bincount(codes, amounts.mean(axis=1))
    return np.asarray(recent_means / np.maximum(window_means, _LEVEL_FLOOR))


def _last_year_means(demand: DailyDemand, origin: int) -> Floats:
    """Return each item's daily mean of the same 28 days a year before: [items]."""
    if origin < YEAR:
        return np.full(demand.items, np.nan)
    start = origin - YEAR
    amounts = demand.amounts[:, start : start + HORIZON]
    return np.asarray(amounts.mean(axis=1, dtype=np.float64))


def _last_year_sales_ratios(totals: Floats, origin: int) -> Floats:
    """Return the store's sales a year before each target, relative to the 28 days before.

    Shape [28]; NaN without that year. `totals` [days] are the whole store's.
    """
    start = origin - YEAR
    if start < HORIZON:
        return np.full(HORIZON, np.nan)
    level_before = totals[start - HORIZON : start].mean()
    if level_before <= 0:
        return np.full(HORIZON, np.nan)
    half_week = WEEK // 2
    window_totals = totals[start - half_week : start + HORIZON + half_week]
    weeks = np.convolve(window_totals, np.ones(WEEK) / WEEK, mode="valid")
    return np.asarray(weeks / level_before)


def seasonal_factors(totals: Floats, origin: int) -> Floats:
    """Return the seasonal factor of each target, from the year before: [28].

    It is relative to the level of the days before and bounded; 1 without that year.
    """
    ratio = np.nan_to_num(_last_year_sales_ratios(totals, origin), nan=1.0)
    return np.clip(ratio, _MIN_YEAR_FACTOR, _MAX_YEAR_FACTOR)


def shrink_season(season: Floats, shrinkage: float) -> Floats:
    """Return a shrunken `season`: large moves are kept, small ones almost removed.

    A move as large as `shrinkage` (as a logarithm) is halved. Most small moves are random;
    large ones such as Christmas are not.
    """
    log_factors = np.log(np.maximum(season, 1e-9))
    if shrinkage <= 0:
        return season
    return np.asarray(
        np.exp(log_factors * log_factors**2 / (log_factors**2 + shrinkage**2))
    )
