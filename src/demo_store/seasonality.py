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
# Midnight to eleven at night: a bump at lunch, a hill after supper.
HOURS = (
    2,
    1,
    1,
    1,
    1,
    2,
    4,
    7,
    10,
    12,
    13,
    14,
    17,
    15,
    13,
    13,
    14,
    16,
    19,
    24,
    27,
    24,
    15,
    6,
)
# A shop that grows: the last day of the year against its first.
GROWTH = 1.35
# How much of the haste for gifts the whole shop feels.
CHRISTMAS = 0.35


def season_factor(season: str, day: date) -> float:
    """Return how much more a season's things sell on a day than far from its peak, >= 1."""
    peak, width, height = PEAKS[season]
    away = abs(day.timetuple().tm_yday - peak)
    away = min(away, YEAR_DAYS - away)
    return 1.0 + height * math.exp(-0.5 * (away / width) ** 2)


def bustle(day: date) -> float:
    """Return how busy the whole shop is on a day: by weekday, and before Christmas."""
    return WEEKDAYS[day.weekday()] * math.pow(season_factor("gifts", day), CHRISTMAS)


def days_to_shop(season: str, days: Sequence[date]) -> WeightedChoice[int]:
    """Return the urn of the days, as indices of `days`, for a season's shopping."""
    growth = [1.0 + (GROWTH - 1.0) * at / len(days) for at in range(len(days))]
    return WeightedChoice(
        (at, season_factor(season, day) * bustle(day) * growth[at])
        for at, day in enumerate(days)
    )


def hours_to_shop() -> WeightedChoice[int]:
    """Return the urn of the hours of a day."""
    return WeightedChoice(enumerate(float(weight) for weight in HOURS))
