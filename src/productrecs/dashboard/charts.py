"""Charts: bars, lines and bands by day, drawn by the server as SVG, with axes and a table.

A chart has one place for each of its days, so it always spans the whole period. The script
`widgets/src/dashboard/chart.ts` reads the values of a day from the chart's table, and shows
them on hover and for the arrow keys.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from productrecs.dashboard.formats import NOTHING, Formats

HEIGHT: Final = 100
DAY_WIDTH: Final = 10  # the width of one day
_GAP: Final = 1.5  # left and right of a bar
_DOT: Final = 2  # half of the width of a line's only point
_LEAST: Final = 1.0  # the least height of a bar above zero
_MOST_TICKS: Final = 4
_MOST_LABELS: Final = 5
_DECIMALS_BELOW: Final = 10

Values = Sequence[float | None]
ValueFormatter = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """One drawn series: its name, its CSS class, and its SVG path."""

    name: str
    tone: str  # one, two, sold, middle or band
    path: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: layers over places of equal width, the texts of both axes, and a table."""

    width: int
    layers: tuple[ChartSeries, ...]
    grid: str  # the SVG path of the horizontal lines
    amounts: tuple[str, ...]  # the vertical axis from top to bottom
    labels: tuple[str, ...]  # the horizontal axis from left to right
    columns: tuple[str, ...]  # of the table
    rows: tuple[tuple[str, ...], ...]  # one for each place
    label: str = "Day"  # the first column of the table


def stacked_money_bar_chart(
    days: Sequence[str], values: Mapping[str, Values], formats: Formats
) -> Chart:
    """Return stacked bars of amounts of money: the values of each name, one a day."""
    lows = [0.0] * len(days)
    stacks = []
    for amounts in values.values():
        highs = [
            low + max(value or 0.0, 0) for low, value in zip(lows, amounts, strict=True)
        ]
        stacks.append((lows, highs))
        lows = highs
    top, step = _axis_top_and_step(max(lows, default=0))
    layers = [
        ChartSeries(name, tone, _bars_path(below, above, top))
        for name, tone, (below, above) in zip(values, ("one", "two"), stacks, strict=False)
    ]
    axis_formats = formats
    if step >= 1:
        axis_formats = replace(formats, prices=replace(formats.prices, places=0))
    return _build_chart(
        days, values, layers, (top, step, axis_formats.money), formats.money, formats
    )


def share_line_chart(
    days: Sequence[str], values: Mapping[str, Values], formats: Formats
) -> Chart:
    """Return lines of shares from 0 to 100 %: the values of each name, one a day.

    A line goes on over days without a value.
    """
    tones = ("middle", "sold", "third")
    layers = [
        ChartSeries(name, tone, _line_path(shares, 1.0))
        for (name, shares), tone in zip(values.items(), tones, strict=False)
    ]
    axis = (1.0, 0.25, lambda value: formats.share(value, 0))
    return _build_chart(days, values, layers, axis, formats.share, formats)


@dataclass(frozen=True, slots=True)
class ExpectedSalesDay:
    """The expected sales of one day, and the range in which they are in 8 of 10 cases."""

    day: str
    low: float
    expected: float
    high: float


