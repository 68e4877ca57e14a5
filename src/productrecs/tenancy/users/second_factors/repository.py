"""Second factor repository: SQL of second factors, and of logins that wait for a code."""

import json
from dataclasses import dataclass, replace

import sqlalchemy as sa

from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    dashboard_challenges,
    dashboard_second_factors,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.repository import UserRepository


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


class SecondFactorRepository(StoreScopedRepository):
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
