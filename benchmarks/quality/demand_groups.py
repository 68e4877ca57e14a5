"""Demand of stores with few, busy series: groups of products, menus, several stores.

The stores are Online Retail in groups of products, countries or customers, and made-up
ones (`made_demand`). Each is forecast from several origins, 28 days each. Constants are
chosen on the sets `demand-groups-earlier`: other seeds, and earlier origins.

RMSSE, pinball and the total's WAPE are ratios to the best of four simple methods on the
same store: last week repeated, the 28-day mean, weekday means of 8 weeks, and the same days
of last year. Pinball is in mean errors of last week repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.quality import made_demand
from benchmarks.quality.datasets import EPOCH_ORDINAL, NO_PRODUCTS, present
from benchmarks.quality.demand import history, pinballs, rmsse
from benchmarks.report import Figure
from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    WEEK,
)
from productrecs.engines.demand.forecast import forecast_demand

if TYPE_CHECKING:
    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.engines.demand.demand_series import Amounts

_WEEKS: Final = HORIZON // WEEK
_YEAR: Final = 52 * WEEK
_COVERAGE: Final = (0.76, 0.86)
_BIAS, _PINBALL, _WORST_PINBALL, _TOTAL = 0.10, 0.95, 1.01, 0.95
_LONG, _SHORT = 800, 190

Read = Callable[[], tuple["Amounts", int]]


@dataclass(frozen=True, slots=True)
class GroupSet:
    """A store: its daily sales by seed, and each origin's days before their end."""

    name: str
    reads: Sequence[Read]
    backs: tuple[int, ...]


def _made(make: Callable[[int, int], Amounts], seed: int, days: int) -> tuple[Amounts, int]:
    return make(seed, days), made_demand.FIRST_DAY


def group_sets(seeds: tuple[int, ...], shift: int) -> list[GroupSet]:
    """Return the stores: those made from `seeds`, and the shop's, `shift` days earlier."""
    retail = tuple(range(28 + shift, 28 + shift + 3 * 28, 28))
    sets = [
        GroupSet(f"retail {name}", [partial(retail_groups, name)], retail)
        for name in ("8 letters", "6 countries", "20 customers", "80 prices and letters")
    ]
    makers = (
        ("bakery", made_demand.bakery),
        ("pharmacy", made_demand.pharmacy),
        ("restaurant", made_demand.restaurant),
        ("ten stores", made_demand.ten_stores),
    )
    for name, make in makers:
        for title, days, backs in (
            (name, _LONG, tuple(range(28, 28 + 12 * 35, 35))),
            (f"{name}, short", _SHORT, (28, 42, 56, 70, 84)),
        ):
            reads = [partial(_made, make, seed, days) for seed in seeds]
            sets.append(GroupSet(title, reads, backs))
    return sets


def retail_groups(kind: str) -> tuple[Amounts, int]:
    """Return units sold by group and day, and the first day's ordinal: [groups, days].

    `kind` is "8 letters" (of the title), "6 countries", "20 customers" (twentieths of the
    known customers) or "80 prices and letters" (4 price classes of 20 letters).

    Raises:
        MissingDataError: when the data set is not there.
    """
    table = pq.read_table(
        present("online_retail/transactions.parquet"),
        columns=[
            *("invoice_no", "stock_code", "description", "quantity", "unit_price"),
            *("invoice_date", "customer_id", "country"),
        ],
    )
    codes = table["stock_code"].to_numpy().astype(str)
    prices, units = table["unit_price"].to_numpy(), table["quantity"].to_numpy()
    customers = pc.fill_null(table["customer_id"].cast("float64"), 0.0).to_numpy()
    countries = table["country"].to_numpy().astype(str)
    titles = pc.fill_null(table["description"], "").to_numpy().astype("U1")
    kept = ~np.isin(codes, NO_PRODUCTS) & (prices > 0) & (units > 0)
    letters = np.char.upper(titles).view(np.uint32).astype(np.int64) % 26
    if kind == "6 countries":
        names, counts = np.unique(countries[kept], return_counts=True)
        chosen = names[np.argsort(-counts)[:6]]
        kept &= np.isin(countries, chosen)
        groups = np.searchsorted(np.sort(chosen), countries)
    elif kind == "20 customers":
        kept &= customers > 0
        groups = customers.astype(np.int64) % 20
    elif kind == "80 prices and letters":
        limits = np.quantile(prices[kept], (0.25, 0.5, 0.75))
        groups = np.searchsorted(limits, prices) * 20 + letters % 20
    else:
        groups = letters % 8
    days = table["invoice_date"].to_numpy()[kept].astype("datetime64[D]").astype(np.int64)
    first = int(days.min())
    _, rows = np.unique(groups[kept], return_inverse=True)
    amounts = np.zeros((int(rows.max()) + 1, int(days.max()) - first + 1), np.float32)
    np.add.at(amounts, (rows, days - first), units[kept])
    return amounts, EPOCH_ORDINAL + first


@dataclass(slots=True)
class Scores:
    """What the origins of one store gave, by method; "ours" is the forecast."""

    rmsse: dict[str, list[float]] = field(default_factory=dict)
    pinball: dict[str, list[float]] = field(default_factory=dict)
    total_errors: dict[str, float] = field(default_factory=dict)
    inside: list[float] = field(default_factory=list)
    total_inside: list[float] = field(default_factory=list)
    forecast: list[float] = field(default_factory=list)
    actual: list[float] = field(default_factory=list)

    def ratio(self, figures: dict[str, list[float]]) -> tuple[float, str]:
        """Return ours over the best simple method, and that method's name."""
        means = {name: float(np.mean(values)) for name, values in figures.items()}
        ours = means.pop("ours")
        best = min(means, key=means.__getitem__)
        return ours / means[best], best

    @property
    def bias(self) -> float:
        """Bias of all origins' mean forecasts."""
        return sum(self.forecast) / sum(self.actual) - 1

    @property
    def biases(self) -> Floats:
        """Bias at each origin."""
        return np.array(self.forecast) / np.array(self.actual) - 1


