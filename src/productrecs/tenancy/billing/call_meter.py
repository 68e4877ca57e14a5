"""Call meter: counts metered calls in memory, and says when a quota is used up.

The event loop thread of an API process checks and counts. The flush thread adds the counts
to the database and reads other processes' counts there. Neither waits for the other: the
first thread writes `counted`, the second everything else, each with one assignment.
"""

import calendar
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.tenancy.billing.plans_and_subscriptions import Plans, Subscription

WARN_PERCENT: Final = 80
StoreMonth = tuple[StoreId, str]
"""A store and a month."""

_NEVER: Final = sys.maxsize
# Near the limit a process flushes after a 16th of the remaining calls, but at least after
# a two-thousandth of the limit. So all processes together exceed the limit only slightly.
_SHARE_OF_REMAINING: Final = 16
_SHARE_OF_LIMIT: Final = 2_000


class BillingStatus(StrEnum):
    """The billing states of a store, as the interface names them (section 3)."""

    WARN = "warn"
    OVER_QUOTA = "over_quota"
    SUSPENDED = "suspended"


class UtcMonth(NamedTuple):
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

    `requested` calls, which are about to be answered, count for the warning only: they are
    refused once `used` reaches the limit. So the last call of a quota is answered.
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


def month_at(now_ms: int) -> UtcMonth:
    """Return the UTC month of a time."""
    moment = datetime.fromtimestamp(now_ms / 1000, tz=UTC)
    days = calendar.monthrange(moment.year, moment.month)[1]
    first = datetime(moment.year, moment.month, 1, tzinfo=UTC)
    began = int(first.timestamp()) * 1000
    return UtcMonth(f"{moment.year:04d}-{moment.month:02d}", began + days * DAY_MS)


class MonthlyCallCount:
    """A store's calls in one month, as known to one process."""

    __slots__ = ("_flushed", "counted", "counted_elsewhere", "due_at", "month")

    def __init__(self, month: str) -> None:
        """Start with no calls; the flush thread loads the other processes' counts."""
        self.month = month
        self.counted = 0  # by this process
        self.counted_elsewhere = 0  # by other processes, as stored in the database
        self.due_at = _NEVER  # the count at which a flush is due
        self._flushed = 0  # part of `counted` that is in the database

    @property
    def used(self) -> int:
        """The month's calls known to this process."""
        return self.counted_elsewhere + self.counted

    @property
    def unsaved(self) -> int:
        """How many calls are not yet in the database."""
        return self.counted - self._flushed

    def record_flush(self, calls: int, total: int, limit: int | None) -> None:
        """Record that the database has `calls` more of ours, and `total` in all."""
        self._flushed += calls
        self.set_stored_total(total, limit)

    def set_stored_total(self, total: int, limit: int | None) -> None:
        """Record that the database has `total` calls, including our flushed ones."""
        self.counted_elsewhere = total - self._flushed
        self.due_at = (
            _NEVER if limit is None else self._flushed + _calls_until_flush(total, limit)
        )


class CallMeter:
    """One store's monthly counts in one process, checked against its plan."""

    __slots__ = (
        "_current_month",
        "_earlier_months",
        "_is_active",
        "_limit",
        "_notice_threshold",
        "_plans",
        "_request_flush",
        "_since",
        "_subscription",
        "_until",
        "is_used",
    )

    def __init__(
        self,
        plans: Plans,
        subscription: Subscription,
        now_ms: int,
        stored: int,
        request_flush: Callable[[], None],
    ) -> None:
        """Start with the `stored` calls of the month.

        `request_flush` is called when the next flush must not wait for its schedule.
        """
        self._plans = plans
        self._request_flush = request_flush
        self._earlier_months: deque[MonthlyCallCount] = deque()  # months with unsaved calls
        self._current_month = MonthlyCallCount(month_at(now_ms).name)
        self.is_used = False
        self._begin_month_and_compute_limits(subscription, now_ms)
        self._current_month.set_stored_total(stored, self._limit)

    def check_quota(self, subscription: Subscription, now_ms: int) -> QuotaNotice | None:
        """Return the notice for one more call; None below 80 % of the quota."""
        is_current = self._since <= now_ms < self._until  # the clock may be set back
        if not is_current or subscription is not self._subscription:
            self._begin_month_and_compute_limits(subscription, now_ms)
        self.is_used = True
        current = self._current_month
        used = current.counted_elsewhere + current.counted
        if used < self._notice_threshold:
            return None
        return quota_notice(used, self._limit, is_active=self._is_active, requested=1)

    def count_call(self) -> None:
        """Count an answered call."""
        current = self._current_month
        current.counted += 1
        if current.counted >= current.due_at:
            current.due_at = _NEVER  # one request is enough
            self._request_flush()

    def months_to_flush(self) -> list[MonthlyCallCount]:
        """Return the months to flush, the current one last."""
        current = self._current_month
        return [
            *(month for month in list(self._earlier_months) if month is not current),
            current,
        ]

    def drop_stored_months(self) -> None:
        """Drop fully stored past months; called by the flush thread."""
        while self._earlier_months and not self._earlier_months[0].unsaved:
            self._earlier_months.popleft()

    @property
    def limit(self) -> int | None:
        """The plan's calls per month."""
        return self._limit

    def _begin_month_and_compute_limits(
        self, subscription: Subscription, now_ms: int
    ) -> None:
        """Compute limits from the plan and the month; they apply until one changes."""
        month = month_at(now_ms)
        if month.name != self._current_month.month:
            earlier_months = list(self._earlier_months)
            if self._current_month not in earlier_months:
                self._earlier_months.append(self._current_month)
            # After a clock was set back, a past month may be the current one again. Only
            # the flush thread removes from `_earlier_months`, so that none is lost or
            # stored twice.
            matching = (calls for calls in earlier_months if calls.month == month.name)
            self._current_month = next(matching, None) or MonthlyCallCount(month.name)
        # A plan that is missing in the configuration must not restrict the store.
        plan = self._plans.get(subscription.plan)
        self._limit = None if plan is None else plan.monthly_calls
        self._is_active = subscription.is_active(now_ms)
        self._since, self._until = now_ms, month.ends_at
        if self._is_active and subscription.ends_at is not None:
            self._until = min(month.ends_at, subscription.ends_at)
        if not self._is_active:
            self._notice_threshold = 0
        else:
            self._notice_threshold = (
                _NEVER if self._limit is None else warning_threshold(self._limit) - 1
            )
        self._subscription = subscription


def _calls_until_flush(total: int, limit: int) -> int:
    """Return how many calls a process may count before it flushes them."""
    return max((limit - total) // _SHARE_OF_REMAINING, limit // _SHARE_OF_LIMIT, 1)
