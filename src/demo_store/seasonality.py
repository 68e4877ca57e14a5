"""Seasonality: shopping activity by season, day of the week and hour."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType

from demo_store.random_choice import WeightedChoice

YEAR_DAYS = 365.25

# Season -> (day of the year of its peak, width in days, height above an ordinary day).
PEAKS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "even": (0.0, 1.0, 0.0),
        "spring": (112.0, 32.0, 7.0),
        "summer": (182.0, 36.0, 7.0),
        "school": (240.0, 17.0, 9.0),
        "autumn": (283.0, 40.0, 2.0),
        "winter": (352.0, 42.0, 3.0),
        "gifts": (342.0, 15.0, 6.0),
    }
)
# Monday to Sunday.
WEEKDAYS = (0.80, 0.78, 0.82, 0.90, 1.02, 1.38, 1.45)
# 0:00 to 23:00, with peaks at noon and in the evening.
HOURS = (
    2, 1, 1, 1, 1, 2, 4, 7, 10, 12, 13, 14,
    17, 15, 13, 13, 14, 16, 19, 24, 27, 24, 15, 6,
)  # fmt: skip
# Growth of the shop: the last day of the year relative to the first.
GROWTH = 1.35
# The share of the gift season that affects the whole shop.
CHRISTMAS = 0.35


def season_factor(season: str, day: date) -> float:
    """Return the sales factor of a season's products on a day, >= 1."""
    peak, width, height = PEAKS[season]
    distance_days = abs(day.timetuple().tm_yday - peak)
    distance_days = min(distance_days, YEAR_DAYS - distance_days)
    return 1.0 + height * math.exp(-0.5 * (distance_days / width) ** 2)


def traffic_factor(day: date) -> float:
    """Return the activity factor of the whole shop on a day."""
    return WEEKDAYS[day.weekday()] * math.pow(season_factor("gifts", day), CHRISTMAS)


def shopping_day_choice(season: str, days: Sequence[date]) -> WeightedChoice[int]:
    """Return the weighted choice of a season's shopping day, as indices of `days`."""
    growth = [1.0 + (GROWTH - 1.0) * index / len(days) for index in range(len(days))]
    return WeightedChoice(
        (index, season_factor(season, day) * traffic_factor(day) * growth[index])
        for index, day in enumerate(days)
    )


def shopping_hour_choice() -> WeightedChoice[int]:
    """Return the weighted choice of the hour of a day."""
    return WeightedChoice(enumerate(float(weight) for weight in HOURS))
