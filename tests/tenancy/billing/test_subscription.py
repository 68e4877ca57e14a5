"""Subscription: ends at an exact millisecond, or by suspension."""

import pytest

from productrecs.core.clock import DAY_MS, parse_timestamp
from productrecs.tenancy.billing.plans import DEFAULT_PLANS, TRIAL
from productrecs.tenancy.billing.subscription import (
    BillingInactiveError,
    Subscription,
    first_subscription,
)

NOON = parse_timestamp("2026-03-01T12:00:00Z")
GROWTH = DEFAULT_PLANS["growth"]


@pytest.mark.parametrize(("after", "is_active"), [(-1, True), (0, False), (1, False)])
def test_a_trial_ends_after_14_days_to_the_millisecond(
    after: int, *, is_active: bool
) -> None:
    trial = first_subscription(TRIAL, NOON)

    assert trial.is_active(NOON + 14 * DAY_MS + after) is is_active


def test_a_plan_without_days_does_not_end() -> None:
    assert first_subscription(GROWTH, NOON) == Subscription("growth")


def test_another_plan_begins_now_and_ends_when_said_or_when_its_days_are_over() -> None:
    over = first_subscription(TRIAL, NOON - 20 * DAY_MS)

    assert not over.is_active(NOON)
    assert over.changed(GROWTH, NOON) == Subscription("growth")
    assert over.changed(GROWTH, NOON, NOON + 5).ends_at == NOON + 5
    assert over.changed(TRIAL, NOON).ends_at == NOON + 14 * DAY_MS
    assert over.changed(TRIAL, NOON, NOON + 5).ends_at == NOON + 5


def test_a_suspension_stays_until_it_is_taken_back() -> None:
    said = Subscription("growth").suspended(NOON)

    assert said.suspended(NOON + 1) == said
    assert not said.is_active(NOON)
    assert not said.changed(GROWTH, NOON).is_active(NOON)
    assert said.resumed() == Subscription("growth")
    assert said.resumed().is_active(NOON)


def test_to_resume_does_not_prolong_a_plan_that_is_over() -> None:
    over = Subscription("trial", ends_at=NOON).suspended(NOON - 5)

    assert not over.resumed().is_active(NOON)


def test_the_refusal_says_why() -> None:
    Subscription("growth").check_active(NOON)
    with pytest.raises(
        BillingInactiveError, match=r"trial\) ended at 2026-03-01T12:00:00.000Z"
    ):
        Subscription("trial", ends_at=NOON).check_active(NOON)
    with pytest.raises(BillingInactiveError, match="suspended; ask"):
        Subscription("trial").suspended(NOON).check_active(NOON)
