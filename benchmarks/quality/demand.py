"""Demand: are the next 28 days of Online Retail forecast better than by the simple ways?

Held out are the last 28 days; every day counts, closed ones too. Two protocols:

- **sales**: units a day as they were sold, cancellations left out. Judged are the 300
  products with most days with a sale in the last 91 days. The floors published for this
  shop are of this protocol: .920 for the 28-day mean, 1.209 for last week once more.
- **netted**: cancellations are taken off the sales before them, as the service does. Judged
  are the 300 products with most days with a sale in all the time before.

Constants were chosen on origins 28, 56, 84 and 112 days before the held-out days
(`python -m benchmarks.quality demand-earlier`).
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import (
    ROOT,
    online_retail_demand,
    online_retail_sales,
)
from benchmarks.quality.plots import plot
from benchmarks.report import Figure
from productrecs.engines.demand.backtest import run_backtest
from productrecs.engines.demand.demand_forecast_options import (
    DemandForecastOptions,
)
from productrecs.engines.demand.demand_series import (
    HORIZON,
    QUANTILES,
    WEEK,
    DailyDemand,
    closed_days,
    net_returns,
)
from productrecs.engines.demand.forecast import DemandForecast, forecast_demand
from productrecs.engines.demand.forecast_features import store_totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats
    from productrecs.engines.demand.demand_series import Amounts

BEST_COVERED: Final = 300
EARLIER: Final = (28, 56, 84, 112)
_COVERED_DAYS: Final = 91
_PLOTTED: Final = 24
_WEEKS: Final = HORIZON // WEEK
_RMSSE, _PINBALL, _WAPE = 0.95, 0.92, 0.8
_COVERAGE: Final = (0.76, 0.86)
_BIAS: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Simple:
    """The simple ways: each product's mean forecasts by name, and its bands."""

    means: dict[str, Amounts]
    bands: Amounts  # [3, items, HORIZON] of the same weekday in 8 weeks


@dataclass(frozen=True, slots=True)
class Protocol:
    """Which sales are forecast, and whose forecasts are judged."""

    name: str
    read: Callable[[], tuple[Amounts, int]]  # [products, days], the first day's ordinal
    covered_days: int | None  # in which days with a sale are counted; None: in all


def _netted() -> tuple[Amounts, int]:
    amounts, first = online_retail_demand()
    return net_returns(amounts), first


PROTOCOLS: Final = (
    Protocol("sales", online_retail_sales, _COVERED_DAYS),
    Protocol("netted", _netted, None),
)


def history(amounts: Amounts, first_day: int) -> DailyDemand:
    """Return amounts as the service would see them, with nothing known of the catalog."""
    sold = amounts > 0
    began = np.where(sold.any(axis=1), np.argmax(sold, axis=1), amounts.shape[1])
    on_sale = np.arange(amounts.shape[1])[None, :] >= began[:, None]
    closed = closed_days(amounts.sum(axis=0, dtype=np.float64))
    nothing = np.full(len(amounts), -1, np.int32)
    return DailyDemand(amounts, on_sale & ~closed, nothing, first_day)


def simple_ways(known: Amounts) -> Simple:
    """Return last week once more, the same weekday's mean, the 28-day mean, and bands."""
    weeks = known[:, -8 * WEEK :].reshape(len(known), 8, WEEK)
    flat = known[:, -HORIZON:].mean(axis=1, keepdims=True)
    return Simple(
        {
            "seasonal naive 7": np.tile(known[:, -WEEK:], (1, _WEEKS)),
            "same weekday, 8 weeks": np.tile(weeks.mean(axis=1), (1, _WEEKS)),
            "28-day mean": np.repeat(flat, HORIZON, axis=1),
        },
        np.tile(np.quantile(weeks, QUANTILES, axis=1), (1, 1, _WEEKS)).astype(np.float32),
    )


def rmsse(known: Amounts, came: Amounts, forecast: Amounts) -> float:
    """Return the mean over products of their RMSSE."""
    scale = (np.diff(known, axis=1) ** 2).mean(axis=1)
    return float(np.sqrt(((came - forecast) ** 2).mean(axis=1) / scale).mean())


def pinballs(known: Amounts, came: Amounts, bands: Amounts) -> Floats:
    """Return the mean over products of the pinball loss, in mean errors of naive 7: [3]."""
    scale = np.abs(known[:, WEEK:] - known[:, :-WEEK]).mean(axis=1)
    losses = []
    for share, band in zip(QUANTILES, bands, strict=True):
        missed = came - band
        loss = np.maximum(share * missed, (share - 1) * missed).mean(axis=1)
        losses.append((loss / scale).mean())
    return np.array(losses)


def measure(report: Report) -> None:
    """Add the figures of the held-out days, and draw them."""
    for protocol in PROTOCOLS:
        _measure_from(report, protocol, 0, folder() / protocol.name)


def measure_earlier(report: Report) -> None:
    """Add the figures of the origins on which constants were chosen."""
    for protocol in PROTOCOLS:
        for back in EARLIER:
            _measure_from(report, protocol, back, None)


def folder() -> Path:
    """Return where pictures go: a folder that git ignores."""
    return Path(os.environ.get("PRODUCTRECS_PLOTS", ROOT / "build" / "demand"))


