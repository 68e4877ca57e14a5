"""Does a forecast that knows the calendar ahead gain? With and without, in the same run.

Holidays: Online Retail in groups, forecast from each second week between two dates, with
the public holidays of England. Campaigns: made-up stores (`made_demand`) with four past
weeks that sold e^.5 of the usual, or the usual, and one week ahead of which it is known.
Prices: made-up stores whose products were reduced four times each, and one week ahead in
which all cost 30 % less. The forecast knows the reduced price, and what past orders paid.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality import made_demand
from benchmarks.quality.demand import history, pinballs, rmsse
from benchmarks.quality.demand_groups import retail_groups
from benchmarks.report import Figure
from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.calendar_effects import (
    CalendarEffects,
    CalendarEvent,
    SpecialDayKind,
)
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
)
from productrecs.engines.demand.forecast import forecast_demand, with_calendar_effects
from productrecs.engines.demand.price_elasticity import HighestPaidPrices, price_elasticity
from productrecs.training.demand.calendar_events import public_holidays

if TYPE_CHECKING:
    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.engines.demand.demand_series import Amounts

_FIRST, _LAST = date(2011, 4, 5).toordinal(), date(2011, 8, 29).toordinal()
_DATA: Final = (date(2010, 12, 1), date(2011, 12, 31))
_STARTS, _LENGTH, _DAYS, _ORIGIN = (120, 200, 290, 355, 375), 7, 400, 372
_SEEDS: Final = (21, 22, 23)
_EARLY: Final = 190  # before the level of the made-up stores falls
_NAMES: Final = ("pinball", "RMSSE", "the total's WAPE")


def measure(report: Report) -> None:
    """Add the ratios of errors with the calendar to those without."""
    for name in ("8 letters", "6 countries"):
        _add(report, f"holidays, retail {name}", _holiday_errors(name))
    for make in (made_demand.bakery, made_demand.restaurant, made_demand.ten_stores):
        for change in (0.5, 0.0):
            errors = []
            for seed in _SEEDS:
                amounts, events = _with_campaigns(make(seed, _DAYS), change, seed)
                errors.append(_errors(amounts, made_demand.FIRST_DAY, _ORIGIN, events))
            title = f"campaigns of e^{change:g}, {make.__name__.replace('_', ' ')}"
            _add(report, title, np.array(errors))
        for elasticity in (-2.0, -1.0, 0.0):
            errors = [_price_errors(make(seed, _DAYS), elasticity, seed) for seed in _SEEDS]
            title = f"prices, elasticity {elasticity:g}, {make.__name__.replace('_', ' ')}"
            _add(report, title, np.array(errors))
    for elasticity in (-2.0, -1.0, 0.0):
        errors = [
            _price_errors(made_demand.ten_stores(seed, _DAYS), elasticity, seed, _EARLY)
            for seed in _SEEDS
        ]
        title = f"prices, elasticity {elasticity:g}, ten stores before their fall"
        _add(report, title, np.array(errors))


def _price_errors(
    amounts: Amounts, elasticity: float, seed: int, origin: int = _ORIGIN
) -> list[list[float]]:
    rng, prices = np.random.default_rng(seed), np.ones(amounts.shape)
    for row in prices:
        for start in rng.integers(30, origin - 20, 4):
            row[start : start + rng.integers(5, 15)] = rng.choice([0.9, 0.8, 0.7])
    ahead = origin + 3
    prices[:, ahead : ahead + _LENGTH] = 0.7
    amounts = rng.poisson(amounts * prices**elasticity).astype(np.float32)
    rows, days = np.nonzero(amounts[:, :origin])
    paid = HighestPaidPrices(rows, days, prices[rows, days])
    first = made_demand.FIRST_DAY
    found = price_elasticity(history(amounts[:, :origin], first), paid)
    last_day = first + ahead + _LENGTH - 1
    sale = CalendarEvent(
        SpecialDayKind.CAMPAIGN, "Sale", first + ahead, last_day, price=0.7
    )
    return _errors(amounts, first, origin, [sale], found)


def _holiday_errors(name: str) -> Floats:
    amounts, first = retail_groups(name)
    events = public_holidays("GB-ENG", *_DATA)
    return np.array(
        [
            _errors(amounts, first, day - first, events)
            for day in range(_FIRST, _LAST, 2 * 7)
        ]
    )


def _with_campaigns(
    amounts: Amounts, change: float, seed: int
) -> tuple[Amounts, list[CalendarEvent]]:
    rng, events = np.random.default_rng(seed), []
    for start in _STARTS:
        days = slice(start, start + _LENGTH)
        if change:
            amounts[:, days] = rng.poisson(amounts[:, days] * np.exp(change))
        first = made_demand.FIRST_DAY + start
        name = f"Sale {start}"
        events.append(
            CalendarEvent(SpecialDayKind.CAMPAIGN, name, first, first + _LENGTH - 1)
        )
    return amounts, events


def _errors(
    amounts: Amounts,
    first: int,
    origin: int,
    events: list[CalendarEvent],
    elasticity: float = 0.0,
) -> list[list[float]]:
    """Return pinball, RMSSE and the total's WAPE, without and with the calendar."""
    known, came = amounts[:, :origin], amounts[:, origin : origin + HORIZON]
    sold = (np.diff(known, axis=1) != 0).any(axis=1)
    demand, options = history(known, first), DemandForecastOptions(threads=1)
    found = []
    for usable in ([], events):
        effects = CalendarEffects(demand, usable, elasticity)
        ordinary = effects.history_without_events()
        verdict = run_backtest(ordinary, options, lambda _share: None)
        everything = np.ones((demand.items, HORIZON), np.bool_)
        made = forecast_demand(ordinary, everything, options, lambda _share: None, verdict)
        made = with_calendar_effects(made, effects, first + origin)
        total = came.sum(axis=0)
        found.append(
            [
                float(
                    pinballs(known[sold], came[sold], made.paths.quantiles[:, sold]).mean()
                ),
                rmsse(known[sold], came[sold], made.paths.mean[sold]),
                float(np.abs(made.total.mean - total).sum() / total.sum()),
            ]
        )
    return found


def _add(report: Report, title: str, errors: Floats) -> None:
    without, with_calendar = errors.mean(axis=0)
    for name, ratio in zip(_NAMES, with_calendar / without, strict=True):
        note = f"with the calendar / without; {len(errors)} forecasts"
        report.add(Figure(f"{title}, {name}", float(ratio), "ratio", note=note))
