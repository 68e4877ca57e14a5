"""How many metered calls has a store made, and may it make this one? Memory only.

One thread asks and counts, the event loop of an API process. Another one, the keeper,
carries what was counted to the database and learns there what other processes counted.
Neither waits for the other: `counted` is written by the one, all else of a tally by the
other, and each is one assignment.
"""

import sys
from collections import deque
from collections.abc import Callable
from typing import Final

from productrecs.tenancy.billing.notice import Notice, month_at, notice, warns_from
from productrecs.tenancy.billing.plans import Plans
from productrecs.tenancy.billing.subscription import Subscription

_NEVER: Final = sys.maxsize
# A process holds back a 500th of the month's count at most; near the limit, a 16th of
# what is left, but no less than a thousandth of the limit.
_SHARE_OF_ALL: Final = 500
_SHARE_OF_REST: Final = 16
_SHARE_OF_LIMIT: Final = 1_000


class Tally:
    """What one process knows of a store's calls in one month."""

    __slots__ = ("_kept", "_others", "counted", "due_at", "month")

    def __init__(self, month: str, stored: int) -> None:
        """Begin with what is `stored` already."""
        self.month = month
        self.counted = 0  # by this process
        self.due_at = 1  # the count from which the keeper should be called
        self._kept = 0  # of those counted, in the database
        self._others = stored  # in the database, from elsewhere

    @property
    def used(self) -> int:
        """The calls of the month, as far as this process knows."""
        return self._others + self.counted

    @property
    def unkept(self) -> int:
        """How many calls the database does not have yet."""
        return self.counted - self._kept

    def kept(self, calls: int, total: int, limit: int | None) -> None:
        """Note that `calls` more of ours are in the database, `total` of all by now."""
        self._kept += calls
        self.learn(total, limit)

    def learn(self, total: int, limit: int | None) -> None:
        """Note that the database has `total` calls by now."""
        self._others = total - self._kept
        self.due_at = self._kept + _held_back(total, limit)


class Meter:
    """One store's tallies in one process, and what its plan makes of them."""

    __slots__ = (
        "_call_keeper",
        "_calm_below",
        "_is_active",
        "_limit",
        "_past",
        "_plans",
        "_subscription",
        "_tally",
        "_until",
        "is_asked",
    )

    def __init__(
        self,
        plans: Plans,
        subscription: Subscription,
        now_ms: int,
        stored: int,
        call_keeper: Callable[[], None],
    ) -> None:
        """Begin with the calls `stored` of the month; `call_keeper` when many are not."""
        self._plans = plans
        self._call_keeper = call_keeper
        self._past: deque[Tally] = deque()  # of months that are over, not kept yet
        self._tally = Tally(month_at(now_ms).name, stored)
        self.is_asked = False
        self._follow(subscription, now_ms)

    def ask(self, subscription: Subscription, now_ms: int) -> Notice | None:
        """Return what is to tell with one call more; None when all is well."""
        if now_ms >= self._until or subscription is not self._subscription:
            self._follow(subscription, now_ms)
        self.is_asked = True
        used = self._tally.used
        if used < self._calm_below:
            return None
        return notice(used, self._limit, is_active=self._is_active, asked=1)

    def count(self) -> None:
        """Count a call that was answered."""
        tally = self._tally
        tally.counted += 1
        if tally.counted >= tally.due_at:
            tally.due_at = _NEVER  # calling once is enough
            self._call_keeper()

    def tallies(self) -> list[Tally]:
        """Return the tallies that the keeper should look at, the present month's last."""
        return [*self._past, self._tally]

    def settle(self) -> None:
        """Let go of past months that are kept whole."""
        while self._past and not self._past[0].unkept:
            self._past.popleft()

    @property
    def limit(self) -> int | None:
        """How many calls a month the plan allows."""
        return self._limit

    def _follow(self, subscription: Subscription, now_ms: int) -> None:
        """Draw what follows from the plan and the month, until one of them changes."""
        month = month_at(now_ms)
        if month.name != self._tally.month:
            over, self._tally = self._tally, Tally(month.name, 0)
            self._past.append(over)
        # A plan that the configuration has not is our mistake, not the store's.
        plan = self._plans.get(subscription.plan)
        self._limit = None if plan is None else plan.monthly_calls
        self._is_active = subscription.is_active(now_ms)
        self._until = month.ends_at
        if self._is_active and subscription.ends_at is not None:
            self._until = min(month.ends_at, subscription.ends_at)
        if not self._is_active:
            self._calm_below = 0
        else:
            self._calm_below = (
                _NEVER if self._limit is None else warns_from(self._limit) - 1
            )
        self._subscription = subscription


def _held_back(total: int, limit: int | None) -> int:
    """Return how many calls a process may count before it brings them to the database."""
    most = total // _SHARE_OF_ALL
    if limit is not None:
        near = max((limit - total) // _SHARE_OF_REST, limit // _SHARE_OF_LIMIT)
        most = min(most, near)
    return max(most, 1)