def simple_bands(known: Amounts) -> dict[str, tuple[Amounts, Amounts]]:
    """Return each simple method's mean [n, HORIZON] and bands [3, n, HORIZON]."""
    weeks = known[:, -8 * WEEK :].reshape(len(known), 8, WEEK)
    flat = np.repeat(known[:, -HORIZON:].mean(axis=1, keepdims=True), HORIZON, axis=1)
    flat_bands = np.quantile(known[:, -2 * HORIZON :], QUANTILES, axis=1)[:, :, None]
    last_week = np.tile(known[:, -WEEK:], (1, _WEEKS))
    found = {
        "last week": (last_week, np.stack([last_week] * 3)),
        "28-day mean": (flat, np.repeat(flat_bands, HORIZON, axis=2)),
        "weekday mean": (
            np.tile(weeks.mean(axis=1), (1, _WEEKS)),
            np.tile(np.quantile(weeks, QUANTILES, axis=1), (1, 1, _WEEKS)),
        ),
    }
    if known.shape[1] >= _YEAR + HORIZON:
        start = known.shape[1] - _YEAR
        last_year = known[:, start : start + HORIZON]
        found["last year"] = (last_year, np.stack([last_year] * 3))
    return found


def score(group_set: GroupSet) -> Scores:
    """Return the scores of the store's origins."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the service sets it
    scores = Scores()
    for read in group_set.reads:
        amounts, first = read()
        for back in group_set.backs:
            origin = amounts.shape[1] - back
            came = amounts[:, origin : origin + HORIZON]
            _add_origin(scores, amounts[:, :origin], came, first)
    return scores


def _add_origin(scores: Scores, known: Amounts, came: Amounts, first: int) -> None:
    demand, options = history(known, first), DemandForecastOptions(threads=1)
    verdict = run_backtest(demand, options, lambda _share: None)
    everything = np.ones((demand.items, HORIZON), np.bool_)
    found = forecast_demand(demand, everything, options, lambda _share: None, verdict)
    sold = (np.diff(known, axis=1) != 0).any(axis=1)
    known, came = known[sold], came[sold]
    mean, bands = found.paths.mean[sold], found.paths.quantiles[:, sold]
    methods = {**simple_bands(known), "ours": (mean, bands)}
    total = came.sum(axis=0)
    for name, (means, quantiles) in methods.items():
        scores.rmsse.setdefault(name, []).append(rmsse(known, came, means))
        scores.pinball.setdefault(name, []).append(
            float(pinballs(known, came, quantiles).mean())
        )
        expected = found.total.mean if name == "ours" else means.sum(axis=0)
        error = float(np.abs(total - expected).sum())
        scores.total_errors[name] = scores.total_errors.get(name, 0.0) + error
    scores.inside.append(float(((came >= bands[0]) & (came <= bands[2])).mean()))
    low, _, high = found.total.quantiles
    scores.total_inside.append(float(((total >= low) & (total <= high)).mean()))
    scores.forecast.append(float(mean.sum()))
    scores.actual.append(float(came.sum()))


def measure(report: Report) -> None:
    """Add the figures of the stores and origins that are reported."""
    _measure(report, group_sets((11, 12), shift=0))


def measure_earlier(report: Report) -> None:
    """Add the figures of the stores and origins on which constants were chosen."""
    _measure(report, group_sets((1, 2), shift=84))


def _measure(report: Report, sets: list[GroupSet]) -> None:
    pinball_ratios, biases = [], []
    for group_set in sets:
        scores = score(group_set)
        title = f"groups, {group_set.name}"
        ratio, best = scores.ratio(scores.pinball)
        pinball_ratios.append(ratio)
        biases.append(scores.bias)
        report.add(
            _ratio(f"{title}, pinball", ratio, _WORST_PINBALL, f"best simple: {best}")
        )
        ratio, best = scores.ratio(scores.rmsse)
        report.add(Figure(f"{title}, RMSSE", ratio, "ratio", note=f"best simple: {best}"))
        coverage = float(np.mean(scores.inside))
        report.add(
            Figure(
                f"{title}, coverage of p10 to p90",
                coverage,
                "share",
                target=f"{_COVERAGE[0]} to {_COVERAGE[1]}",
                ok=_COVERAGE[0] <= coverage <= _COVERAGE[1],
                note=f"by origin {np.round(scores.inside, 2).tolist()}; the total's "
                f"{np.mean(scores.total_inside):.2f}",
            )
        )
        report.add(
            Figure(
                f"{title}, bias",
                scores.bias,
                "share",
                target=f"within {_BIAS}",
                ok=abs(scores.bias) <= _BIAS,
                note=f"by origin {scores.biases.round(2).tolist()}",
            )
        )
        ratio, best = scores.ratio({k: [v] for k, v in scores.total_errors.items()})
        report.add(
            _ratio(f"{title}, the total's WAPE", ratio, _TOTAL, f"best simple: {best}")
        )
    mean = float(np.mean(pinball_ratios))
    report.add(_ratio("groups, mean pinball of all stores", mean, _PINBALL, ""))


def _ratio(title: str, ratio: float, target: float, note: str) -> Figure:
    return Figure(title, ratio, "ratio", None, None, f"<= {target}", ratio <= target, note)
