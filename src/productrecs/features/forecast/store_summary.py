"""Store summary: the expected sales of the whole store, as the API returns them."""

from typing import Any

from productrecs.core.clock import iso
from productrecs.features.forecast.forecast_dates import HORIZON_DAYS, dates_from
from productrecs.features.forecast.repository import ForecastRun

_QUANTILES = ("p10", "p50", "p90")


def store_summary(
    run: ForecastRun | None, currency: str, *, enabled: bool
) -> dict[str, Any]:
    """Return the store's summary; before the first run, and when not enabled, empty.

    `forecast` holds the 28 days from the day after `generated_at`; amounts are units or
    order lines, as `target_mode` says. `accuracy` is that of the store's total in the last
    weeks, had it been forecast then: None where the history is too short to tell.
    """
    if run is None or not enabled:
        return {
            "enabled": enabled,
            "target_mode": None,
            "currency": None,
            "generated_at": None,
            "horizon_days": HORIZON_DAYS,
            "history": [],
            "forecast": [],
            "totals": None,
            "accuracy": None,
        }
    total = run.total
    columns = zip(total["mean"], *(total[name] for name in _QUANTILES), strict=True)
    return {
        "enabled": True,
        "target_mode": run.target_mode,
        "currency": currency,
        "generated_at": iso(run.generated_at),
        "horizon_days": HORIZON_DAYS,
        "history": [{"date": day, "actual": amount} for day, amount in run.history],
        "forecast": [
            {"date": day.isoformat(), "mean": mean, "p10": p10, "p50": p50, "p90": p90}
            for day, (mean, p10, p50, p90) in zip(
                dates_from(run.first_day), columns, strict=True
            )
        ],
        "totals": {
            name: dict(zip(_QUANTILES, total[name], strict=True))
            for name in ("next_7_days", "next_28_days")
        },
        "accuracy": _accuracy(run),
    }


def _accuracy(run: ForecastRun) -> dict[str, float] | None:
    if run.accuracy is None:
        return None
    measures = {name: round(value, 4) for name, value in run.accuracy.items()}
    return {
        "wape": measures["wape"],
        "rmsse": measures["rmsse"],
        "bias": measures["bias"],
        "coverage_p10_p90": measures["coverage"],
        "baseline_rmsse": measures["baseline_rmsse"],
    }
