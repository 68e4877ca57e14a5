"""Call meter: counts in memory, sums over processes, and resets each month."""

import itertools
from dataclasses import dataclass, field

import pytest

from productrecs.core.clock import parse_timestamp
from productrecs.tenancy.billing.call_meter import Meter
from productrecs.tenancy.billing.plans import DEFAULT_PLANS, Plan
from productrecs.tenancy.billing.quota_notice import BillingStatus, QuotaNotice
from productrecs.tenancy.billing.subscription import Subscription
from productrecs.tenancy.billing.usage_journal import UsageCounter

NOON = parse_timestamp("2026-03-01T12:00:00Z")
APRIL = parse_timestamp("2026-04-01T00:00:00Z")
PLANS = {**DEFAULT_PLANS, "ten": Plan("ten", 10, 10)}
TEN = Subscription("ten")
WARN, OVER, SUSPENDED = (
    BillingStatus.WARN,
    BillingStatus.OVER_QUOTA,
    BillingStatus.SUSPENDED,
)


@dataclass
class Shelf:
    """Stands for the database: one count a month, and what was asked of the keeper."""

    calls: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[UsageCounter]] = field(default_factory=dict)
    called: int = 0
    rounds: int = 0

    def open_line(self, month: str) -> UsageCounter:
        """Return a line for a process that counts, which others see."""
        line = UsageCounter.unlisted()
        self.lines.setdefault(month, []).append(line)
        return line

    def call(self) -> None:
        """Be called, as the keeper is."""
        self.called += 1

    def keep(self, meter: Meter) -> None:
        """Do what the keeper does."""
        for tally in meter.tallies():
            if calls := tally.unsaved:
                self.rounds += 1
                tally.line.prepare(self.rounds, calls)
                self.calls[tally.month] = self.calls.get(tally.month, 0) + calls
                tally.confirm(meter.limit)
        meter.settle()

    def learn(self, meter: Meter) -> None:
        """Do what the keeper does where nothing was counted."""
        tally = meter.tallies()[-1]
        others = [line for line in self.lines[tally.month] if line is not tally.line]
        tally.learn(self.calls.get(tally.month, 0), tuple(others), meter.limit)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def meter_of(
    shelf: Shelf, said: Subscription = TEN, stored: int = 0, now_ms: int = NOON
) -> Meter:
    return Meter(PLANS, said, now_ms, stored, shelf.open_line, shelf.call)


def serve(
    meter: Meter, times: int, said: Subscription = TEN, now_ms: int = NOON
) -> list[str]:
    """Ask and count as the gate does; return what was told each time."""
    told = []
    for _ in range(times):
        notice = meter.ask(said, now_ms)
        if notice is None or not notice.is_cut_off:
            meter.count()
        told.append("" if notice is None else f"{notice.status} {notice.used}")
    return told


def test_ten_calls_are_answered_and_from_the_eighth_on_it_is_told(shelf: Shelf) -> None:
    told = serve(meter_of(shelf), 12)

    assert told == [""] * 7 + ["warn 8", "warn 9", "warn 10"] + ["over_quota 10"] * 2


def test_what_is_stored_counts_too(shelf: Shelf) -> None:
    assert serve(meter_of(shelf, stored=7), 1) == ["warn 8"]
    assert serve(meter_of(shelf, stored=10), 1) == ["over_quota 10"]


def test_withheld_calls_are_not_counted(shelf: Shelf) -> None:
    meter = meter_of(shelf)
    serve(meter, 50)
    shelf.keep(meter)

    assert shelf.calls == {"2026-03": 10}


def test_two_processes_add_up(shelf: Shelf) -> None:
    one, other = meter_of(shelf), meter_of(shelf)
    serve(one, 4)
    serve(other, 5)
    assert serve(other, 1) == [""]  # it knows of its own only

    for meter in (one, other):
        shelf.keep(meter)
    for meter in (one, other):
        shelf.learn(meter)

    assert shelf.calls == {"2026-03": 10}
    for meter in (one, other):
        assert meter.ask(TEN, NOON) == QuotaNotice(OVER, 10, 10)


def test_what_is_counted_while_it_is_kept_is_not_lost(shelf: Shelf) -> None:
    meter = meter_of(shelf)
    serve(meter, 3)
    (tally,) = meter.tallies()
    tally.line.prepare(1, tally.unsaved)
    serve(meter, 2)  # while the database writes the three
    tally.confirm(meter.limit)

    assert (tally.unsaved, tally.used) == (2, 5)
    shelf.calls["2026-03"] = 3
    shelf.keep(meter)
    assert (tally.unsaved, tally.used, shelf.calls) == (0, 5, {"2026-03": 5})


