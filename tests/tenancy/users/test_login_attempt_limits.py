"""Attempt limits: failures are counted in the database, by every process together."""

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import login_attempts
from productrecs.tenancy.users.login_attempt_limits import (
    LoginAttemptLimits,
    TooManyAttemptsError,
    network_of,
)
from tests.support.clock import FakeClock


def limits(database: Database, clock: FakeClock[int]) -> LoginAttemptLimits:
    return LoginAttemptLimits(database, clock, burst=3, seconds=60)


def is_open(one: LoginAttemptLimits, *names: str) -> bool:
    try:
        one.check_attempts_left(*names)
    except TooManyAttemptsError:
        return False
    return True


def test_two_processes_count_the_failures_of_a_name_together(database: Database) -> None:
    clock = FakeClock(1_000_000)
    here, there = limits(database, clock), limits(database, clock)

    here.count_failure("account a", "address 1")
    there.count_failure("account a", "address 2")
    assert is_open(here, "account a")
    here.count_failure("account a", "address 1")

    assert not is_open(there, "account a", "address 3")
    assert is_open(there, "account b", "address 1")


def test_one_more_attempt_comes_with_time_and_all_after_a_success(
    database: Database,
) -> None:
    clock = FakeClock(1_000_000)
    one = limits(database, clock)
    for _ in range(3):
        one.count_failure("account a")
    with pytest.raises(TooManyAttemptsError) as refusal:
        one.check_attempts_left("account a")
    assert 60 <= refusal.value.seconds <= 61

    clock.now += 60_000
    assert is_open(one, "account a")
    one.count_failure("account a")
    assert not is_open(one, "account a")
    one.clear_failures("account a")

    assert is_open(one, "account a")


def test_full_buckets_are_deleted_and_names_are_not_stored(database: Database) -> None:
    clock = FakeClock(1_000_000)
    one = limits(database, clock)
    one.count_failure("account anna@shop.example")
    clock.now += 60_001

    one.count_failure("address 203.0.113.7")

    with database.reading() as connection:
        rows = connection.execute(sa.select(login_attempts)).all()
    assert len(rows) == 1
    assert "203.0.113.7" not in str(rows)


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_an_ipv6_customer_counts_as_one(address: str, counted: str) -> None:
    assert network_of(address) == counted
