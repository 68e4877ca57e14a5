"""Experiment: a test of variants of a placement or of search against the present one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso
from productrecs.records.experiments.arm_assignment import ArmSplit
from productrecs.records.placements.placement import (
    PlacementContent,
    PlacementError,
    validate_placement,
)
from productrecs.tenancy.accounts.store_settings import (
    SettingError,
    SettingValue,
    parse_setting,
)

CONTROL: Final = "control"
"""The arm that gets what the store has without the test."""

SEARCH: Final = "search"
PLACEMENT: Final = "placement:"
"""The subject of a test: search, or this and a placement's name."""

MAX_EXPERIMENTS: Final = 100
MAX_VARIANTS: Final = 4
MIN_SHARE: Final = 1.0  # in per cent, of each arm
PLACEMENT_FIELDS: Final = tuple(one.name for one in fields(PlacementContent))
SEARCH_FIELDS: Final = ("search_meaning", "search_sold_out")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VARIANT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,7}")


class ExperimentState(StrEnum):
    """The state of a test; only a running one gives shoppers its variants."""

    DRAFT = "draft"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


class Goal(StrEnum):
    """The metric that decides a test."""

    CLICKS = "clicks"
    CARTS = "carts"
    ORDERS = "orders"
    REVENUE = "revenue"
    MARGIN = "margin"


class ExperimentError(ProductRecsError):
    """The test is invalid, or its state does not allow this; `field` is what to change."""

    def __init__(self, message: str, field: str) -> None:
        """Take the part of the test that is invalid."""
        super().__init__(message)
        self.field = field


class UnknownExperimentError(ProductRecsError):
    """The store has no test with that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name some of the tests that there are."""
        names = ", ".join(sorted(known)[:20]) or "none yet"
        super().__init__(f"there is no test {name[:64]!r}; there are: {names}")


