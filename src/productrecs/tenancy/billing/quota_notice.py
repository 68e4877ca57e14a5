"""Quota notice: the warning or refusal of a store's calls by its plan."""

import calendar
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.clock import DAY_MS

WARN_PERCENT: Final = 80


class BillingStatus(StrEnum):
    """The billing states of a store, as the interface names them (section 3)."""

    WARN = "warn"
    OVER_QUOTA = "over_quota"
    SUSPENDED = "suspended"


class Month(NamedTuple):
    """A month of UTC."""

    name: str  # such as 2026-11
    ends_at: int  # UTC ms, the first moment after it


@dataclass(frozen=True, slots=True)
class QuotaNotice:
    """A notice; `used` and `limit` are set from 80 % of the quota on."""

    status: BillingStatus
    used: int | None = None
    limit: int | None = None

    @property
    def is_cut_off(self) -> bool:
        """Whether metered calls are answered with nothing."""
        return self.status is not BillingStatus.WARN


def quota_notice(
    used: int, limit: int | None, *, is_active: bool, requested: int = 0
) -> QuotaNotice | None:
    """Return the notice of a store that used so much; None below 80 % of its quota.

    With `requested` calls it wants that many more: they count for the warning, and are
    answered as long as `used` is below the limit. So the last call of a quota is answered.
    """
    is_over = limit is not None and used >= limit
    if not is_active:
        status = BillingStatus.SUSPENDED
    elif is_over:
        status = BillingStatus.OVER_QUOTA
    else:
        used += requested
        status = BillingStatus.WARN
    if limit is not None and used >= warning_threshold(limit):
        return QuotaNotice(status, used, limit)
    return None if status is BillingStatus.WARN else QuotaNotice(status)


def warning_threshold(limit: int) -> int:
    """Return the first count of calls that is 80 % of the limit or more."""
    return -(-limit * WARN_PERCENT // 100)


def month_at(now_ms: int) -> Month:
    """Return the UTC month of a moment."""
    moment = datetime.fromtimestamp(now_ms / 1000, tz=UTC)
    days = calendar.monthrange(moment.year, moment.month)[1]
    first = datetime(moment.year, moment.month, 1, tzinfo=UTC)
    began = int(first.timestamp()) * 1000
    return Month(f"{moment.year:04d}-{moment.month:02d}", began + days * DAY_MS)
