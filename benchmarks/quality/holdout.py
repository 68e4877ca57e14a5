"""How often does a test of two equal arms raise an alarm, when somebody looks every day?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from benchmarks.report import Figure
from productrecs.features.experiments.experiment_statistics import (
    MIN_CONVERSIONS,
    always_valid_interval_radius,
)

if TYPE_CHECKING:
    from benchmarks.report import Report

Floats = npt.NDArray[np.float64]

RUNS: Final = 2_000
MOST_ALARMS: Final = 0.05
Z: Final = 1.96


@dataclass(frozen=True, slots=True)
class Shop:
    """Who comes to a shop, and what they buy."""

    visitors_a_day: int = 400
    held_out: float = 0.1
    days: int = 56
    conversion: float = 0.03
    lift: float = 0.0  # of conversion, where recommendations are shown


@dataclass(frozen=True, slots=True)
class Looks:
    """What one arm shows at the end of each day: visitors, buyers, and sums of revenue."""

    visitors: Floats
    buyers: Floats
    revenue: Floats
    squares: Floats


@dataclass(frozen=True, slots=True)
class Alarms:
    """In which share of the runs a difference was told, at any look."""

    conversion: float
    revenue: float
    conversion_by_z: float  # by an interval that is made for a single look


def alarms(shop: Shop, runs: int, seed: int = 7) -> Alarms:
    """Return how often a difference is told in so many tests of `shop`."""
    rng = np.random.default_rng(seed)
    told = np.array([_told(shop, rng) for _ in range(runs)], np.float64)
    return Alarms(*map(float, told.mean(axis=0)))


def _told(shop: Shop, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    shown = _arm(shop, rng, 1 - shop.held_out, shop.conversion * (1 + shop.lift))
    held_out = _arm(shop, rng, shop.held_out, shop.conversion)
    may_tell = np.minimum(shown.buyers, held_out.buyers) >= MIN_CONVERSIONS
    conversion = _differs(shown, held_out, "buyers", "buyers", may_tell)
    revenue = _differs(shown, held_out, "revenue", "squares", may_tell)
    return conversion[0], revenue[0], conversion[1]


def _arm(shop: Shop, rng: np.random.Generator, share: float, conversion: float) -> Looks:
    arriving = rng.poisson(shop.visitors_a_day * share, shop.days)
    buying = rng.binomial(arriving, conversion)
    day = np.repeat(np.arange(shop.days), buying)
    # Some think it over for days; an order is log-normal, and capped as the service does.
    day = day + np.floor(rng.exponential(1.0, len(day))).astype(np.int64)
    value = np.minimum(rng.lognormal(3.8, 1.0, len(day)), np.exp(3.8 + 2.326))
    counted = day < shop.days
    day, value = day[counted], value[counted]
    by_day = [
        np.bincount(day, weights, shop.days).cumsum()
        for weights in (np.ones(len(day)), value, value**2)
    ]
    return Looks(arriving.cumsum().astype(np.float64), *by_day)


def _differs(
    one: Looks, other: Looks, sums: str, squares: str, may_tell: npt.NDArray[np.bool_]
) -> tuple[bool, bool]:
    """Return whether any look tells a difference: always-valid, and by z without a gate."""
    means, variances = [], []
    for looks in (one, other):
        visitors = np.maximum(looks.visitors, 1)
        mean = getattr(looks, sums) / visitors
        means.append(mean)
        variances.append((getattr(looks, squares) / visitors - mean**2) / visitors)
    gap, variance = np.abs(means[0] - means[1]), variances[0] + variances[1]
    count = one.visitors + other.visitors
    valid = np.array(
        [
            always_valid_interval_radius(float(v), int(n))
            for v, n in zip(variance, count, strict=True)
        ]
    )
    naive = gap > Z * np.sqrt(variance)
    return bool((may_tell & (gap > valid)).any()), bool(naive[6:].any())


def measure(report: Report) -> None:
    """Report false alarms of equal arms, and how often a true lift is found."""
    for held_out in (0.1, 0.2, 0.5):
        for visitors in (400, 4_000):
            shop = Shop(visitors_a_day=visitors, held_out=held_out)
            found = alarms(shop, RUNS if visitors < 1_000 else RUNS // 2)
            worst = max(found.conversion, found.revenue)
            report.add(
                Figure(
                    f"false alarms, {visitors} visitors a day, {held_out:.0%} held out",
                    worst,
                    "share",
                    floor=found.conversion_by_z,
                    ratio=worst / found.conversion_by_z,
                    target=f"<= {MOST_ALARMS}",
                    ok=worst <= MOST_ALARMS,
                    note=f"56 daily looks; conversion {found.conversion:.3f}, revenue "
                    f"{found.revenue:.3f}; floor: a 95 % z interval at every look",
                )
            )
    for lift in (0.1, 0.25):
        found = alarms(Shop(held_out=0.5, visitors_a_day=2_000, days=28, lift=lift), 300)
        report.add(
            Figure(
                f"true lift of {lift:.0%} found in 28 days, half held out",
                found.conversion,
                "share",
                note="2,000 visitors a day, 3 % of them buy; by conversion",
            )
        )
