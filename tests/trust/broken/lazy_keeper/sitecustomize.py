"""A service that brings its counts to the database once in a while: too seldom."""

from __future__ import annotations

from productrecs.entrypoints.http import metering
from productrecs.tenancy.billing.meter import Meter

setattr(metering, "KEEP_SECONDS", 1_000.0)  # noqa: B010 - the fault itself


def _alone(self: Meter) -> None:
    self._tally.counted += 1


Meter.count = _alone  # type: ignore[method-assign]  # the fault itself
