"""Plans: built-in plans with their limits; an operator's file can change them."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.errors import ProductRecsError

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
DEFAULT_PLANS: Final[Plans] = MappingProxyType(
    {
        plan.name: plan
        for plan in (
            TRIAL,
            Plan("starter", monthly_calls=100_000, catalog_items=5_000),
            Plan("growth", monthly_calls=1_000_000, catalog_items=50_000),
            Plan("scale", monthly_calls=10_000_000, catalog_items=1_000_000),
            Plan("unlimited", monthly_calls=None, catalog_items=None),
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


def read_plans(text: str) -> Plans:
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
        {**DEFAULT_PLANS, **{name: _plan(name, fields) for name, fields in tables.items()}}
    )


def _plan(name: str, value: object) -> Plan:
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
    missing = [one for one in _LIMITS if one not in value]
    if name not in DEFAULT_PLANS and missing:
        message = f'[{name}] lacks {missing[0]}; write a whole number or "unlimited"'
        raise PlansError(message)
    values: dict[str, Any] = {
        one: _limit(name, one, value[one]) for one in value if one != "forecast"
    }
    if "forecast" in value:
        if not isinstance(value["forecast"], bool):
            message = f"[{name}] has forecast = {value['forecast']!r}; it is true or false"
            raise PlansError(message)
        values["forecast"] = value["forecast"]
    return replace(DEFAULT_PLANS.get(name, Plan(name, 0, 0)), **values)


def _limit(plan: str, name: str, value: object) -> int | None:
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
