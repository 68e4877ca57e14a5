"""Past forecasts: what a store's forecast would have been on earlier days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.calendar_effects import CalendarEffects
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    DailyDemand,
)
from productrecs.engines.demand.forecast import forecast_demand, with_calendar_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.engines.demand.calendar_effects import CalendarEvent
    from productrecs.engines.demand.forecast import DemandForecast

_NEVER: Final = 10**9  # days of history


class PastForecaster:
    """Forecasts from the days before a day, without the learned model.

    Weights and interval widths come from the days before the first of these days.
    """

    def __init__(
        self, demand: DailyDemand, events: Sequence[CalendarEvent], first_origin: int
    ) -> None:
        """Fit the weights on the first `first_origin` days."""
        self._demand, self._events = demand, events
        self._options = DemandForecastOptions(model_days=_NEVER, threads=1)
        ordinary = self._effects(first_origin).history_without_events()
        self._backtest = run_backtest(ordinary, self._options, _ignore)

    def forecast(self, origin: int) -> DemandForecast:
        """Return the forecast of the HORIZON days after the first `origin` days."""
        effects = self._effects(origin)
        everything = np.ones((self._demand.items, HORIZON), np.bool_)
        forecast = forecast_demand(
            effects.history_without_events(),
            everything,
            self._options,
            _ignore,
            self._backtest,
        )
        return with_calendar_effects(forecast, effects, self._demand.first_day + origin)

    def _effects(self, origin: int) -> CalendarEffects:
        return CalendarEffects(self._demand.until(origin), self._events)


def _ignore(_share: float) -> None:
    pass
