"""Call meter: counts in memory, sums over processes, and resets each month."""

import itertools
from dataclasses import dataclass, field

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.tenancy.billing.call_meter import BillingStatus, CallMeter, QuotaNotice
from productrecs.tenancy.billing.plans_and_subscriptions import (
    DEFAULT_PLANS,
    Plan,
    Subscription,
)

NOON = parse_timestamp("2026-03-01T12:00:00Z")
APRIL = parse_timestamp("2026-04-01T00:00:00Z")
PLANS = {**DEFAULT_PLANS, "ten": Plan("ten", 10, 10)}
TEN = Subscription("ten")
WARN = BillingStatus.WARN
OVER = BillingStatus.OVER_QUOTA
SUSPENDED = BillingStatus.SUSPENDED


@dataclass
class Usage:
    """Stands for the database: one count a month, and how often a flush was requested."""

    calls: dict[str, int] = field(default_factory=dict)
    requested: int = 0

    def request_flush(self) -> None:
        """Be called, as the flush thread is."""
        self.requested += 1

    def flush(self, meter: CallMeter) -> None:
        """Do what the flush thread does."""
        for month in meter.months_to_flush():
            if calls := month.unsaved:
                total = self.calls.get(month.month, 0) + calls
                self.calls[month.month] = total
                month.record_flush(calls, total, meter.limit)
        meter.drop_stored_months()
        self.learn(meter)

    def learn(self, meter: CallMeter) -> None:
        """Let the meter know what others counted."""
        present = meter.months_to_flush()[-1]
        present.set_stored_total(self.calls.get(present.month, 0), meter.limit)


@pytest.fixture
def usage() -> Usage:
    return Usage()


def meter_of(
    usage: Usage, said: Subscription = TEN, stored: int = 0, now_ms: int = NOON
) -> CallMeter:
    return CallMeter(PLANS, said, now_ms, stored, usage.request_flush)


def serve(
    meter: CallMeter, times: int, said: Subscription = TEN, now_ms: int = NOON
) -> list[str]:
    """Ask and count as the middleware does; return the notice of each call."""
    notices = []
    for _ in range(times):
        notice = meter.check_quota(said, now_ms)
        if notice is None or not notice.is_cut_off:
            meter.count_call()
        notices.append("" if notice is None else f"{notice.status} {notice.used}")
    return notices


def test_ten_calls_are_answered_and_from_the_eighth_on_with_a_warning(usage: Usage) -> None:
    notices = serve(meter_of(usage), 12)

    assert notices == [""] * 7 + ["warn 8", "warn 9", "warn 10"] + ["over_quota 10"] * 2


def test_what_is_stored_counts_too(usage: Usage) -> None:
    assert serve(meter_of(usage, stored=7), 1) == ["warn 8"]
    assert serve(meter_of(usage, stored=10), 1) == ["over_quota 10"]


def test_withheld_calls_are_not_counted(usage: Usage) -> None:
    meter = meter_of(usage)
    serve(meter, 50)
    usage.flush(meter)

    assert usage.calls == {"2026-03": 10}


def test_two_processes_add_up(usage: Usage) -> None:
    one, other = meter_of(usage), meter_of(usage)
    serve(one, 4)
    serve(other, 5)
    assert serve(other, 1) == [""]  # it knows of its own only

    for meter in (one, other, one):
        usage.flush(meter)

    assert usage.calls == {"2026-03": 10}
    for meter in (one, other):
        assert meter.check_quota(TEN, NOON) == QuotaNotice(OVER, 10, 10)


def test_what_is_counted_during_a_flush_is_not_lost(usage: Usage) -> None:
    meter = meter_of(usage)
    serve(meter, 3)
    (month,) = meter.months_to_flush()
    calls = month.unsaved
    serve(meter, 2)  # while the database writes the three
    month.record_flush(calls, calls, meter.limit)

    assert (month.unsaved, month.used) == (2, 5)
    usage.calls["2026-03"] = 3
    usage.flush(meter)
    assert (month.unsaved, month.used, usage.calls) == (0, 5, {"2026-03": 5})


@pytest.mark.parametrize(("after", "months"), [(-1, 1), (0, 2), (1, 2)])
def test_the_month_turns_at_its_millisecond_and_the_old_one_is_kept_whole(
    usage: Usage, after: int, months: int
) -> None:
    meter = meter_of(usage)
    assert serve(meter, 9)[-1] == "warn 9"

    notices = serve(meter, 1, now_ms=APRIL + after)

    assert notices == (["warn 10"] if months == 1 else [""])
    assert len(meter.months_to_flush()) == months
    usage.flush(meter)
    kept = {"2026-03": 10} if months == 1 else {"2026-03": 9, "2026-04": 1}
    assert usage.calls == kept
    assert len(meter.months_to_flush()) == 1


def test_a_clock_that_is_set_ahead_and_back_suspends_no_store(usage: Usage) -> None:
    trial = Subscription("ten", ends_at=APRIL - 1)
    meter = meter_of(usage, trial)

    assert meter.check_quota(trial, NOON) is None
    assert meter.check_quota(trial, APRIL - 1) == QuotaNotice(SUSPENDED)
    assert meter.check_quota(trial, NOON) is None


@pytest.mark.parametrize("is_flushed_between", [False, True])
def test_a_clock_that_is_set_a_month_ahead_and_back_counts_each_call_once(
    usage: Usage, *, is_flushed_between: bool
) -> None:
    meter = meter_of(usage)
    for now_ms, calls in ((NOON, 4), (APRIL, 2), (NOON, 3), (APRIL, 1), (NOON, 2)):
        serve(meter, calls, now_ms=now_ms)
        if is_flushed_between:
            usage.flush(meter)
            usage.learn(meter)
    usage.flush(meter)

    assert usage.calls == {"2026-03": 9, "2026-04": 3}
    assert len(meter.months_to_flush()) == 1
    assert serve(meter, 2) == ["warn 10", "over_quota 10"]


def test_a_plan_that_the_configuration_lacks_limits_nothing(usage: Usage) -> None:
    lost = Subscription("gone-from-the-file")

    assert serve(meter_of(usage, lost, stored=10**9), 3, lost) == [""] * 3


def test_near_the_limit_few_calls_wait_for_their_flush(usage: Usage) -> None:
    said = Subscription("trial")
    meter = meter_of(usage, said)
    usage.learn(meter)
    waiting = dict.fromkeys(range(1, 10_001), 0)
    for count in waiting:
        meter.check_quota(said, NOON)
        meter.count_call()
        waiting[count] = meter.months_to_flush()[-1].unsaved
        if usage.requested:
            usage.requested = 0
            usage.flush(meter)

    assert max(itertools.islice(waiting.values(), 9_850, None)) <= 10


def test_a_flush_is_requested_once_not_with_every_call(usage: Usage) -> None:
    said = Subscription("trial")
    meter = meter_of(usage, said)
    usage.learn(meter)
    serve(meter, 5_000, said)

    assert usage.requested == 1


def test_a_plan_without_a_limit_never_requests_a_flush(usage: Usage) -> None:
    said = Subscription("unlimited")
    meter = meter_of(usage, said)
    usage.learn(meter)
    serve(meter, 5_000, said)

    assert usage.requested == 0