@dataclass(frozen=True, slots=True)
class Treatment:
    """A configuration that a share of the shoppers gets.

    `changes` are fields of the placement, or settings of search, with their new values.
    """

    name: str
    share: float  # in per cent
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExperimentContent:
    """The merchant's part of a test; shoppers outside the variants are the control."""

    subject: str
    variants: tuple[Treatment, ...]
    goal: Goal = Goal.REVENUE

    @property
    def placement(self) -> str:
        """The tested placement; empty for a test of search."""
        return self.subject.removeprefix(PLACEMENT) if self.subject != SEARCH else ""

    @property
    def shares(self) -> dict[str, float]:
        """The share of each arm in per cent, the control first."""
        variants = {variant.name: variant.share for variant in self.variants}
        return {CONTROL: 100.0 - sum(variants.values()), **variants}

    def variant(self, name: str) -> Treatment:
        """Return the variant of that name; the control changes nothing.

        Raises:
            ExperimentError: when there is none.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        if name == CONTROL:
            return Treatment(CONTROL, self.shares[CONTROL], {})
        message = f"there is no variant {name[:64]!r}; there are {', '.join(self.shares)}"
        raise ExperimentError(message, "variant")


@dataclass(frozen=True, slots=True)
class Experiment:
    """A stored test; `number` is never used for another test of the store."""

    name: str
    number: int
    content: ExperimentContent
    state: ExperimentState
    created_at: int
    started_at: int | None = None
    started_seq: int = 0  # the log's head at the start: what follows is newer
    ended_at: int | None = None
    winner: str = ""  # the chosen arm

    @property
    def split(self) -> ArmSplit:
        """The draw of its arms."""
        shares = tuple((one.name, one.share) for one in self.content.variants)
        return ArmSplit("test", f"test:{self.number}", shares, CONTROL)

    @property
    def is_open(self) -> bool:
        """Whether it has started and not ended."""
        return self.state in {ExperimentState.RUNNING, ExperimentState.PAUSED}

    def as_fields(self) -> dict[str, Any]:
        """Return the test as plain values, as the API and the command line show it."""
        content, started_at, ended_at = self.content, self.started_at, self.ended_at
        return {
            "name": self.name,
            "placement": content.placement or None,
            "goal": content.goal.value,
            "state": self.state.value,
            "control": content.shares[CONTROL],
            "variants": [
                {
                    "name": variant.name,
                    "share": variant.share,
                    "changes": dict(variant.changes),
                }
                for variant in content.variants
            ],
            "winner": self.winner or None,
            "created_at": iso(self.created_at),
            "started_at": None if started_at is None else iso(started_at),
            "ended_at": None if ended_at is None else iso(ended_at),
        }


def validate_experiment(
    name: str, content: ExperimentContent, placement: PlacementContent | None
) -> ExperimentContent:
    """Return the content in its stored form; `placement` is the tested one as it is now.

    Raises:
        ExperimentError: when a part is invalid.
    """
    if not _NAME.fullmatch(name):
        message = (
            "a test's name has 1 to 64 lower-case letters, digits, dashes and underscores, "
            "such as cart-size"
        )
        raise ExperimentError(message, "name")
    if not 1 <= len(content.variants) <= MAX_VARIANTS:
        message = f"a test has 1 to {MAX_VARIANTS} variants beside the control"
        raise ExperimentError(message, "variants")
    names = [variant.name for variant in content.variants]
    for variant in content.variants:
        _check_variant(variant, names)
    if content.shares[CONTROL] < MIN_SHARE:
        message = (
            f"the shares add up to {100 - content.shares[CONTROL]:g} per cent; leave at "
            f"least {MIN_SHARE:g} for the control"
        )
        raise ExperimentError(message, "variants")
    stored = tuple(
        replace(variant, changes=_validate_changes(variant, placement))
        for variant in content.variants
    )
    for at, variant in enumerate(stored):
        if variant.changes in [other.changes for other in stored[:at]]:
            message = f"the variant {variant.name} is the same as another one"
            raise ExperimentError(message, "variants")
    return replace(content, variants=stored)


def _check_variant(variant: Treatment, names: list[str]) -> None:
    if not _VARIANT.fullmatch(variant.name):
        message = (
            "a variant's name has 1 to 8 lower-case letters, digits, dashes and "
            "underscores, such as similar"
        )
        raise ExperimentError(message, "variants")
    if variant.name == CONTROL or names.count(variant.name) > 1:
        message = f"name each variant once, and none {CONTROL}: that is what you have now"
        raise ExperimentError(message, "variants")
    if not MIN_SHARE <= variant.share <= 100 - MIN_SHARE:  # false for NaN
        message = f"{variant.name}: a share is from 1 to 99 per cent"
        raise ExperimentError(message, "variants")


def _validate_changes(
    variant: Treatment, placement: PlacementContent | None
) -> dict[str, Any]:
    """Return a variant's changes with typed values, without those that change nothing."""
    known = SEARCH_FIELDS if placement is None else PLACEMENT_FIELDS
    unknown = sorted(set(variant.changes) - set(known))
    if unknown:
        message = (
            f"{variant.name}: there is no {unknown[0][:64]!r} to change; there are "
            f"{', '.join(known)}"
        )
        raise ExperimentError(message, "variants")
    if placement is None:
        changes: dict[str, Any] = dict(changed_settings(variant))
    else:
        changed = msgspec.to_builtins(changed_placement(placement, variant))
        present = msgspec.to_builtins(placement)
        changes = {name: changed[name] for name in known if changed[name] != present[name]}
    if not changes:
        message = f"{variant.name}: say what it changes; it is the same as the control"
        raise ExperimentError(message, "variants")
    return changes


def changed_placement(placement: PlacementContent, variant: Treatment) -> PlacementContent:
    """Return a placement's content with the changes of a variant.

    Raises:
        ExperimentError: when the result is invalid.
    """
    merged = {**msgspec.to_builtins(placement), **variant.changes}
    try:
        content = msgspec.convert(merged, PlacementContent, strict=False)
        msgspec.json.encode(content)  # half a surrogate pair cannot be stored
        return validate_placement("variant", content)
    except (msgspec.ValidationError, UnicodeEncodeError, PlacementError) as error:
        raise ExperimentError(f"{variant.name}: {error}", "variants") from error


def changed_settings(variant: Treatment) -> dict[str, SettingValue]:
    """Return the settings of search that a variant changes.

    Raises:
        ExperimentError: when a value is invalid.
    """
    try:
        return {
            name: parse_setting(name, str(value).lower())
            for name, value in variant.changes.items()
        }
    except SettingError as error:
        raise ExperimentError(f"{variant.name}: {error}", "variants") from error
