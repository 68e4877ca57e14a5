"""Call meter: counts a store's metered calls in memory, and checks its quota.

One thread checks and counts: the event loop of an API process. Another one, the flush
thread, adds the counts to the database and reads there what other machines counted. Neither
waits for the other: the first writes the count, the second everything else, each with one
assignment. Counts of other processes on this machine are read from their usage files.
"""

import sys
from collections import deque
from collections.abc import Callable
from typing import Final

from productrecs.tenancy.billing.plans import Plans
from productrecs.tenancy.billing.quota_notice import (
    QuotaNotice,
    month_at,
    quota_notice,
    warning_threshold,
)
from productrecs.tenancy.billing.subscription import Subscription
from productrecs.tenancy.billing.usage_journal import UsageCounter

_NEVER: Final = sys.maxsize
# Near the limit a process holds back a 16th of what is left from other machines, but no
# less than a thousandth of the limit; it looks at its neighbours' sheets from a 20th of
# the limit before the first warning on, and from thousands of calls before.
_SHARE_OF_REST: Final = 16
_SHARE_OF_LIMIT: Final = 1_000
_SHARE_NEAR: Final = 20
_CALLS_NEAR: Final = 5_000

OpenCounter = Callable[[str], UsageCounter]
"""Gives the line of a month on the process's sheet."""


class MonthlyCalls:
    """A store's calls in one month, as known to one process."""

    __slots__ = ("_apart", "_stored", "counted", "due_at", "line", "month")

    def __init__(self, month: str, line: UsageCounter, stored: int) -> None:
        """Count on `line`, where the database has `stored` calls already."""
        self.month = month
        self.line = line
        self.counted = line.counted  # by this process
        self.due_at = _NEVER  # the count from which a flush is due
        self._stored = stored - line.stored  # in the database, by others
        # The neighbours' counters, and the stored calls of other machines.
        self._apart: tuple[tuple[UsageCounter, ...], int] = ((), self._stored)

    @property
    def used(self) -> int:
        """The calls of the month, as far as this machine knows."""
        neighbours, elsewhere = self._apart
        return sum([line.counted for line in neighbours], elsewhere + self.counted)

    @property
    def about(self) -> int:
        """As `used`, without the calls that the neighbours counted in the last second."""
        return self._stored + self.counted

    @property
    def unsaved(self) -> int:
        """How many calls the database does not have yet."""
        return self.counted - self.line.stored

    def learn(
        self, total: int, neighbours: tuple[UsageCounter, ...], limit: int | None
    ) -> None:
        """Note that the database has `total` calls, ours and our neighbours' among them."""
        own = self.line.stored
        self._stored = total - own
        theirs = sum([line.stored for line in neighbours])
        self._apart = neighbours, self._stored - theirs
        self.due_at = _NEVER if limit is None else own + _held_back(total, limit)

    def confirm(self, limit: int | None) -> None:
        """Note that our prepared calls are in the database."""
        self.line.confirm()
        if limit is not None:
            self.due_at = self.line.stored + _held_back(self.about, limit)


class Meter:
    """One store's monthly counts in one process, checked against its plan."""

    __slots__ = (
        "_call_keeper",
        "_calm_below",
        "_is_active",
        "_limit",
        "_near_from",
        "_open_line",
        "_past",
        "_plans",
        "_since",
        "_subscription",
        "_tally",
        "_until",
        "is_used",
    )

    def __init__(
        self,
        plans: Plans,
        subscription: Subscription,
        now_ms: int,
        stored: int,
        open_line: OpenCounter,
        call_keeper: Callable[[], None],
    ) -> None:
        """Begin with the calls `stored` of the month; `call_keeper` when many are not."""
        self._plans = plans
        self._open_line = open_line
        self._call_keeper = call_keeper
        self._past: deque[MonthlyCalls] = (
            deque()
        )  # past months with calls that are not stored yet
        month = month_at(now_ms).name
        self._tally = MonthlyCalls(month, open_line(month), stored)
        self.is_used = False
        self._follow(subscription, now_ms)

    def ask(self, subscription: Subscription, now_ms: int) -> QuotaNotice | None:
        """Return the notice for one more call; None below 80 % of the quota."""
        is_followed = self._since <= now_ms < self._until  # a clock may be set back, too
        if not is_followed or subscription is not self._subscription:
            self._follow(subscription, now_ms)
        self.is_used = True
        tally = self._tally
        if tally.about < self._near_from:
            return None
        used = tally.used
        if used < self._calm_below:
            return None
        return quota_notice(used, self._limit, is_active=self._is_active, requested=1)

    def count(self) -> None:
        """Count a call that was answered."""
        tally = self._tally
        tally.counted += 1
        tally.line.counted = tally.counted
        if tally.counted >= tally.due_at:
            tally.due_at = _NEVER  # calling once is enough
            self._call_keeper()

    def tallies(self) -> list[MonthlyCalls]:
        """Return the months that the flush thread should store, the present one last."""
        present = self._tally
        return [*(tally for tally in list(self._past) if tally is not present), present]

    def settle(self) -> None:
        """Drop past months that are stored completely."""
        while self._past and not self._past[0].unsaved:
            self._past.popleft()

    @property
    def limit(self) -> int | None:
        """How many calls a month the plan allows."""
        return self._limit

    def _follow(self, subscription: Subscription, now_ms: int) -> None:
        """Compute limits from the plan and the month, until one of them changes."""
        month = month_at(now_ms)
        if month.name != self._tally.month:
            past = list(self._past)
            if self._tally not in past:
                self._past.append(self._tally)
            self._tally = self._tally_of(month.name, past)
        # A plan that the configuration has not is our mistake, not the store's.
        plan = self._plans.get(subscription.plan)
        self._limit = None if plan is None else plan.monthly_calls
        self._is_active = subscription.is_active(now_ms)
        self._since, self._until = now_ms, month.ends_at
        if self._is_active and subscription.ends_at is not None:
            self._until = min(month.ends_at, subscription.ends_at)
        if not self._is_active:
            self._calm_below = 0
        else:
            self._calm_below = (
                _NEVER if self._limit is None else warning_threshold(self._limit) - 1
            )
        near = max((self._limit or 0) // _SHARE_NEAR, _CALLS_NEAR)
        self._near_from = self._calm_below - near
        self._subscription = subscription

    def _tally_of(self, month: str, past: list[MonthlyCalls]) -> MonthlyCalls:
        """Return a month's tally; after a clock was set back perhaps an unsaved past one.

        Only the flush thread removes from `_past`, so that none is lost or stored twice.
        """
        found = next((tally for tally in past if tally.month == month), None)
        if found is not None:
            return found
        line = self._open_line(month)
        return MonthlyCalls(month, line, line.stored)


def _held_back(total: int, limit: int) -> int:
    """Return how many calls a process may count before it stores them in the database."""
    return max((limit - total) // _SHARE_OF_REST, limit // _SHARE_OF_LIMIT, 1)