def forecast_chart(
    sold: Sequence[tuple[str, float]], ahead: Sequence[ExpectedSalesDay], formats: Formats
) -> Chart:
    """Return what was sold each day, followed by what is expected, with its range."""
    days = [*(day for day, _ in sold), *(day.day for day in ahead)]
    blank_past: list[None] = [None] * len(sold)
    amounts: list[float | None] = [*(amount for _, amount in sold), *[None] * len(ahead)]
    expected = [*blank_past, *(day.expected for day in ahead)]
    low = [*blank_past, *(day.low for day in ahead)]
    high = [*blank_past, *(max(day.high, day.expected) for day in ahead)]
    highest = max((amount for amount in (*amounts, *high) if amount is not None), default=0)
    top, step = _axis_top_and_step(highest)
    upper, lower = _svg_points(high, top), _svg_points(low, top)
    band = f"M{' '.join([*upper, *reversed(lower)])}z" if ahead else ""
    layers = [
        ChartSeries("Likely between", "band", band),
        ChartSeries("Sold", "sold", _line_path(amounts, top)),
        ChartSeries("Expected", "middle", _line_path(expected, top)),
    ]
    values = {"Sold": amounts, "Expected": expected, "Likely at least": low}
    values["Likely at most"] = high

    def format_amount(value: float) -> str:
        is_whole = value == int(value)
        return formats.number(value, 0 if is_whole or value >= _DECIMALS_BELOW else 1)

    decimals = 0 if step >= 1 else 1
    axis = (top, step, lambda value: formats.number(value, decimals))
    return _build_chart(days, values, layers, axis, format_amount, formats)


def _build_chart(
    days: Sequence[str],
    values: Mapping[str, Values],
    layers: Sequence[ChartSeries],
    axis: tuple[float, float, ValueFormatter],
    format_value: ValueFormatter,
    formats: Formats,
) -> Chart:
    top, step, as_tick = axis
    count, width = round(top / step), max(len(days), 1) * DAY_WIDTH
    grid_ys = [HEIGHT * number / count for number in range(count + 1)]
    texts = [
        [NOTHING if value is None else format_value(value) for value in row]
        for row in values.values()
    ]
    return Chart(
        width=width,
        layers=tuple(layer for layer in layers if layer.path),
        grid="".join(f"M0 {height:g}H{width}" for height in grid_ys),
        amounts=tuple(as_tick(top - number * step) for number in range(count + 1)),
        labels=_axis_labels(days),
        columns=tuple(values),
        rows=tuple(
            (formats.day(day), *cells)
            for day, cells in zip(days, zip(*texts, strict=True), strict=True)
        ),
    )


def _axis_top_and_step(highest: float) -> tuple[float, float]:
    """Return the top of the vertical axis and its step: 1, 2 or 5 times a power of ten."""
    if highest <= 0:
        return 1.0, 1.0
    rough = highest / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return math.ceil(highest / step) * step, step


def _axis_labels(days: Sequence[str]) -> tuple[str, ...]:
    """Return at most five labels at equal distances, the first and last day among them."""
    most = min(_MOST_LABELS, len(days))
    places = [round(number * (len(days) - 1) / max(most - 1, 1)) for number in range(most)]
    found = [date.fromisoformat(days[place]) for place in places]
    return tuple(f"{day.day} {day:%b}" for day in found)


def _bars_path(lows: Sequence[float], highs: Sequence[float], axis_top: float) -> str:
    wide = DAY_WIDTH - 2 * _GAP
    path = []
    for place, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if high > low:
            height = max((high - low) / axis_top * HEIGHT, _LEAST)
            bottom = HEIGHT * (1 - low / axis_top)
            path.append(
                f"M{place * DAY_WIDTH + _GAP:g} {bottom:.1f}v-{height:.1f}h{wide:g}"
            )
            path.append(f"v{height:.1f}z")
    return "".join(path)


def _svg_points(values: Values, axis_top: float) -> list[str]:
    return [
        f"{(place + 0.5) * DAY_WIDTH:g} {HEIGHT * (1 - max(value, 0.0) / axis_top):.1f}"
        for place, value in enumerate(values)
        if value is not None
    ]


def _line_path(values: Values, axis_top: float) -> str:
    points = _svg_points(values, axis_top)
    wide = f"m-{_DOT} 0h{2 * _DOT}" if len(points) == 1 else ""  # a lone point is seen
    return f"M{' '.join(points)}{wide}" if points else ""


def days_between(first: str, last: str) -> list[str]:
    """Return every day from the first to the last, as ISO dates."""
    begin, end = date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal()
    return [date.fromordinal(day).isoformat() for day in range(begin, end + 1)]