@pytest.mark.parametrize(("after", "months"), [(-1, 1), (0, 2), (1, 2)])
def test_the_month_turns_at_its_millisecond_and_the_old_one_is_kept_whole(
    shelf: Shelf, after: int, months: int
) -> None:
    meter = meter_of(shelf)
    assert serve(meter, 9)[-1] == "warn 9"

    told = serve(meter, 1, now_ms=APRIL + after)

    assert told == (["warn 10"] if months == 1 else [""])
    assert len(meter.tallies()) == months
    shelf.keep(meter)
    kept = {"2026-03": 10} if months == 1 else {"2026-03": 9, "2026-04": 1}
    assert shelf.calls == kept
    assert len(meter.tallies()) == 1


def test_a_store_that_is_over_goes_on_with_the_next_month(shelf: Shelf) -> None:
    meter = meter_of(shelf, stored=10)
    assert meter.ask(TEN, APRIL - 1) == QuotaNotice(OVER, 10, 10)

    assert meter.ask(TEN, APRIL) is None


@pytest.mark.parametrize(("after", "told"), [(-1, None), (0, SUSPENDED), (1, SUSPENDED)])
def test_a_plan_ends_at_its_millisecond(
    shelf: Shelf, after: int, told: BillingStatus | None
) -> None:
    said = Subscription("unlimited", ends_at=NOON + 500)
    meter = meter_of(shelf, said)
    assert meter.ask(said, NOON) is None

    notice = meter.ask(said, NOON + 500 + after)

    assert (notice and notice.status) == told


def test_a_clock_that_is_set_ahead_and_back_suspends_nobody(shelf: Shelf) -> None:
    trial = Subscription("ten", ends_at=APRIL - 1)
    meter = meter_of(shelf, trial)

    assert meter.ask(trial, NOON) is None
    assert meter.ask(trial, APRIL - 1) == QuotaNotice(SUSPENDED)
    assert meter.ask(trial, NOON) is None


@pytest.mark.parametrize("is_kept_between", [False, True])
def test_a_clock_that_is_set_a_month_ahead_and_back_counts_each_call_once(
    shelf: Shelf, *, is_kept_between: bool
) -> None:
    meter = meter_of(shelf)
    for now_ms, calls in ((NOON, 4), (APRIL, 2), (NOON, 3), (APRIL, 1), (NOON, 2)):
        serve(meter, calls, now_ms=now_ms)
        if is_kept_between:
            shelf.keep(meter)
            shelf.learn(meter)
    shelf.keep(meter)

    assert shelf.calls == {"2026-03": 9, "2026-04": 3}
    assert len(meter.tallies()) == 1
    assert serve(meter, 2) == ["warn 10", "over_quota 10"]


def test_another_plan_and_a_suspension_hold_at_once(shelf: Shelf) -> None:
    meter = meter_of(shelf, stored=10)
    growth = TEN.changed(DEFAULT_PLANS["growth"], NOON)
    stopped = growth.suspended(NOON)

    assert meter.ask(TEN, NOON) == QuotaNotice(OVER, 10, 10)
    assert meter.ask(growth, NOON) is None
    assert meter.ask(stopped, NOON) == QuotaNotice(SUSPENDED)
    assert meter.ask(stopped.resumed(), NOON) is None


def test_a_plan_that_the_configuration_lacks_limits_nothing(shelf: Shelf) -> None:
    lost = Subscription("gone-from-the-file")

    assert serve(meter_of(shelf, lost, stored=10**9), 3, lost) == [""] * 3


def test_what_a_neighbour_counts_is_seen_as_it_is_counted(shelf: Shelf) -> None:
    one, other = meter_of(shelf), meter_of(shelf)
    for meter in (one, other):
        shelf.learn(meter)

    assert serve(one, 6) == [""] * 6
    assert serve(other, 2) == ["", "warn 8"]
    shelf.keep(one)  # what it brings is not counted twice
    assert serve(other, 1) == ["warn 9"]
    assert serve(one, 2) == ["warn 10", "over_quota 10"]
    shelf.learn(other)
    assert serve(other, 1) == ["over_quota 10"]


def test_near_the_limit_little_is_held_back(shelf: Shelf) -> None:
    said = Subscription("trial")
    meter = meter_of(shelf, said)
    shelf.learn(meter)
    held_back = dict.fromkeys(range(1, 10_001), 0)
    for count in held_back:
        meter.ask(said, NOON)
        meter.count()
        held_back[count] = meter.tallies()[-1].unsaved
        if shelf.called:
            shelf.called = 0
            shelf.keep(meter)

    assert max(itertools.islice(held_back.values(), 9_850, None)) <= 10


def test_the_keeper_is_called_once_not_with_every_call(shelf: Shelf) -> None:
    said = Subscription("trial")
    meter = meter_of(shelf, said)
    shelf.learn(meter)
    serve(meter, 5_000, said)

    assert shelf.called == 1


def test_a_plan_without_a_limit_never_calls_the_keeper(shelf: Shelf) -> None:
    said = Subscription("unlimited")
    meter = meter_of(shelf, said)
    shelf.learn(meter)
    serve(meter, 5_000, said)

    assert shelf.called == 0
