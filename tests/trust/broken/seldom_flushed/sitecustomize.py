"""Broken variant: usage is counted in process memory and seldom stored."""

from __future__ import annotations

import sys

from productrecs.http.limits import usage_metering
from productrecs.tenancy.billing import call_meter


def _never(_total: int, _limit: int) -> int:
    return sys.maxsize


setattr(usage_metering, "FLUSH_SECONDS", 1_000.0)  # noqa: B010 - the fault itself
setattr(call_meter, "_calls_until_flush", _never)  # noqa: B010 - the fault itself
