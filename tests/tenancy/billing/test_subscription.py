"""Subscription: ends at an exact millisecond, or by suspension."""

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.core.timestamps import parse_timestamp
from productrecs.tenancy.billing.call_meter import (
    BillingStatus,
    QuotaNotice,
    UtcMonth,
    month_at,
    quota_notice,
    warning_threshold,
)
from productrecs.tenancy.billing.plans_and_subscriptions import (
    BillingInactiveError,
    Subscription,
)

NOON = parse_timestamp("2026-03-01T12:00:00Z")


def test_the_refusal_says_why() -> None:
    Subscription("growth").check_active(NOON)
    with pytest.raises(
        BillingInactiveError, match=r"trial\) ended at 2026-03-01T12:00:00.000Z"
    ):
        Subscription("trial", ends_at=NOON).check_active(NOON)
    with pytest.raises(BillingInactiveError, match="suspended; ask"):
        Subscription("trial").suspended(NOON).check_active(NOON)


WARN = BillingStatus.WARN
OVER = BillingStatus.OVER_QUOTA
SUSPENDED = BillingStatus.SUSPENDED


def test_the_last_call_of_a_quota_is_answered_and_its_notice_counts_it() -> None:
    notices = [
        quota_notice(used, 10_000, is_active=True, requested=1)
        for used in range(7_998, 10_002)
    ]

    assert notices[:2] == [None, QuotaNotice(WARN, 8_000, 10_000)]
    assert notices[-3:] == [
        QuotaNotice(WARN, 10_000, 10_000),
        QuotaNotice(OVER, 10_000, 10_000),
        QuotaNotice(OVER, 10_001, 10_000),
    ]


def test_a_limit_of_nothing_is_used_up_from_the_start() -> None:
    assert quota_notice(0, 0, is_active=True, requested=1) == QuotaNotice(OVER, 0, 0)


@given(limit=st.integers(0, 10**15))
def test_80_per_cent_is_exact_for_every_limit(limit: int) -> None:
    first = warning_threshold(limit)

    assert first * 100 >= limit * 80
    assert (first - 1) * 100 < limit * 80


@pytest.mark.parametrize(
    ("moment", "after", "name"),
    [
        ("2026-11-01T00:00:00Z", -1, "2026-10"),
        ("2026-11-01T00:00:00Z", 0, "2026-11"),
        ("2026-11-01T00:00:00Z", 1, "2026-11"),
        ("2027-01-01T00:00:00Z", -1, "2026-12"),
        ("2027-01-01T00:00:00Z", 0, "2027-01"),
        ("2028-03-01T00:00:00Z", -1, "2028-02"),
        ("1970-01-01T00:00:00Z", 0, "1970-01"),
        ("9999-12-31T23:59:59Z", 0, "9999-12"),
    ],
)
def test_a_month_begins_and_ends_at_midnight_of_utc(
    moment: str, after: int, name: str
) -> None:
    assert month_at(parse_timestamp(moment) + after).name == name


@given(moment=st.integers(0, 253_402_300_799_999))
def test_every_moment_is_in_a_month_that_ends_where_the_next_begins(moment: int) -> None:
    month = month_at(moment)
    year, number = map(int, month.name.split("-"))
    days = calendar.monthrange(year, number)[1]

    assert month == UtcMonth(month.name, month.ends_at)
    assert month.ends_at - days * 86_400_000 <= moment < month.ends_at
