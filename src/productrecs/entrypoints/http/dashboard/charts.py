"""Charts: bars that the server draws as SVG, each with the table of its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from productrecs.entrypoints.http.dashboard.formats import Formats

HEIGHT: Final = 120
_STEP: Final = 20
_WIDTH: Final = 14
_LEAST: Final = 1.5  # a day with a little is seen


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its place in the drawing, and its value in words."""

    label: str
    text: str
    x: float
    y: float
    width: float
    height: float


def bars(values: Mapping[str, float], formats: Formats) -> list[Bar]:
    """Return a bar for each day's amount of money, in the order of the days."""
    highest = max(values.values(), default=0)
    found = []
    for number, (day, value) in enumerate(sorted(values.items())):
        share = max(value, 0) / highest if highest > 0 else 0
        height = max(share * HEIGHT, _LEAST) if value > 0 else 0
        found.append(
            Bar(
                label=formats.day(day),
                text=formats.money(value),
                x=number * _STEP,
                y=HEIGHT - height,
                width=_WIDTH,
                height=height,
            )
        )
    return found
