"""User repository: SQL of a store's users, their sessions and reset links."""

from dataclasses import dataclass

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    dashboard_resets,
    dashboard_sessions,
    dashboard_users,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role


@dataclass(frozen=True, slots=True)
class SessionBrowser:
    """The browser's user agent and address at the start of a session."""

    agent: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A stored session."""

    store_id: StoreId
    token_hash: str
    began: int
    seen: int
    browser: SessionBrowser


class UserRepository(StoreScopedRepository):
    """The logins of one store, inside one transaction; never commits."""

    @property
    def store_id(self) -> StoreId:
        """The store whose logins these are."""
        return self._store_id

    def all(self) -> list[DashboardUser]:
        """Return every login, oldest first."""
        query = (
            sa.select(dashboard_users)
            .where(dashboard_users.c.store_id == self._store_id)
            .order_by(dashboard_users.c.created_at, dashboard_users.c.user_id)
        )
        return [user_of_row(row) for row in self._connection.execute(query).mappings()]

    def add(self, user: DashboardUser, now_ms: int) -> None:
        """Store a new login."""
        self._insert_row(
            dashboard_users,
            user_id=user.user_id,
            email=user.email,
            role=user.role.label,
            password_hash=user.password_hash,
            created_at=now_ms,
            login_id=user.login_id,
            confirmed_at=user.confirmed_at,
        )

    def find(self, user_id: str) -> DashboardUser | None:
        """Return a user; None when the store has no such user."""
        query = sa.select(dashboard_users).where(
            self._own_rows(dashboard_users, user_id=user_id)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else user_of_row(row)

    def set_password(self, user_id: str, password_hash: str) -> None:
        """Replace a password."""
        self._set(user_id, password_hash=password_hash)

    def set_email(self, user_id: str, email: str) -> None:
        """Replace an address."""
        self._set(user_id, email=email)

    def set_role(self, user_id: str, role: Role) -> None:
        """Replace a role."""
        self._set(user_id, role=role.label)

    def set_login(self, user: DashboardUser) -> None:
        """Store a user's login, password and confirmation, as the login has them."""
        self._set(
            user.user_id,
            login_id=user.login_id,
            password_hash=user.password_hash,
            confirmed_at=user.confirmed_at,
        )

    def set_confirmed(self, user_id: str, now_ms: int) -> None:
        """Record that the user receives mails at the address."""
        self._set(user_id, confirmed_at=now_ms)

    def set_entered(self, user_id: str, now_ms: int) -> None:
        """Record that a session begins."""
        self._set(user_id, entered_at=now_ms)

    def _set(self, user_id: str, **values: object) -> None:
        self._update_rows(dashboard_users, dashboard_users.c.user_id == user_id, **values)

    def remove(self, user_id: str) -> None:
        """Delete a login; end its sessions first."""
        self._delete_rows(dashboard_users, user_id=user_id)

    def sessions_of(self, user_id: str) -> list[StoredSession]:
        """Return every session of a user, last used first."""
        query = (
            sa.select(dashboard_sessions)
            .where(self._own_rows(dashboard_sessions, user_id=user_id))
            .order_by(dashboard_sessions.c.seen_at.desc(), dashboard_sessions.c.token_hash)
        )
        return [
            StoredSession(
                self._store_id,
                row.token_hash,
                row.created_at,
                row.seen_at,
                SessionBrowser(row.agent or "", row.address or ""),
            )
            for row in self._connection.execute(query)
        ]

    def add_session(
        self, token_hash: str, user: DashboardUser, now_ms: int, browser: SessionBrowser
    ) -> None:
        """Store a session that starts now."""
        self._insert_row(
            dashboard_sessions,
            token_hash=token_hash,
            user_id=user.user_id,
            created_at=now_ms,
            seen_at=now_ms,
            agent=browser.agent[:200],
            address=browser.address[:64],
            from_shop=user.is_from_shop,
        )

    def find_user_and_session_times(
        self, token_hash: str
    ) -> tuple[DashboardUser, int, int] | None:
        """Return a session's user, its start and its last use."""
        query = (
            sa.select(
                dashboard_users,
                dashboard_sessions.c.created_at.label("began"),
                dashboard_sessions.c.seen_at,
                dashboard_sessions.c.from_shop,
            )
            .join(
                dashboard_sessions,
                (dashboard_sessions.c.store_id == dashboard_users.c.store_id)
                & (dashboard_sessions.c.user_id == dashboard_users.c.user_id),
            )
            .where(
                dashboard_sessions.c.store_id == self._store_id,
                dashboard_sessions.c.token_hash == token_hash,
            )
        )
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return None
        user = (
            user_of_row(row).limited_to_shop_session()
            if row["from_shop"]
            else user_of_row(row)
        )
        return user, row["began"], row["seen_at"]

    def touch_session(self, token_hash: str, now_ms: int) -> None:
        """Record that a session is in use."""
        self._update_rows(
            dashboard_sessions,
            dashboard_sessions.c.token_hash == token_hash,
            seen_at=now_ms,
        )

    def end_session(self, token_hash: str) -> None:
        """Delete one session."""
        self._delete_rows(dashboard_sessions, token_hash=token_hash)

    def end_sessions_and_reset_links(self, user_id: str, except_token: str = "") -> None:
        """Delete every session of a user except `except_token`, and every reset link."""
        for table in (dashboard_sessions, dashboard_resets):
            self._delete_rows(table, table.c.token_hash != except_token, user_id=user_id)

    def end_old_sessions(self, started_before_ms: int, seen_before_ms: int) -> None:
        """Delete the store's expired sessions."""
        self._delete_rows(
            dashboard_sessions,
            (dashboard_sessions.c.created_at < started_before_ms)
            | (dashboard_sessions.c.seen_at < seen_before_ms),
        )

    def replace_reset_link(
        self, token_hash: str, user_id: str, expires_at: int, *, mailed: bool = False
    ) -> None:
        """Store a reset link, replacing the user's earlier ones.

        `mailed` says that only the owner of the user's address has the link.
        """
        self._delete_rows(dashboard_resets, user_id=user_id)
        self._insert_row(
            dashboard_resets,
            token_hash=token_hash,
            user_id=user_id,
            expires_at=expires_at,
            mailed=mailed,
        )

    def find_reset_user_and_is_mailed(
        self, token_hash: str, now_ms: int
    ) -> tuple[DashboardUser, bool] | None:
        """Return a reset link's user, and whether only a mail had the link.

        None when it is unknown, used or expired.
        """
        query = (
            sa.select(dashboard_users, dashboard_resets.c.mailed)
            .join(
                dashboard_resets,
                (dashboard_resets.c.store_id == dashboard_users.c.store_id)
                & (dashboard_resets.c.user_id == dashboard_users.c.user_id),
            )
            .where(
                dashboard_resets.c.store_id == self._store_id,
                dashboard_resets.c.token_hash == token_hash,
                dashboard_resets.c.expires_at > now_ms,
            )
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else (user_of_row(row), bool(row["mailed"]))

    def remove_reset(self, token_hash: str) -> bool:
        """Delete a reset link; return True for only one of concurrent calls."""
        return self._delete_rows(dashboard_resets, token_hash=token_hash) > 0


def user_of_row(row: sa.RowMapping) -> DashboardUser:
    """Return a row of `dashboard_users` as a user."""
    return DashboardUser(
        store_id=StoreId(row["store_id"]),
        user_id=row["user_id"],
        email=row["email"],
        role=Role[row["role"].upper()],
        password_hash=row["password_hash"],
        login_id=row["login_id"],
        confirmed_at=row["confirmed_at"],
        entered_at=row["entered_at"] or 0,
    )
