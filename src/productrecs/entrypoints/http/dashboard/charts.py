"""Charts: bars that the server draws as SVG, each with the table of its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from productrecs.entrypoints.http.dashboard.formats import Formats

HEIGHT: Final = 120
SERIES_WIDTH: Final = 600
_STEP: Final = 20
_WIDTH: Final = 14
_LEAST: Final = 1.5  # the least height of a bar above zero


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its position in the drawing, and its value as text."""

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


@dataclass(frozen=True, slots=True)
class SplitBar:
    """One stacked bar: the lower part, the upper part, and both as text."""

    label: str
    texts: tuple[str, str]
    x: float
    lower: tuple[float, float]  # y and height
    upper: tuple[float, float]
    width: float = _WIDTH


def split_bars(
    values: Mapping[str, tuple[float, float]], formats: Formats
) -> list[SplitBar]:
    """Return a stacked bar of two amounts of money for each day or label."""
    highest = max((max(a, 0) + max(b, 0) for a, b in values.values()), default=0) or 1.0
    found = []
    for number, (day, (below, above)) in enumerate(values.items()):
        low = max(below, 0) / highest * HEIGHT
        high = max(above, 0) / highest * HEIGHT
        found.append(
            SplitBar(
                label=formats.day(day),
                texts=(formats.money(below), formats.money(above)),
                x=number * _STEP,
                lower=(HEIGHT - low, low),
                upper=(HEIGHT - low - high, high),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Series:
    """Past days with their sales, then forecast days with the median and the p10-p90 band.

    `points` are in uPlot's order: seconds, sold, low, high, median. The other fields are
    the same data as SVG, for browsers without JavaScript.
    """

    points: tuple[tuple[float | None, ...], ...]
    sold: str
    median: str
    band: str
    first: str
    last: str
    highest: float


def series(
    history: Sequence[tuple[str, float]], ahead: Sequence[tuple[str, float, float, float]]
) -> Series:
    """Return a chart of (day, sold), followed by (day, low, median, high)."""
    days = [*(day for day, _ in history), *(one[0] for one in ahead)]
    highest = max([1e-9, *(one for _, one in history), *(one[3] for one in ahead)])
    place = {day: number for number, day in enumerate(days)}
    step = SERIES_WIDTH / max(len(days) - 1, 1)

    def at(day: str, value: float) -> str:
        height = HEIGHT * (1 - max(value, 0.0) / highest)
        return f"{place[day] * step:.1f},{height:.1f}"

    rows: list[tuple[float | None, ...]] = [
        (_seconds(day), value, None, None, None) for day, value in history
    ]
    rows += [(_seconds(day), None, low, high, middle) for day, low, middle, high in ahead]
    return Series(
        points=tuple(zip(*rows, strict=True)),
        sold=" ".join(at(day, value) for day, value in history),
        median=" ".join(at(one[0], one[2]) for one in ahead),
        band=" ".join(
            [
                *(at(one[0], one[3]) for one in ahead),
                *(at(one[0], one[1]) for one in reversed(ahead)),
            ]
        ),
        first=days[0] if days else "",
        last=days[-1] if days else "",
        highest=highest,
    )


def _seconds(day: str) -> float:
    return datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
