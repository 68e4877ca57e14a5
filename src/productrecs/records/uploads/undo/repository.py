"""Import change repository: SQL of what imports changed."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa

from productrecs.records.catalog.repository import items_of_store
from productrecs.records.purchases.repository import PurchaseLine, PurchaseRepository
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import file_imports, import_changes

Before: TypeAlias = tuple[int, Mapping[str, Any] | None]
"""A row's number, and its earlier values of the fields that changed; None: it is new.

The values include `seq`, the row's earlier change in the log.
"""


@dataclass(frozen=True, slots=True)
class ImportChange:
    """What one transaction of an import changed.

    Its rows have a last change between `first_seq` and `last_seq`, unless something newer
    changed them. Order lines that are new have their own number there; all other rows are
    in `before`.
    """

    first_seq: int
    last_seq: int
    before: Sequence[Before]


class ImportChangeRepository(StoreScopedRepository):
    """The changes of one store's imports, inside one transaction; never commits."""

    def add(self, import_id: str, change: ImportChange) -> None:
        """Store what a transaction of an import changed."""
        self._insert_row(
            import_changes,
            import_id=import_id,
            first_seq=change.first_seq,
            last_seq=change.last_seq,
            before=json.dumps(change.before, ensure_ascii=False),
        )

    def spans(self, import_id: str) -> list[tuple[int, int]]:
        """Return the first and last number in the log of each transaction, in order."""
        columns = import_changes.c
        query = (
            sa.select(columns.first_seq, columns.last_seq)
            .where(self._own_rows(import_changes, import_id=import_id))
            .order_by(columns.first_seq)
        )
        return [(row[0], row[1]) for row in self._connection.execute(query)]

    def all_spans(self) -> list[tuple[int, int, str]]:
        """Return the spans of all imports with their ids, in the order of the log."""
        columns = import_changes.c
        query = (
            sa.select(columns.first_seq, columns.last_seq, columns.import_id)
            .where(columns.store_id == self._store_id)
            .order_by(columns.first_seq)
        )
        return [(row[0], row[1], row[2]) for row in self._connection.execute(query)]

    def find(self, import_id: str, first_seq: int) -> ImportChange | None:
        """Return the change that begins there; None if it was undone."""
        columns = import_changes.c
        query = sa.select(columns.last_seq, columns.before).where(
            columns.store_id == self._store_id,
            columns.import_id == import_id,
            columns.first_seq == first_seq,
        )
        last_seq, text = self._connection.execute(query).one()
        before = json.loads(text)
        if isinstance(before, dict):
            return None
        return ImportChange(first_seq, last_seq, [(number, old) for number, old in before])

    def record_undo(
        self, import_id: str, first_seq: int, counts: Mapping[str, int]
    ) -> None:
        """Record that a change was undone: how many rows were removed and restored."""
        columns = import_changes.c
        self._update_rows(
            import_changes,
            columns.import_id == import_id,
            columns.first_seq == first_seq,
            before=json.dumps(counts),
        )

    def undo_counts(self, import_id: str) -> Counter[str]:
        """Return how many rows the undo removed and restored so far."""
        query = sa.select(import_changes.c.before).where(
            self._own_rows(import_changes, import_id=import_id),
            import_changes.c.before.startswith("{"),
        )
        total = Counter[str]()
        for text in self._connection.execute(query).scalars():
            total.update(json.loads(text))
        return total

    def delete(self, import_id: str) -> None:
        """Delete an import's changes: it can no longer be undone."""
        self._delete_rows(import_changes, import_id=import_id)

    def current_lines(self, change: ImportChange) -> list[PurchaseLine]:
        """Return the order lines that a transaction added or changed, as they are now."""
        numbers = [number for number, _ in change.before]
        purchases = PurchaseRepository(self._connection, self._store_id)
        return purchases.lines_stored_in(change.first_seq, change.last_seq, numbers)

    def item_ids_and_seqs(self, change: ImportChange) -> dict[int, tuple[str, int]]:
        """Return the id and the last change of the items, by number."""
        numbers = [number for number, _ in change.before]
        item = items_of_store("item_id", "change_seq", store_id=self._store_id)
        query = sa.select(item).where(item.c.number.in_(numbers))
        return {row[0]: (row[1], row[2]) for row in self._connection.execute(query)}


def expire_changes(transaction: sa.Connection, before_ms: int) -> int:
    """Delete the changes of imports sent before then, of any store; return how many."""
    old = sa.select(file_imports.c.import_id).where(file_imports.c.submitted_at < before_ms)
    deletion = import_changes.delete().where(import_changes.c.import_id.in_(old))
    return transaction.execute(deletion).rowcount
