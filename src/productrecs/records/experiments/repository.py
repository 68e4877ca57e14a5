"""Experiment repository: SQL of identities, exposures and explorations."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.erasures.repository import ErasedNameRepository
from productrecs.records.experiments.holdouts_and_explorations import Exploration, Exposure
from productrecs.storage.dialects import RawReader, upsert
from productrecs.storage.tables import explorations, exposures
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


class KnownIdentity(NamedTuple):
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


def read_known_identity(
    reader: RawReader, store_id: StoreId, identities: Sequence[str]
) -> KnownIdentity:
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
            return KnownIdentity(tuple(names), unit, session)
        if session is None:
            sessions = reader.all(_FIRST_SESSION_SQL, (store_id, name))
            session = sessions[0][0] if sessions else None
    return KnownIdentity(tuple(names), None, session)


def store_exposures(transaction: sa.Connection, batch: Sequence[Exposure]) -> None:
    """Store exposures of any stores; the first of each counts."""
    for store_id, rows in AccountRepository(transaction).lock_each(batch):
        ExposureRepository(transaction, store_id).add(rows)


class ExposureRepository:
    """One store's exposures, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def add(self, batch: Sequence[Exposure]) -> None:
        """Store exposures; existing ones are not changed.

        Erased shoppers get none; if only the unit was erased, the current name replaces it.
        """
        erased = ErasedNameRepository(self._transaction, self._store_id).find(
            name for exposure in batch for name in (exposure.identity, exposure.unit)
        )
        rows = [
            {
                "store_id": self._store_id,
                "identity": exposure.identity,
                "test": exposure.test,
                "arm": exposure.arm.value,
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
        query = upsert(self._transaction, exposures).on_conflict_do_nothing()
        self._transaction.execute(query, rows)


def store_explorations(transaction: sa.Connection, batch: Sequence[Exploration]) -> None:
    """Store explorations of any stores; existing ones are not changed."""
    # All processes write rows in the same order, which prevents deadlocks.
    ordered = sorted(batch, key=lambda one: one.key)
    for store_id, rows in AccountRepository(transaction).lock_each(ordered):
        ExplorationRepository(transaction, store_id).add(rows)


class ExplorationRepository:
    """One store's explorations, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def add(self, batch: Sequence[Exploration]) -> None:
        """Store explorations except of erased shoppers; existing ones are not changed."""
        erased = ErasedNameRepository(self._transaction, self._store_id).find(
            one.shopper for one in batch
        )
        rows = [
            asdict(one) | {"store_id": self._store_id}
            for one in batch
            if not erased.covers(one.shopper, one.first_at)
        ]
        if not rows:
            return
        query = upsert(self._transaction, explorations).on_conflict_do_nothing()
        self._transaction.execute(query, rows)

    def delete_before(self, before_day: str) -> int:
        """Delete explorations before a day; return the number."""
        query = explorations.delete().where(
            explorations.c.store_id == self._store_id, explorations.c.day < before_day
        )
        return self._transaction.execute(query).rowcount
