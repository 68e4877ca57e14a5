"""Placement repository: SQL of a store's placements and bundles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.placements.bundle import (
    Bundle,
    BundleContent,
    accepted_bundles_by_item,
)
from productrecs.records.placements.placement import (
    Placement,
    PlacementContent,
    PlacementError,
    UnknownPlacementError,
)
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import increment_existing_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import bundles, experiments, placements

_COLUMNS: Final = ("name", "content", "version", "created_at", "updated_at")
_ALL_SQL: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM placements "  # noqa: S608 - own names
    "WHERE store_id = ? ORDER BY name"
)
_BUNDLE_COLUMNS: Final = ("bundle_id", "content", "version", "created_at", "updated_at")
_BUNDLES_SQL: Final = (
    f"SELECT {', '.join(_BUNDLE_COLUMNS)} FROM bundles "  # noqa: S608 - own names
    "WHERE store_id = ? ORDER BY bundle_id"
)


@dataclass(frozen=True, slots=True)
class PlacementsAndBundles:
    """A store's placements by name and accepted bundles by product, at one moment."""

    seq: int = -1
    by_name: Mapping[str, Placement] = field(default_factory=dict)
    bundles: Mapping[str, tuple[Bundle, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> Self:
        """Return the placements as of `seq`; a store without any change has none."""
        rows = reader.all(_ALL_SQL, (store_id,)) if seq else []
        of_bundles = reader.all(_BUNDLES_SQL, (store_id,)) if seq else []
        by_name = {one.name: one for one in map(_placement, rows)}
        return cls(seq, by_name, accepted_bundles_by_item(map(_bundle, of_bundles)))

    def find(self, name: str) -> Placement:
        """Return the placement of that name.

        Raises:
            UnknownPlacementError: when there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise UnknownPlacementError(name, self.by_name)
        return found


class PlacementRepository(StoreScopedRepository):
    """One store's placements, inside one transaction; never commits."""

    def lock_and_next_version(self) -> int:
        """Lock the store's placements and return the version of this change.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return increment_existing_counter(
            self._connection, self._store_id, "placements_seq"
        )

    def all(self) -> list[Placement]:
        """Return every placement, by name."""
        query = sa.select(*(placements.c[name] for name in _COLUMNS))
        query = query.where(placements.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(placements.c.name))
        return [_placement(row) for row in rows]

    def find(self, name: str) -> Placement:
        """Return the placement of that name.

        Raises:
            UnknownPlacementError: when there is none.
        """
        stored = {one.name: one for one in self.all()}
        if name not in stored:
            raise UnknownPlacementError(name, stored)
        return stored[name]

    def check_no_open_test(self, name: str) -> None:
        """Refuse to change a placement while a test shows its variants.

        Raises:
            PlacementError: when there is such a test.
        """
        query = sa.select(experiments.c.name).where(
            self._own_rows(experiments, subject=f"placement:{name}"),
            experiments.c.state.in_(("running", "paused")),
        )
        test = self._connection.execute(query).scalar()
        if test is not None:
            message = f"the test {test} of this placement has not ended: stop it first"
            raise PlacementError(message, "name")

    def put(self, placement: Placement, *, is_new: bool) -> None:
        """Store a new placement, or replace the one of its name."""
        key = {"store_id": self._store_id, "name": placement.name}
        self._connection.execute(_put_statement(placements, key, placement, is_new=is_new))

    def remove(self, name: str) -> None:
        """Delete a placement."""
        self._delete_rows(placements, name=name)


class BundleRepository(StoreScopedRepository):
    """One store's bundles, inside one transaction; never commits."""

    def lock_and_next_version(self) -> int:
        """Lock the store's bundles and return the version of this change.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return PlacementRepository(self._connection, self._store_id).lock_and_next_version()

    def all(self) -> list[Bundle]:
        """Return every bundle, accepted or rejected, the oldest first."""
        query = sa.select(*(bundles.c[name] for name in _BUNDLE_COLUMNS))
        query = query.where(bundles.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(bundles.c.bundle_id))
        return [_bundle(row) for row in rows]

    def put(self, bundle: Bundle, *, is_new: bool) -> None:
        """Store a new bundle, or replace the one of its number."""
        key = {"store_id": self._store_id, "bundle_id": bundle.bundle_id}
        self._connection.execute(_put_statement(bundles, key, bundle, is_new=is_new))

    def remove(self, bundle_id: int) -> None:
        """Delete a bundle."""
        self._delete_rows(bundles, bundle_id=bundle_id)


def _put_statement(
    table: sa.Table, key: Mapping[str, object], record: Placement | Bundle, *, is_new: bool
) -> sa.Insert | sa.Update:
    """Return the statement that stores a new record, or replaces the one of its key."""
    row = {
        "content": msgspec.json.encode(record.content).decode(),
        "version": record.version,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }
    if is_new:
        return table.insert().values(row | dict(key))
    return table.update().where(*(table.c[name] == key[name] for name in key)).values(row)


def _bundle(row: Sequence[Any]) -> Bundle:
    content = msgspec.json.decode(row[1], type=BundleContent)
    return Bundle(int(row[0]), content, int(row[2]), int(row[3]), int(row[4]))


def _placement(row: Sequence[Any]) -> Placement:
    content = msgspec.json.decode(row[1], type=PlacementContent)
    return Placement(row[0], content, int(row[2]), int(row[3]), int(row[4]))
