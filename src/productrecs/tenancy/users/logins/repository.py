"""Login repository: a login's rows in all its stores, which change together.

A login has a row in every store that it opens. The rows have one `login_id`, and equal
e-mails, passwords, second factors and confirmations: a change is made in all of them.
"""

from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import random_text
from productrecs.storage.sql.dialects import put_row
from productrecs.storage.sql.tables import counters, dashboard_users
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.repository import StoredSession, UserRepository, user_of_row
from productrecs.tenancy.users.second_factors.repository import (
    SecondFactor,
    SecondFactorRepository,
)

_ID_LENGTH: Final = 16


class EmailTakenError(ProductRecsError):
    """The e-mail has a login, which can open several stores."""

    def __init__(self, email: str) -> None:
        """Name the e-mail."""
        super().__init__(f"{email} has a login already")
        self.email = email


class LoginRemovedError(ProductRecsError):
    """The login was removed from its last store."""


class CrossStoreLoginRepository:
    """Every login in all its stores, in one transaction; never commits."""

    def __init__(self, connection: sa.Connection) -> None:
        """Work on the rows of all stores."""
        self._connection = connection

    def lock_all_logins(self) -> None:
        """Wait for other changes of logins and their stores; then be the only one.

        So no e-mail gets two logins, and a login's rows stay equal in all its stores.
        """
        put_row(
            self._connection, counters, summed_columns=("value",), name="logins", value=1
        )

    def lock_and_check_email_free(self, email: str | None) -> None:
        """Lock all logins, so that a new one can have this e-mail.

        Raises:
            EmailTakenError: a login has it.
        """
        self.lock_all_logins()
        if email is not None and self.find_by_email(email):
            raise EmailTakenError(email)

    def find_by_email(self, email: str) -> list[DashboardUser]:
        """Return the rows of a normalised address in all stores, oldest first."""
        return self._find(dashboard_users.c.email == email)

    def find(self, user: DashboardUser) -> list[DashboardUser]:
        """Return a user's login in each of its stores, oldest first."""
        if user.login_id is None:
            return [user]
        return self._find(dashboard_users.c.login_id == user.login_id)

    def lock_and_find(self, user: DashboardUser) -> list[DashboardUser]:
        """Lock the logins; return this one in each of its stores, as it is now."""
        self.lock_all_logins()
        users = UserRepository(self._connection, user.store_id)
        current = users.find(user.user_id)
        return [] if current is None else self.find(current)

    def add_store_to_login(
        self, login: DashboardUser, newcomer: DashboardUser, now_ms: int
    ) -> DashboardUser:
        """Let `login` open another store, with `newcomer`'s id and role; return it there.

        Raises:
            LoginRemovedError: the login was removed meanwhile.
        """
        first = self._lock_and_find_first(login)
        if first.login_id is None:
            first = replace(first, login_id=random_text(_ID_LENGTH))
            UserRepository(self._connection, first.store_id).set_login(first)
        added = replace(
            first,
            store_id=newcomer.store_id,
            user_id=newcomer.user_id,
            role=newcomer.role,
            entered_at=0,
        )
        UserRepository(self._connection, added.store_id).add(added, now_ms)
        self._copy_factor(first, added)
        return added

    def join_logins(
        self, login: DashboardUser, others: list[DashboardUser]
    ) -> DashboardUser:
        """Make `others` part of `login`: its password and second factor open their stores.

        Only for logins that one person has proved to own. The sessions and reset links of
        `others` end, since they never passed the second factor of `login`.
        """
        held = self._lock_and_find_first(login)
        kept = self.find(held)
        joined = [user for other in others for user in self.lock_and_find(other)]
        times = [user.confirmed_at for user in (*kept, *joined) if user.confirmed_at]
        first = replace(
            held,
            login_id=held.login_id or random_text(_ID_LENGTH),
            confirmed_at=min(times, default=None),
        )
        for user in (*kept, *joined):
            users = UserRepository(self._connection, user.store_id)
            users.set_login(replace(first, user_id=user.user_id))
            if not user.is_same_login(held):
                users.end_sessions_and_reset_links(user.user_id)
                self._copy_factor(first, user)
        return replace(login, login_id=first.login_id, confirmed_at=first.confirmed_at)

    def find_joinable_logins(self, login: DashboardUser) -> list[DashboardUser]:
        """Return the other logins with the e-mail that have no second factor."""
        if login.email is None:
            return []
        found = {
            user.login_key: user
            for user in self.find_by_email(login.email)
            if not user.is_same_login(login) and not self.has_factor(user)
        }
        return list(found.values())

    def set_email(self, user: DashboardUser, email: str) -> None:
        """Replace a login's address."""
        for own_user in self.lock_and_find(user):
            UserRepository(self._connection, own_user.store_id).set_email(
                own_user.user_id, email
            )

    def set_confirmed(self, user: DashboardUser, now_ms: int) -> None:
        """Record that a login receives mails at its address."""
        for own_user in self.lock_and_find(user):
            users = UserRepository(self._connection, own_user.store_id)
            users.set_confirmed(own_user.user_id, now_ms)

    def set_password(self, user: DashboardUser, password_hash: str) -> None:
        """Replace a login's password."""
        for own_user in self.lock_and_find(user):
            users = UserRepository(self._connection, own_user.store_id)
            users.set_password(own_user.user_id, password_hash)

    def end_sessions_and_reset_links(
        self, user: DashboardUser, except_token: str = ""
    ) -> None:
        """Delete a login's sessions except `except_token`, and its reset links."""
        for own_user in self.lock_and_find(user):
            users = UserRepository(self._connection, own_user.store_id)
            users.end_sessions_and_reset_links(own_user.user_id, except_token=except_token)

    def sessions(self, user: DashboardUser) -> list[StoredSession]:
        """Return a login's sessions in all stores, last used first."""
        found = [
            session
            for own_user in self.find(user)
            for session in UserRepository(self._connection, own_user.store_id).sessions_of(
                own_user.user_id
            )
        ]
        return sorted(found, key=lambda session: (-session.seen, session.token_hash))

    def has_factor(self, user: DashboardUser) -> bool:
        """Return whether a login has an enabled second factor."""
        factors = SecondFactorRepository(self._connection, user.store_id)
        factor = factors.find(user.user_id)
        return factor is not None and factor.enabled_at is not None

    def lock_and_find_factor(self, user: DashboardUser) -> SecondFactor | None:
        """Return a login's second factor; no other transaction changes it now."""
        self.lock_all_logins()
        return SecondFactorRepository(self._connection, user.store_id).find(user.user_id)

    def put_factor(self, user: DashboardUser, factor: SecondFactor) -> None:
        """Store a second factor for all stores of a login: a code works once in any."""
        for own_user in self.lock_and_find(user):
            factors = SecondFactorRepository(self._connection, own_user.store_id)
            factors.put(replace(factor, user_id=own_user.user_id))

    def remove_factor_and_challenges(self, user: DashboardUser) -> None:
        """Delete a login's second factor, and the logins that wait for a code."""
        for own_user in self.lock_and_find(user):
            SecondFactorRepository(self._connection, own_user.store_id).remove(
                own_user.user_id
            )

    def _lock_and_find_first(self, login: DashboardUser) -> DashboardUser:
        found = self.lock_and_find(login)
        if not found:
            message = "your login was removed; log in again"
            raise LoginRemovedError(message)
        return found[0]

    def _copy_factor(self, source: DashboardUser, target: DashboardUser) -> None:
        factors = SecondFactorRepository(self._connection, source.store_id)
        factor = factors.find(source.user_id)
        targets = SecondFactorRepository(self._connection, target.store_id)
        if factor is None:
            targets.remove(target.user_id)
        else:
            targets.put(replace(factor, user_id=target.user_id))

    def _find(self, criterion: sa.ColumnElement[bool]) -> list[DashboardUser]:
        query = (
            sa.select(dashboard_users)
            .where(criterion)
            .order_by(dashboard_users.c.created_at, dashboard_users.c.store_id)
        )
        return [user_of_row(row) for row in self._connection.execute(query).mappings()]
