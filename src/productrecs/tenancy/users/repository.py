"""User repository: SQL of users, sessions, reset links, second factors, invitations."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.store_repository import StoreRepository
from productrecs.storage.sql.tables import (
    dashboard_challenges,
    dashboard_invitations,
    dashboard_resets,
    dashboard_second_factors,
    dashboard_sessions,
    dashboard_users,
    login_attempts,
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


class UserRepository(StoreRepository):
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


class LoginAttemptRepository:
    """Token buckets of failures; names may belong to no store; never commits."""

    def __init__(self, connection: sa.Connection) -> None:
        """Work on every bucket."""
        self._connection = connection

    def latest_refill_ms(self, hashes: Sequence[str]) -> int:
        """Return when the last of these buckets is full again; 0 if all are full."""
        query = sa.select(sa.func.max(login_attempts.c.full_at)).where(
            login_attempts.c.name_hash.in_(hashes)
        )
        return self._connection.execute(query).scalar() or 0

    def count_failure(self, name_hash: str, now_ms: int, step_ms: int) -> None:
        """Count a failure: the bucket is full `step_ms` later than without it."""
        full_at = login_attempts.c.full_at
        later = sa.case((full_at > now_ms, full_at), else_=now_ms) + step_ms
        row = upsert(self._connection, login_attempts).values(
            name_hash=name_hash, full_at=now_ms + step_ms
        )
        self._connection.execute(
            row.on_conflict_do_update(index_elements=["name_hash"], set_={"full_at": later})
        )

    def delete(self, hashes: Sequence[str]) -> None:
        """Delete buckets."""
        query = login_attempts.delete().where(login_attempts.c.name_hash.in_(hashes))
        self._connection.execute(query)

    def purge(self, now_ms: int) -> None:
        """Delete the buckets that are full again."""
        query = login_attempts.delete().where(login_attempts.c.full_at <= now_ms)
        self._connection.execute(query)


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


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The stored form of a user's second factor."""

    user_id: str
    secret: str
    enabled_at: int | None  # None: no code has confirmed it yet
    last_step: int  # time step of the last used code, which prevents replay
    recovery: tuple[str, ...]  # hashes of the unused recovery codes

    def used_at(self, step: int) -> "SecondFactor":
        """Return the factor after the code of a time step was used."""
        return replace(self, last_step=step)

    def without_recovery_code(self, recovery_hash: str) -> "SecondFactor":
        """Return the factor after a recovery code was used."""
        remaining = tuple(
            code_hash for code_hash in self.recovery if code_hash != recovery_hash
        )
        return replace(self, recovery=remaining)


class SecondFactorRepository(StoreRepository):
    """The second factors of one store's users, in one transaction; never commits."""

    def find(self, user_id: str) -> SecondFactor | None:
        """Return a user's second factor."""
        query = sa.select(dashboard_second_factors).where(
            self._own_rows(dashboard_second_factors, user_id=user_id)
        )
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return None
        return SecondFactor(
            row["user_id"],
            row["secret"],
            row["enabled_at"],
            row["last_step"],
            tuple(json.loads(row["recovery"])),
        )

    def put(self, factor: SecondFactor) -> None:
        """Store a factor, replacing the user's earlier one."""
        self._put_row(
            dashboard_second_factors,
            user_id=factor.user_id,
            secret=factor.secret,
            enabled_at=factor.enabled_at,
            last_step=factor.last_step,
            recovery=json.dumps(factor.recovery),
        )

    def remove(self, user_id: str) -> None:
        """Delete the factor, and the logins that wait for a code."""
        for table in (dashboard_second_factors, dashboard_challenges):
            self._delete_rows(table, user_id=user_id)

    def add_challenge(self, token_hash: str, user: DashboardUser, expires_at: int) -> None:
        """Store a login that waits for a code."""
        self._insert_row(
            dashboard_challenges,
            token_hash=token_hash,
            user_id=user.user_id,
            expires_at=expires_at,
            from_shop=user.is_from_shop,
        )

    def find_challenge(self, token_hash: str, now_ms: int) -> DashboardUser | None:
        """Return the user of a login that waits for a code."""
        waiting = dashboard_challenges.c
        query = sa.select(waiting.user_id, waiting.from_shop).where(
            waiting.store_id == self._store_id,
            waiting.token_hash == token_hash,
            waiting.expires_at > now_ms,
        )
        row = self._connection.execute(query).first()
        if row is None:
            return None
        found = UserRepository(self._connection, self._store_id).find(row.user_id)
        return (
            found.limited_to_shop_session()
            if found is not None and row.from_shop
            else found
        )

    def remove_challenge(self, token_hash: str) -> bool:
        """Delete a login that waits for a code; return whether it existed."""
        return self._delete_rows(dashboard_challenges, token_hash=token_hash) > 0

    def purge_challenges(self, now_ms: int) -> None:
        """Delete expired challenges."""
        self._delete_rows(dashboard_challenges, dashboard_challenges.c.expires_at <= now_ms)