def _measure_from(
    report: Report, protocol: Protocol, back: int, pictures: Path | None
) -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the service sets it
    amounts, first = protocol.read()
    origin = amounts.shape[1] - HORIZON - back
    known, came = amounts[:, :origin], amounts[:, origin : origin + HORIZON]
    demand = history(known, first)
    began = time.monotonic()
    threads = int(os.environ.get("OMP_NUM_THREADS", min(os.cpu_count() or 1, 2)))
    options = DemandForecastOptions(threads=threads)
    verdict = run_backtest(demand, options, lambda _share: None)
    everything = np.ones((demand.items, HORIZON), np.bool_)
    found = forecast_demand(demand, everything, options, lambda _share: None, verdict)
    took = time.monotonic() - began
    day = date.fromordinal(first + origin).isoformat()
    counted = known[:, -(protocol.covered_days or origin) :]
    best = np.argsort(-(counted > 0).sum(axis=1), kind="stable")[:BEST_COVERED]
    title = f"demand, {protocol.name}, from {day}"
    _add_items(report, title, found, best, known[best], came[best])
    _add_total(report, title, found, demand, came)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    note = f"{demand.items} items, {origin} days; backtest included; {peak} MB"
    report.add(Figure(f"{title}, run", took, "s", note=note))
    if pictures is not None:
        _draw(pictures, found, best, demand, came)


def _add_items(
    report: Report,
    title: str,
    found: DemandForecast,
    best: np.ndarray,
    known: Amounts,
    came: Amounts,
) -> None:
    mean, bands = found.paths.mean[best], found.paths.quantiles[:, best]
    simple = simple_ways(known)
    errors = {name: rmsse(known, came, one) for name, one in simple.means.items()}
    name, floor = min(errors.items(), key=lambda one: one[1])
    value = rmsse(known, came, mean)
    all_floors = ", ".join(f"{one} {error:.3f}" for one, error in errors.items())
    report.add(
        Figure(
            f"{title}, RMSSE of mean, {len(best)} products",
            value,
            "",
            floor,
            value / floor,
            f"<= {_RMSSE} x floor",
            value <= _RMSSE * floor,
            f"floor: {name}; {all_floors}",
        )
    )
    ours, theirs = (pinballs(known, came, one) for one in (bands, simple.bands))
    ratios = ours / theirs
    report.add(
        Figure(
            f"{title}, scaled pinball .1/.5/.9",
            float(ours.mean()),
            "",
            float(theirs.mean()),
            float(ratios.mean()),
            f"<= {_PINBALL} x floor on average",
            bool(ratios.mean() <= _PINBALL),
            f"ours {ours.round(3).tolist()}, weekday quantiles "
            f"{theirs.round(3).tolist()}, ratios {ratios.round(3).tolist()}",
        )
    )
    inside = (came >= bands[0]) & (came <= bands[2])
    usual = (came >= simple.bands[0]) & (came <= simple.bands[2])
    is_open = came.sum(axis=0) > 0
    coverage = float(inside.mean())
    report.add(
        Figure(
            f"{title}, coverage of p10 to p90",
            coverage,
            "share",
            float(usual.mean()),
            target=f"{_COVERAGE[0]} to {_COVERAGE[1]}",
            ok=_COVERAGE[0] <= coverage <= _COVERAGE[1],
            note=f"open days alone {inside[:, is_open].mean():.3f}, of which below p10 "
            f"{(came < bands[0])[:, is_open].mean():.3f}, above p90 "
            f"{(came > bands[2])[:, is_open].mean():.3f}; "
            f"days without a sale {(came == 0)[:, is_open].mean():.3f}",
        )
    )
    bias = float(mean.sum() / came.sum()) - 1
    flat = float(simple.means["28-day mean"].sum() / came.sum()) - 1
    report.add(
        Figure(
            f"{title}, bias of mean",
            bias,
            "share",
            flat,
            target=f"within {_BIAS}",
            ok=abs(bias) <= _BIAS,
            note="floor: 28-day mean",
        )
    )


def _add_total(
    report: Report, title: str, found: DemandForecast, demand: DailyDemand, came: Amounts
) -> None:
    totals = store_totals(demand)
    actual = came.sum(axis=0, dtype=np.float64)
    naive = np.tile(totals[-WEEK:], _WEEKS)
    value, floor = (
        float(np.abs(actual - one).sum() / actual.sum())
        for one in (found.total.mean, naive)
    )
    low, _, high = found.total.quantiles
    note = (
        f"floor: seasonal naive 7; bias {found.total.mean.sum() / actual.sum() - 1:+.3f}, "
        f"coverage {((actual >= low) & (actual <= high)).mean():.2f}; 28 days: "
        f"{actual.sum():,.0f} came, band {found.total.next_28_days.round().tolist()}"
    )
    report.add(
        Figure(
            f"{title}, WAPE of the store's total",
            value,
            "share",
            floor,
            value / floor,
            f"<= {_WAPE} x floor",
            value <= _WAPE * floor,
            note,
        )
    )


def _draw(
    pictures: Path,
    found: DemandForecast,
    best: np.ndarray,
    demand: DailyDemand,
    came: Amounts,
) -> None:
    """Draw the store, and products from the best covered to the rarely sold."""
    shown = 8 * WEEK
    plot(
        pictures / "store.png",
        store_totals(demand)[-shown:],
        came.sum(axis=0, dtype=np.float64),
        found.total.mean,
        found.total.quantiles,
    )
    rare = np.argsort(-(demand.amounts > 0).sum(axis=1), kind="stable")[BEST_COVERED::150]
    chosen = np.concatenate((best[:: max(1, len(best) // (_PLOTTED - 8))], rare[:8]))
    for place, item in enumerate(chosen.tolist()):
        plot(
            pictures / f"item-{place:02}.png",
            demand.amounts[item, -shown:].astype(np.float64),
            came[item].astype(np.float64),
            found.paths.mean[item].astype(np.float64),
            found.paths.quantiles[:, item].astype(np.float64),
        )
