"""Placement repository: SQL of a store's placements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.placements.placement import (
    Placement,
    PlacementContent,
    UnknownPlacementError,
)
from productrecs.storage.dialects import RawReader
from productrecs.storage.store_log import next_counter_value
from productrecs.storage.tables import placements, store_heads

_COLUMNS: Final = ("name", "content", "version", "created_at", "updated_at")
_ALL_SQL: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM placements "  # noqa: S608 - own names
    "WHERE store_id = ? ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class StorePlacements:
    """A store's placements at one moment, by name."""

    seq: int = -1
    by_name: Mapping[str, Placement] = field(default_factory=dict)

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> Self:
        """Return the placements as of `seq`; a store without any change has none."""
        rows = reader.all(_ALL_SQL, (store_id,)) if seq else []
        return cls(seq, {one.name: one for one in map(_placement, rows)})

    def find(self, name: str) -> Placement:
        """Return the placement of that name.

        Raises:
            UnknownPlacementError: when there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise UnknownPlacementError(name, self.by_name)
        return found


class PlacementRepository:
    """One store's placements, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def next_version(self) -> int:
        """Lock the store's placements and return the version of this change.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return next_counter_value(
            self._transaction, self._store_id, store_heads.c.placements_seq
        )

    def all(self) -> list[Placement]:
        """Return every placement, by name."""
        query = sa.select(*(placements.c[name] for name in _COLUMNS))
        query = query.where(placements.c.store_id == self._store_id)
        rows = self._transaction.execute(query.order_by(placements.c.name))
        return [_placement(row) for row in rows]

    def put(self, placement: Placement, *, is_new: bool) -> None:
        """Store a new placement, or replace the one of its name."""
        row = {
            "content": msgspec.json.encode(placement.content).decode(),
            "version": placement.version,
            "created_at": placement.created_at,
            "updated_at": placement.updated_at,
        }
        if is_new:
            row |= {"store_id": self._store_id, "name": placement.name}
            self._transaction.execute(placements.insert().values(row))
            return
        query = placements.update().where(
            placements.c.store_id == self._store_id, placements.c.name == placement.name
        )
        self._transaction.execute(query.values(row))

    def remove(self, name: str) -> None:
        """Delete a placement."""
        query = placements.delete().where(
            placements.c.store_id == self._store_id, placements.c.name == name
        )
        self._transaction.execute(query)


def _placement(row: Sequence[Any]) -> Placement:
    content = msgspec.json.decode(row[1], type=PlacementContent)
    return Placement(row[0], content, int(row[2]), int(row[3]), int(row[4]))