NEW_STORE: Final = StoreId("new")
"""Placeholder id of the store that an invited person will register."""
STARTUP: Final = "startup"
"""The maker of the invitation that the service prints when it starts."""
OVER: Final = "this invitation was used or withdrawn, or is over seven days old"


class InvitationError(ProductRecsError):
    """The invitation is unknown, used, withdrawn or expired."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A single-use link that grants a role in a store."""

    store_id: StoreId
    token_hash: str
    email: str | None
    role: Role
    created_at: int
    expires_at: int
    maker: str | None = None  # user id, or `STARTUP`; None for an operator
    is_mailed: bool = False  # only the owner of the address has the link


class InvitationRepository(StoreRepository):
    """One store's invitations, inside one transaction; never commits."""

    def all(self, now_ms: int) -> list[Invitation]:
        """Return the valid invitations, newest first."""
        query = (
            sa.select(dashboard_invitations)
            .where(
                dashboard_invitations.c.store_id == self._store_id,
                dashboard_invitations.c.expires_at > now_ms,
            )
            .order_by(dashboard_invitations.c.created_at.desc())
        )
        return [_to_invitation(row) for row in self._connection.execute(query).mappings()]

    def add(self, invitation: Invitation) -> None:
        """Store an invitation."""
        self._insert_row(
            dashboard_invitations,
            token_hash=invitation.token_hash,
            email=invitation.email,
            role=invitation.role.label,
            created_at=invitation.created_at,
            expires_at=invitation.expires_at,
            maker=invitation.maker,
        )

    def find(self, token_hash: str, now_ms: int) -> Invitation | None:
        """Return an invitation, if it is valid."""
        query = sa.select(dashboard_invitations).where(
            self._own_rows(dashboard_invitations, token_hash=token_hash),
            dashboard_invitations.c.expires_at > now_ms,
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_invitation(row)

    def use(self, token_hash: str, now_ms: int) -> Invitation:
        """Delete and return an invitation: it works once.

        Raises:
            InvitationError: it is no longer valid.
        """
        found = self.find(token_hash, now_ms)
        if found is None or not self.remove(token_hash):
            raise InvitationError(OVER)
        return found

    def set_mailed(self, token_hash: str) -> None:
        """Record that the link went to the invited address, and nowhere else."""
        self._update_rows(
            dashboard_invitations,
            dashboard_invitations.c.token_hash == token_hash,
            mailed=True,
        )

    def remove(self, token_hash: str) -> bool:
        """Delete an invitation; return True for only one of concurrent calls."""
        return self._delete_rows(dashboard_invitations, token_hash=token_hash) > 0

    def remove_made_by(self, maker: str) -> None:
        """Delete the invitations that a user made."""
        self._delete_rows(dashboard_invitations, maker=maker)

    def purge(self, now_ms: int) -> None:
        """Delete expired invitations."""
        self._delete_rows(
            dashboard_invitations, dashboard_invitations.c.expires_at <= now_ms
        )


def _to_invitation(row: sa.RowMapping) -> Invitation:
    return Invitation(
        StoreId(row["store_id"]),
        row["token_hash"],
        row["email"],
        Role[row["role"].upper()],
        row["created_at"],
        row["expires_at"],
        row["maker"],
        bool(row["mailed"]),
    )
