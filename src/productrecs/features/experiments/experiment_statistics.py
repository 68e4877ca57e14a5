"""Experiment statistics: always-valid intervals, CUPED, sample ratio, visitors needed.

The interval holds at all looks together, so a merchant may check every day and stop at any
time. Everything here works on arrays.

Source: Howard et al. 2021 and Waudby-Smith et al. 2021 (asymptotic confidence sequences by
a Gaussian mixture); Deng et al. 2013 (CUPED).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from productrecs.engines.array_types_and_sorting import Bools, Floats
from productrecs.engines.probability_distributions import gamma_p

ALPHA: Final = 0.05
MIN_CONVERSIONS: Final = 50
"""Conversions needed per arm: with fewer, the normal approximation alarms too often."""

SRM_P: Final = 0.001
POWER_SIGMAS: Final = 0.8416  # 80 % quantile of the normal distribution
_OPTIMAL_VISITORS: Final = 10_000
"""The number of visitors at which the interval is tightest. It is fixed in advance: an
interval tuned to the actual number of visitors would not hold at every look."""

_MAX_VISITORS: Final = 10**12


class LiftVerdict(StrEnum):
    """The current conclusion about the difference between an arm and the control."""

    COLLECTING = "collecting data"
    MORE = "more"
    LESS = "less"
    OPEN = "no significant difference yet"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The difference between an arm and the control in the mean per visitor."""

    mean: float
    control_mean: float
    value: float
    radius: float  # the interval is value - radius to value + radius
    variance: float  # of `value`

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.radius

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.radius

    def relative(self, amount: float) -> float | None:
        """Return an amount relative to the control's mean; None if that is 0."""
        return amount / self.control_mean if self.control_mean > 0 else None


def cuped_mean_difference(
    is_in_variant: Bools, values: Floats, covariates: Floats, alpha: float = ALPHA
) -> MeanDifference:
    """Return the difference of means with its interval (at least two visitors per arm).

    Visitors with `is_in_variant` are of the arm, the others of the control. `covariates`
    are what each visitor did before their assignment.
    """
    adjusted = cuped_values(values, covariates)
    variant_values, control_values = adjusted[is_in_variant], adjusted[~is_in_variant]
    variance = float(
        variant_values.var(ddof=1) / len(variant_values)
        + control_values.var(ddof=1) / len(control_values)
    )
    return MeanDifference(
        float(variant_values.mean()),
        float(control_values.mean()),
        float(variant_values.mean() - control_values.mean()),
        always_valid_interval_radius(variance, len(values), alpha),
        variance,
    )


def cuped_values(values: Floats, covariates: Floats) -> Floats:
    """Return values minus each visitor's expected value (CUPED).

    The mean does not change. A constant covariate has no effect.
    """
    centred = covariates - covariates.mean(axis=0)
    varying = centred[:, centred.std(axis=0) > 0]
    if not varying.shape[1]:
        return values
    theta, *_ = np.linalg.lstsq(varying, values - values.mean(), rcond=None)
    adjusted: Floats = values - varying @ theta
    return adjusted


def always_valid_interval_radius(
    variance: float, visitors: int, alpha: float = ALPHA
) -> float:
    """Return half the width of the interval of an estimate with this variance.

    It holds at every number of visitors together with probability 1 - alpha.
    """
    if visitors <= 0 or variance <= 0:
        return 0.0
    spread = -2 * math.log(alpha)
    rho = (spread + math.log(spread) + 1) / _OPTIMAL_VISITORS * visitors
    return math.sqrt(variance * 2 * (rho + 1) / rho * math.log(math.sqrt(rho + 1) / alpha))


def lift_verdict(difference: MeanDifference, conversions: int) -> LiftVerdict:
    """Return the verdict; COLLECTING until the smaller arm has 50 conversions."""
    if conversions < MIN_CONVERSIONS:
        return LiftVerdict.COLLECTING
    if difference.low > 0:
        return LiftVerdict.MORE
    return LiftVerdict.LESS if difference.high < 0 else LiftVerdict.OPEN


def sample_ratio_p_value(counts: Sequence[int], shares: Sequence[float]) -> float:
    """Return the p-value of the arms' sizes, given their shares (chi-squared)."""
    expected = [sum(counts) * share for share in shares]
    if min(expected) <= 0:
        return 1.0
    squared = sum(
        (count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True)
    )
    return 1.0 - float(gamma_p((len(counts) - 1) / 2, squared / 2)[0])


def visitors_needed(
    variance: float, visitors: int, effect: float, alpha: float = ALPHA
) -> int | None:
    """Return the total visitors that detect `effect` with 80 % power; None: too many.

    `variance` is the variance of the estimate from `visitors`.
    """
    if effect <= 0 or variance <= 0 or visitors <= 0:
        return None
    visitor_variance = variance * visitors
    low, high = 1, _MAX_VISITORS
    if not _would_detect(visitor_variance, high, effect, alpha):
        return None
    while low < high:
        middle = (low + high) // 2
        if _would_detect(visitor_variance, middle, effect, alpha):
            high = middle
        else:
            low = middle + 1
    return high


def _would_detect(
    visitor_variance: float, visitors: int, effect: float, alpha: float
) -> bool:
    variance = visitor_variance / visitors
    radius = always_valid_interval_radius(variance, visitors, alpha)
    return radius + POWER_SIGMAS * math.sqrt(variance) <= effect
