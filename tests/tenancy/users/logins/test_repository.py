"""Logins of several stores, on both databases: their rows change together."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from productrecs.core.clock import system_ms
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store_management import (
    Registration,
    find_or_create_owner,
    find_store,
    register_store,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.login_and_sessions import (
    active_sessions,
    begin_session,
    change_password_and_end_sessions,
    login_in_each_store,
    resume_session,
)
from productrecs.tenancy.users.logins.repository import (
    CrossStoreLoginRepository,
    EmailTakenError,
    LoginRemovedError,
)
from productrecs.tenancy.users.passwords import is_correct_password
from productrecs.tenancy.users.second_factors.repository import (
    SecondFactor,
    SecondFactorRepository,
)

PASSWORD = "correct horse battery"


def registered(
    database: Database, domain: str, email: str | None, owner: DashboardUser | None = None
) -> DashboardUser:
    wanted = Registration(domain, email, None if owner else PASSWORD, owner=owner)
    register_store(database, wanted, system_ms)
    return find_or_create_owner(database, find_store(database, domain))


def test_a_login_is_equal_in_all_its_stores(database: Database) -> None:
    first = registered(database, "a.example", "anna@example.com")
    factor = SecondFactor(first.user_id, "SECRET", 5, 1, ("hash",))
    with database.transaction() as transaction:
        CrossStoreLoginRepository(transaction).put_factor(first, factor)
    second = registered(database, "b.example", "anna@example.com", first)
    session = begin_session(database, second, 10)
    begin_session(database, first, 11)

    change_password_and_end_sessions(database, session, PASSWORD, "another password")
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        logins.set_confirmed(first, 77)
        logins.put_factor(second, factor.used_at(9))
        found = logins.find(second)
        steps = [
            SecondFactorRepository(transaction, one.store_id).find(one.user_id)
            for one in found
        ]

    assert [one.store_id for one in found] == [first.store_id, second.store_id]
    assert all(is_correct_password(one.password_hash, "another password") for one in found)
    assert {(one.email, one.confirmed_at) for one in found} == {("anna@example.com", 77)}
    assert [one.last_step for one in steps if one is not None] == [9, 9]
    assert [one.store_id for one in active_sessions(database, session, 20)] == [
        second.store_id
    ]
    resumed = resume_session(database, session.token, 20)
    assert resumed is not None
    assert login_in_each_store(database, resumed.user.limited_to_shop_session()) == [
        resumed.user.limited_to_shop_session()
    ]
    assert len(login_in_each_store(database, resumed.user)) == 2


def test_one_email_gets_one_login_whoever_comes_at_once(database: Database) -> None:
    def attempt(number: int) -> bool:
        try:
            registered(database, f"shop{number}.example", "Anna@example.com")
        except EmailTakenError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == [False, False, False, True]


def test_joined_logins_have_one_password_and_the_second_factor_of_the_kept_one(
    database: Database,
) -> None:
    kept, other = (registered(database, f"{one}.example", None) for one in "ab")
    begun = begin_session(database, other, 10)
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        logins.put_factor(kept, SecondFactor(kept.user_id, "SECRET", 5, 1, ()))
        logins.join_logins(kept, [other])
        found = logins.find(logins.lock_and_find(other)[0])

        assert [one.store_id for one in found] == [kept.store_id, other.store_id]
        assert {one.password_hash for one in found} == {kept.password_hash}
        assert all(logins.has_factor(one) for one in found)
    assert resume_session(database, begun.token, 11) is None


def test_a_login_that_was_removed_gets_no_store(database: Database) -> None:
    login = registered(database, "a.example", "anna@example.com")
    with database.transaction() as transaction:
        transaction.exec_driver_sql("DELETE FROM dashboard_users")

    with pytest.raises(LoginRemovedError):
        registered(database, "b.example", "anna@example.com", login)
