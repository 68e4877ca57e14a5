"""Second factor repository: SQL of TOTP secrets, recovery codes and login challenges."""

import json
from dataclasses import dataclass, replace

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.dialects import upsert
from productrecs.storage.tables import dashboard_challenges, dashboard_second_factors
from productrecs.tenancy.accounts.login.dashboard_user import DashboardUser
from productrecs.tenancy.accounts.login.repository import UserRepository


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """What is stored of a user's second factor."""

    user_id: str
    secret: str
    enabled_at: int | None  # None: no code has confirmed it yet
    last_step: int  # of the last code that was used: none is used twice
    recovery: tuple[str, ...]  # hashes of the codes that were not used yet

    def used_at(self, step: int) -> "SecondFactor":
        """Return it after the code of a step was used."""
        return replace(self, last_step=step)

    def without(self, recovery_hash: str) -> "SecondFactor":
        """Return it after a recovery code was used."""
        left = tuple(one for one in self.recovery if one != recovery_hash)
        return replace(self, recovery=left)


class FactorRepository:
    """The second factors of one store's users, in one transaction; never commits."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    def find(self, user_id: str) -> SecondFactor | None:
        """Return a user's second factor."""
        return self._read(self._select(user_id))

    def hold(self, user_id: str) -> SecondFactor | None:
        """Return it; no other transaction changes it before this one ends."""
        return self._read(self._select(user_id).with_for_update())

    def put(self, factor: SecondFactor) -> None:
        """Store it in place of the one before."""
        values = {
            "secret": factor.secret,
            "enabled_at": factor.enabled_at,
            "last_step": factor.last_step,
            "recovery": json.dumps(factor.recovery),
        }
        row = upsert(self._connection, dashboard_second_factors).values(
            store_id=self._store_id, user_id=factor.user_id, **values
        )
        self._connection.execute(
            row.on_conflict_do_update(index_elements=["store_id", "user_id"], set_=values)
        )

    def remove(self, user_id: str) -> None:
        """Delete it, and the logins that wait for a code."""
        for table in (dashboard_second_factors, dashboard_challenges):
            query = table.delete().where(
                table.c.store_id == self._store_id, table.c.user_id == user_id
            )
            self._connection.execute(query)

    def add_challenge(self, token_hash: str, user_id: str, expires_at: int) -> None:
        """Store a login that waits for a code."""
        row = {
            "store_id": self._store_id,
            "token_hash": token_hash,
            "user_id": user_id,
            "expires_at": expires_at,
        }
        self._connection.execute(dashboard_challenges.insert().values(row))

    def find_challenge(self, token_hash: str, now_ms: int) -> DashboardUser | None:
        """Return whose login waits."""
        query = sa.select(dashboard_challenges.c.user_id).where(
            dashboard_challenges.c.store_id == self._store_id,
            dashboard_challenges.c.token_hash == token_hash,
            dashboard_challenges.c.expires_at > now_ms,
        )
        user_id = self._connection.execute(query).scalar()
        users = UserRepository(self._connection, self._store_id).all()
        return next((one for one in users if one.user_id == user_id), None)

    def remove_challenge(self, token_hash: str) -> bool:
        """Delete a login that waited; return whether it was there."""
        query = dashboard_challenges.delete().where(
            dashboard_challenges.c.store_id == self._store_id,
            dashboard_challenges.c.token_hash == token_hash,
        )
        return self._connection.execute(query).rowcount > 0

    def purge_challenges(self, now_ms: int) -> None:
        """Delete those that waited too long."""
        query = dashboard_challenges.delete().where(
            dashboard_challenges.c.store_id == self._store_id,
            dashboard_challenges.c.expires_at <= now_ms,
        )
        self._connection.execute(query)

    def _select(self, user_id: str) -> sa.Select[tuple[object, ...]]:
        return sa.select(dashboard_second_factors).where(
            dashboard_second_factors.c.store_id == self._store_id,
            dashboard_second_factors.c.user_id == user_id,
        )

    def _read(self, query: sa.Select[tuple[object, ...]]) -> SecondFactor | None:
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
