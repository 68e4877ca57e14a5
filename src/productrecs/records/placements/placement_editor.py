"""Placement editor: lists and changes a store's placements."""

from dataclasses import dataclass, replace

from productrecs.core.clock import Clock
from productrecs.records.placements.placement import (
    MAX_PLACEMENTS,
    Placement,
    PlacementContent,
    PlacementError,
    validate_placement,
)
from productrecs.records.placements.repository import PlacementRepository
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store


@dataclass(frozen=True, slots=True)
class PlacementEditor:
    """Reads and changes one store's placements.

    A change is one transaction, and every process follows it within a second.
    """

    database: Database
    store: Store
    clock: Clock

    def all(self) -> list[Placement]:
        """Return every placement, by name."""
        with self.database.reading() as connection:
            return PlacementRepository(connection, self.store.store_id).all()

    def find(self, name: str) -> Placement:
        """Return the placement of that name.

        Raises:
            UnknownPlacementError: when there is none.
        """
        with self.database.reading() as connection:
            return PlacementRepository(connection, self.store.store_id).find(name)

    def add(self, name: str, content: PlacementContent) -> Placement:
        """Store a new placement and return it.

        Raises:
            PlacementError: when it is invalid, its name is taken, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        return self._validate_and_save(name, content, may_replace=False)

    def put(self, name: str, content: PlacementContent) -> Placement:
        """Store a placement, new or in place of the one of its name, and return it.

        Raises:
            PlacementError: when it is invalid, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        return self._validate_and_save(name, content, may_replace=True)

    def change(self, name: str, **changes: object) -> Placement:
        """Return the placement with some fields of its content replaced.

        Raises:
            UnknownPlacementError: when there is no placement of that name.
            PlacementError: when the content is invalid; nothing is changed.
            StoreDeletedError: when the store was deleted.
        """
        content = replace(self.find(name).content, **changes)  # type: ignore[arg-type]  # checked by `put`
        return self.put(name, content)

    def remove(self, name: str) -> Placement:
        """Remove a placement and return it.

        Raises:
            UnknownPlacementError: when there is no placement of that name.
            PlacementError: when a test of it has not ended.
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            repository = PlacementRepository(transaction, self.store.store_id)
            repository.lock_and_next_version()
            placement = repository.find(name)
            repository.check_no_open_test(name)
            repository.remove(name)
        return placement

    def _validate_and_save(
        self, name: str, content: PlacementContent, *, may_replace: bool
    ) -> Placement:
        clean, now_ms = validate_placement(name, content), self.clock()
        with self.database.transaction() as transaction:
            repository = PlacementRepository(transaction, self.store.store_id)
            version = repository.lock_and_next_version()
            stored = {placement.name: placement for placement in repository.all()}
            old = stored.get(name)
            if old is not None and not may_replace:
                message = f"there is a placement {name} already; change it, or name another"
                raise PlacementError(message, "name")
            repository.check_no_open_test(name)
            if old is None and len(stored) >= MAX_PLACEMENTS:
                message = f"a store may have {MAX_PLACEMENTS} placements; remove one first"
                raise PlacementError(message, "name")
            created_at = now_ms if old is None else old.created_at
            placement = Placement(name, clean, version, created_at, now_ms)
            repository.put(placement, is_new=old is None)
        return placement
