"""Subscription: a store's plan, its end, and whether it is active."""

from dataclasses import dataclass, replace
from typing import Final, Self

from productrecs.core.clock import DAY_MS, iso
from productrecs.core.errors import ProductRecsError
from productrecs.tenancy.billing.plans import Plan

NEAR_END_MS: Final = 3 * DAY_MS
"""How long before and after the end of a plan the operator is notified."""


class BillingInactiveError(ProductRecsError):
    """The store has no plan that holds; events, orders and deletions go on all the same."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A store's plan by name, when it ends, and whether an operator stopped the store."""

    plan: str
    ends_at: int | None = None  # UTC ms, the first moment after it; None: it does not end
    suspended_at: int | None = None  # UTC ms

    def is_active(self, now_ms: int) -> bool:
        """Return whether the plan is valid and the store is not suspended."""
        is_over = self.ends_at is not None and now_ms >= self.ends_at
        return self.suspended_at is None and not is_over

    def is_near_end(self, now_ms: int) -> bool:
        """Return whether the plan ends within days, or ended days ago."""
        return self.ends_at is not None and abs(self.ends_at - now_ms) <= NEAR_END_MS

    def check_active(self, now_ms: int) -> None:
        """Pass, if the plan holds.

        Raises:
            BillingInactiveError: it does not; the message says why.
        """
        if not self.is_active(now_ms):
            message = f"{self._why()}; events, orders and deletions are still accepted"
            raise BillingInactiveError(message)

    def changed(self, plan: Plan, now_ms: int, ends_at: int | None = None) -> Self:
        """Return the subscription with another plan from now on.

        It ends at `ends_at`, else when the plan's days are over, else never. A suspension
        stays.
        """
        if ends_at is None and plan.days is not None:
            ends_at = now_ms + plan.days * DAY_MS
        return replace(self, plan=plan.name, ends_at=ends_at)

    def suspended(self, now_ms: int) -> Self:
        """Return the subscription suspended; the first time stays."""
        return self if self.suspended_at is not None else replace(self, suspended_at=now_ms)

    def resumed(self) -> Self:
        """Return the subscription without a suspension; a plan that ended stays ended."""
        return replace(self, suspended_at=None)

    def _why(self) -> str:
        if self.suspended_at is not None:
            return "this store is suspended; ask whoever runs this service to resume it"
        ended = iso(self.ends_at or 0)
        return f"this store's plan ({self.plan}) ended at {ended}; it needs a new one"


def first_subscription(plan: Plan, now_ms: int) -> Subscription:
    """Return a new store's subscription: the plan, from now on."""
    return Subscription(plan.name).changed(plan, now_ms)
