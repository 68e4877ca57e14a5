"""Call meter: counts a store's metered calls in memory, and checks its quota.

One thread checks and counts: the event loop of an API process. Another one, the flush
thread, adds the counts to the database and reads there what other processes counted.
Neither waits for the other: the first writes `counted`, the second everything else, each
with one assignment.
"""

import sys
from collections import deque
from collections.abc import Callable
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.tenancy.billing.plans import Plans
from productrecs.tenancy.billing.subscription import (
    QuotaNotice,
    Subscription,
    month_at,
    quota_notice,
    warning_threshold,
)

CallsByStoreMonth = tuple[StoreId, str]
"""A store and a month."""

_NEVER: Final = sys.maxsize
# Near the limit a process flushes once it counted a 16th of the calls that are left, but
# no less than a two-thousandth of the limit: processes together pass it by little.
_SHARE_OF_REST: Final = 16
_SHARE_OF_LIMIT: Final = 2_000


class MonthlyCalls:
    """A store's calls in one month, as known to one process."""

    __slots__ = ("_flushed", "counted", "due_at", "month", "others")

    def __init__(self, month: str) -> None:
        """Begin with no calls; the flush thread learns what others counted."""
        self.month = month
        self.counted = 0  # by this process
        self.others = 0  # by others, as far as the database has them
        self.due_at = _NEVER  # the count from which a flush is due
        self._flushed = 0  # of `counted`, in the database

    @property
    def used(self) -> int:
        """The calls of the month, as far as this process knows."""
        return self.others + self.counted

    @property
    def unsaved(self) -> int:
        """How many calls the database does not have yet."""
        return self.counted - self._flushed

    def flushed(self, calls: int, total: int, limit: int | None) -> None:
        """Note that the database has `calls` more of ours, and `total` in all."""
        self._flushed += calls
        self.learn(total, limit)

    def learn(self, total: int, limit: int | None) -> None:
        """Note that the database has `total` calls, our flushed ones among them."""
        self.others = total - self._flushed
        self.due_at = (
            _NEVER if limit is None else self._flushed + _flush_after(total, limit)
        )


class Meter:
    """One store's monthly counts in one process, checked against its plan."""

    __slots__ = (
        "_is_active",
        "_limit",
        "_notice_from",
        "_past",
        "_plans",
        "_present",
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
        """Begin with the `stored` calls of the month.

        `request_flush` is called when the next flush must not wait for its time.
        """
        self._plans = plans
        self._request_flush = request_flush
        self._past: deque[MonthlyCalls] = deque()  # months with calls that are not stored
        self._present = MonthlyCalls(month_at(now_ms).name)
        self.is_used = False
        self._follow(subscription, now_ms)
        self._present.learn(stored, self._limit)

    def ask(self, subscription: Subscription, now_ms: int) -> QuotaNotice | None:
        """Return the notice for one more call; None below 80 % of the quota."""
        is_followed = self._since <= now_ms < self._until  # a clock may be set back, too
        if not is_followed or subscription is not self._subscription:
            self._follow(subscription, now_ms)
        self.is_used = True
        present = self._present
        used = present.others + present.counted
        if used < self._notice_from:
            return None
        return quota_notice(used, self._limit, is_active=self._is_active, requested=1)

    def count(self) -> None:
        """Count a call that was answered."""
        present = self._present
        present.counted += 1
        if present.counted >= present.due_at:
            present.due_at = _NEVER  # one request is enough
            self._request_flush()

    def months(self) -> list[MonthlyCalls]:
        """Return the months that the flush thread should store, the present one last."""
        present = self._present
        return [*(month for month in list(self._past) if month is not present), present]

    def drop_stored_months(self) -> None:
        """Drop past months that are stored completely; for the flush thread."""
        while self._past and not self._past[0].unsaved:
            self._past.popleft()

    @property
    def limit(self) -> int | None:
        """How many calls a month the plan allows."""
        return self._limit

    def _follow(self, subscription: Subscription, now_ms: int) -> None:
        """Compute limits from the plan and the month, until one of them changes."""
        month = month_at(now_ms)
        if month.name != self._present.month:
            past = list(self._past)
            if self._present not in past:
                self._past.append(self._present)
            # After a clock was set back, a past month may be the present one again. Only
            # the flush thread removes from `_past`, so that none is lost or stored twice.
            again = (one for one in past if one.month == month.name)
            self._present = next(again, None) or MonthlyCalls(month.name)
        # A plan that the configuration has not is our mistake, not the store's.
        plan = self._plans.get(subscription.plan)
        self._limit = None if plan is None else plan.monthly_calls
        self._is_active = subscription.is_active(now_ms)
        self._since, self._until = now_ms, month.ends_at
        if self._is_active and subscription.ends_at is not None:
            self._until = min(month.ends_at, subscription.ends_at)
        if not self._is_active:
            self._notice_from = 0
        else:
            self._notice_from = (
                _NEVER if self._limit is None else warning_threshold(self._limit) - 1
            )
        self._subscription = subscription


def _flush_after(total: int, limit: int) -> int:
    """Return how many calls a process may count before it stores them in the database."""
    return max((limit - total) // _SHARE_OF_REST, limit // _SHARE_OF_LIMIT, 1)
