"""Exposure repository: SQL of exposures, and of the identities that decide an arm."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.erasures.repository import ErasedNameRepository
from productrecs.records.experiments.arm_assignment import Exposure
from productrecs.storage.sql.dialects import RawReader, upsert
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import exposures
from productrecs.tenancy.accounts.repository import AccountRepository

_PERSON_SQL: Final = (
    "COALESCE((SELECT customer FROM shopper_links WHERE store_id = ? AND session = ?), ?)"
)
_KNOWN_SQL: Final = (
    f"SELECT {_PERSON_SQL}, (SELECT unit FROM exposures "  # noqa: S608 - own constants
    f"WHERE store_id = ? AND identity = {_PERSON_SQL} ORDER BY first_at, arm LIMIT 1)"
)
_SESSION_UNIT_SQL: Final = (
    "SELECT unit FROM exposures WHERE store_id = ? AND identity IN "
    "(SELECT session FROM shopper_links WHERE store_id = ? AND customer = ?) "
    "ORDER BY first_at, unit LIMIT 1"
)
_FIRST_SESSION_SQL: Final = (
    "SELECT session FROM shopper_links WHERE store_id = ? AND customer = ? "
    "ORDER BY since_seq, session LIMIT 1"
)


class StoredIdentity(NamedTuple):
    """The stored data about the identities in a call.

    `names` are the customers linked to the identities. `unit` is the name by which they
    were assigned; without one, `session` is the first session linked to them.
    """

    names: tuple[str, ...]
    unit: str | None
    session: str | None

    @property
    def name(self) -> str | None:
        """The name that determines the arm, if the database has one."""
        return self.unit or self.session


NOBODY: Final = StoredIdentity((), None, None)
"""Without any stored data."""


def read_stored_identity(
    reader: RawReader, store_id: StoreId, identities: Sequence[str]
) -> StoredIdentity:
    """Return the shopper of a call; of two identities the first known one counts.

    A session leads to its customer, and a customer to all linked sessions. A shopper with
    a stored unit costs one indexed read.
    """
    names: list[str] = []
    session: str | None = None
    for identity in identities:
        parameters = (store_id, identity, identity)
        name, unit = reader.all(_KNOWN_SQL, (*parameters, store_id, *parameters))[0]
        names.append(name)
        if unit is None:
            sessions = reader.all(_SESSION_UNIT_SQL, (store_id, store_id, name))
            unit = sessions[0][0] if sessions else None
        if unit is not None:
            return StoredIdentity(tuple(names), unit, session)
        if session is None:
            sessions = reader.all(_FIRST_SESSION_SQL, (store_id, name))
            session = sessions[0][0] if sessions else None
    return StoredIdentity(tuple(names), None, session)


def store_exposures(transaction: sa.Connection, batch: Sequence[Exposure]) -> None:
    """Store exposures of any stores; the first of each counts."""
    for store_id, rows in AccountRepository(transaction).lock_each_store(batch):
        ExposureRepository(transaction, store_id).add(rows)


class ExposureRepository(StoreScopedRepository):
    """One store's exposures, inside one transaction; never commits."""

    def add(self, batch: Sequence[Exposure]) -> None:
        """Store exposures; existing ones are not changed.

        Erased shoppers get none; if only the unit was erased, the current name replaces it.
        """
        erased = ErasedNameRepository(self._connection, self._store_id).find(
            name for exposure in batch for name in (exposure.identity, exposure.unit)
        )
        rows = [
            {
                "store_id": self._store_id,
                "identity": exposure.identity,
                "test": exposure.test,
                "arm": str(exposure.arm),
                "unit": exposure.identity
                if erased.covers(exposure.unit, exposure.first_at)
                else exposure.unit,
                "first_at": exposure.first_at,
            }
            for exposure in batch
            if not erased.covers(exposure.identity, exposure.first_at)
        ]
        if not rows:
            return
        # Write rows in the same order, too.
        rows.sort(key=lambda row: (str(row["identity"]), str(row["test"])))
        query = upsert(self._connection, exposures).on_conflict_do_nothing()
        self._connection.execute(query, rows)
