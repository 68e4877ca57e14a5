"""Plans and subscriptions: built-in plans, those of an operator, and a store's plan."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Self

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso

MAX_PLAN_DAYS: Final = 3_660
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_MAX_LIMIT: Final = 2**53


class PlansError(ProductRecsError):
    """The text does not describe plans; the message names the place and the remedy."""


class UnknownPlanError(ProductRecsError):
    """There is no plan with that name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A store's limits; None means unlimited."""

    name: str
    monthly_calls: int | None
    catalog_items: int | None
    days: int | None = None  # duration; None: until it is changed
    forecast: bool = True  # whether the store's owner may enable the demand forecast


Plans = Mapping[str, Plan]

TRIAL: Final = Plan("trial", monthly_calls=10_000, catalog_items=1_000, days=14)
UNLIMITED: Final = Plan("unlimited", monthly_calls=None, catalog_items=None)
DEFAULT_PLANS: Final[Plans] = MappingProxyType(
    {
        plan.name: plan
        for plan in (
            TRIAL,
            Plan("starter", monthly_calls=100_000, catalog_items=5_000),
            Plan("growth", monthly_calls=1_000_000, catalog_items=50_000),
            Plan("scale", monthly_calls=10_000_000, catalog_items=1_000_000),
            UNLIMITED,
        )
    }
)
_LIMITS: Final = ("monthly_calls", "catalog_items")


def find_plan(plans: Plans, name: str) -> Plan:
    """Return the plan with this name.

    Raises:
        UnknownPlanError: there is no such plan; the message lists the valid names.
    """
    if name not in plans:
        message = f"there is no plan {name!r}; there are {', '.join(plans)}"
        raise UnknownPlanError(message)
    return plans[name]


def parse_plans(text: str) -> Plans:
    """Return the built-in plans, overridden by those of a TOML text.

    Each table is a plan. A built-in plan keeps values that its table omits; a new plan must
    set both limits. A limit is an integer or the word `unlimited`.

    Raises:
        PlansError: when the text is not valid TOML or not a valid plan.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"it is not valid TOML: {error}"
        raise PlansError(message) from error
    return MappingProxyType(
        {
            **DEFAULT_PLANS,
            **{name: _parse_plan(name, fields) for name, fields in tables.items()},
        }
    )


def _parse_plan(name: str, value: object) -> Plan:
    if not _NAME.fullmatch(name):
        message = f"{name!r} is not a valid name of a plan; use small letters, such as gold"
        raise PlansError(message)
    if not isinstance(value, dict):
        message = f"{name} is not a table; write [{name}] and below it what the plan allows"
        raise PlansError(message)
    unknown = value.keys() - {*_LIMITS, "days", "forecast"}
    if unknown:
        known_fields = f"{', '.join(_LIMITS)}, days and forecast"
        message = f"[{name}] says {min(unknown)}; a plan has {known_fields}"
        raise PlansError(message)
    missing = [limit_name for limit_name in _LIMITS if limit_name not in value]
    if name not in DEFAULT_PLANS and missing:
        message = f'[{name}] lacks {missing[0]}; write a whole number or "unlimited"'
        raise PlansError(message)
    values: dict[str, Any] = {
        limit_name: _parse_limit(name, limit_name, value[limit_name])
        for limit_name in value
        if limit_name != "forecast"
    }
    if "forecast" in value:
        if not isinstance(value["forecast"], bool):
            message = f"[{name}] has forecast = {value['forecast']!r}; it is true or false"
            raise PlansError(message)
        values["forecast"] = value["forecast"]
    return replace(DEFAULT_PLANS.get(name, Plan(name, 0, 0)), **values)


def _parse_limit(plan: str, name: str, value: object) -> int | None:
    if value == "unlimited":
        return None
    lowest, highest = (1, MAX_PLAN_DAYS) if name == "days" else (0, _MAX_LIMIT)
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and lowest <= value <= highest
    ):
        return value
    message = (
        f"[{plan}] has {name} = {value!r}; it must be a whole number from {lowest:,} to "
        f'{highest:,}, or "unlimited"'
    )
    raise PlansError(message)


NEAR_END_MS: Final = 3 * DAY_MS
"""The period before and after a plan's end in which the operator is notified."""


COUNTDOWN_DAYS: Final = 4
"""How many days before its end a plan counts down: from day 10 of a trial of 14 days."""


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

    def countdown_days(self, now_ms: int) -> int | None:
        """Return the days until the plan ends, rounded up; None while the end is far."""
        if self.ends_at is None:
            return None
        days = max(0, math.ceil((self.ends_at - now_ms) / DAY_MS))
        return days if days <= COUNTDOWN_DAYS else None

    def check_active(self, now_ms: int) -> None:
        """Return if the plan is active.

        Raises:
            BillingInactiveError: when it is not; the message says why.
        """
        if not self.is_active(now_ms):
            reason = self._inactive_reason()
            message = f"{reason}; events, orders and deletions are still accepted"
            raise BillingInactiveError(message)

    def with_plan(self, plan: Plan, now_ms: int, ends_at: int | None = None) -> Self:
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
    return Subscription(plan.name).with_plan(plan, now_ms)
