"""Subscription: a store's plan, its end, and the notice that its quota is used up."""

import calendar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, Self

from productrecs.core.clock import DAY_MS, iso
from productrecs.core.errors import ProductRecsError
from productrecs.tenancy.billing.plans import Plan

NEAR_END_MS: Final = 3 * DAY_MS
"""The period before and after a plan's end in which the operator is notified."""


class BillingInactiveError(ProductRecsError):
    """The store has no active plan; events, orders and deletions still work."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A store's plan by name, its end, and whether an operator suspended the store."""

    plan: str
    ends_at: int | None = None  # UTC ms, exclusive; None: it does not end
    suspended_at: int | None = None  # UTC ms

    def is_active(self, now_ms: int) -> bool:
        """Return whether the plan is valid and the store is not suspended."""
        is_over = self.ends_at is not None and now_ms >= self.ends_at
        return self.suspended_at is None and not is_over

    def is_near_end(self, now_ms: int) -> bool:
        """Return whether the plan ends within days, or ended days ago."""
        return self.ends_at is not None and abs(self.ends_at - now_ms) <= NEAR_END_MS

    def check_active(self, now_ms: int) -> None:
        """Return if the plan is active.

        Raises:
            BillingInactiveError: when it is not; the message says why.
        """
        if not self.is_active(now_ms):
            reason = self._inactive_reason()
            message = f"{reason}; events, orders and deletions are still accepted"
            raise BillingInactiveError(message)

    def changed(self, plan: Plan, now_ms: int, ends_at: int | None = None) -> Self:
        """Return the subscription with another plan from now on.

        It ends at `ends_at`, else after the plan's days, else never. A suspension remains.
        """
        if ends_at is None and plan.days is not None:
            ends_at = now_ms + plan.days * DAY_MS
        return replace(self, plan=plan.name, ends_at=ends_at)

    def suspended(self, now_ms: int) -> Self:
        """Return the subscription suspended; an earlier suspension keeps its time."""
        return self if self.suspended_at is not None else replace(self, suspended_at=now_ms)

    def resumed(self) -> Self:
        """Return the subscription without a suspension; an ended plan stays ended."""
        return replace(self, suspended_at=None)

    def _inactive_reason(self) -> str:
        if self.suspended_at is not None:
            return "this store is suspended; ask whoever runs this service to resume it"
        ended = iso(self.ends_at or 0)
        return f"this store's plan ({self.plan}) ended at {ended}; it needs a new one"


def first_subscription(plan: Plan, now_ms: int) -> Subscription:
    """Return a new store's subscription to the plan, from now on."""
    return Subscription(plan.name).changed(plan, now_ms)


WARN_PERCENT: Final = 80


class BillingStatus(StrEnum):
    """The billing states of a store, as the interface names them (section 3)."""

    WARN = "warn"
    OVER_QUOTA = "over_quota"
    SUSPENDED = "suspended"


class Month(NamedTuple):
    """A month in UTC."""

    name: str  # such as 2026-11
    ends_at: int  # UTC ms, exclusive


@dataclass(frozen=True, slots=True)
class QuotaNotice:
    """A notice; `used` and `limit` are set from 80 % of the quota on."""

    status: BillingStatus
    used: int | None = None
    limit: int | None = None

    @property
    def is_cut_off(self) -> bool:
        """Whether metered calls get empty replies."""
        return self.status is not BillingStatus.WARN


def quota_notice(
    used: int, limit: int | None, *, is_active: bool, requested: int = 0
) -> QuotaNotice | None:
    """Return the notice of a store with this usage; None below 80 % of its quota.

    `requested` calls are about to be made: they count for the warning, and are answered
    while `used` is below the limit. So the last call of a quota is answered.
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
    """Return the smallest count of calls that is at least 80 % of the limit."""
    return -(-limit * WARN_PERCENT // 100)


def month_at(now_ms: int) -> Month:
    """Return the UTC month of a time."""
    moment = datetime.fromtimestamp(now_ms / 1000, tz=UTC)
    days = calendar.monthrange(moment.year, moment.month)[1]
    first = datetime(moment.year, moment.month, 1, tzinfo=UTC)
    began = int(first.timestamp()) * 1000
    return Month(f"{moment.year:04d}-{moment.month:02d}", began + days * DAY_MS)
