"""Undo an import: new rows go, changed rows get their earlier values back.

Nothing is undone if anything newer changed one of its rows. Order lines are voided and not
deleted, because readers follow changes.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.records.catalog.catalog_push import restore_items
from productrecs.records.catalog.item import Item, unpack_fields_in_place
from productrecs.records.catalog.repository import CatalogRepository, StoredItem
from productrecs.records.erasures.repository import erased_names_in
from productrecs.records.purchases.repository import PurchaseLine, PurchaseRepository
from productrecs.records.uploads.file_import import FileImport, ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.undo.repository import (
    Before,
    ImportChange,
    ImportChangeRepository,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

_NAMES = ("shopper", "person", "session")


class ChangedSinceImportError(ProductRecsError):
    """Something newer changed rows of the import, so it cannot be undone."""


@dataclass(frozen=True, slots=True)
class ImportChangeJournal:
    """Stores what one import changes, within the transactions of its rows."""

    import_id: str

    def first_seq(self, log: StoreLogTransaction) -> int | None:
        """Return where the import's first change is in the log; None before it."""
        repository = ImportChangeRepository(log.transaction, log.store_id)
        spans = repository.spans(self.import_id)
        return spans[0][0] if spans else None

    def add_lines(
        self,
        log: StoreLogTransaction,
        span: tuple[int, int],
        changes: Sequence[tuple[PurchaseLine, PurchaseLine]],
    ) -> None:
        """Store which lines changed: each before and after."""
        before: list[Before] = [
            (old.line_seq, _earlier_values_and_seq(old._asdict(), new._asdict(), old.seq))
            for old, new in changes
        ]
        self._add(log, span, before)

    def add_items(
        self, log: StoreLogTransaction, seq: int, before: Sequence[Before]
    ) -> None:
        """Store which items changed, each as `item_before` gives it."""
        self._add(log, (seq, seq), before)

    def _add(
        self, log: StoreLogTransaction, span: tuple[int, int], before: Sequence[Before]
    ) -> None:
        change = ImportChange(*span, before)
        ImportChangeRepository(log.transaction, log.store_id).add(self.import_id, change)


def item_before(old: StoredItem | None, new: StoredItem) -> Before:
    """Return an item's earlier values; `old` is the item, if it was in the catalog."""
    if old is None:
        return new.number, None
    names = Item.__dataclass_fields__
    fields = _earlier_values_and_seq(
        {name: getattr(old.item, name) for name in names},
        {name: getattr(new.item, name) for name in names},
        old.change_seq,
    )
    return new.number, msgspec.to_builtins(fields)


def _earlier_values_and_seq(
    old: Mapping[str, Any], new: Mapping[str, Any], seq: int
) -> dict[str, Any]:
    fields = {
        name: value
        for name, value in old.items()
        if name != "updated_at" and value != new[name]
    }
    return fields | {"seq": seq}


class _RestoredRowSeqs:
    """Gives restored rows a new place in the log, together for each earlier import.

    So the import that made a restored row can be undone next: the place is a part of it.
    """

    def __init__(self, log: StoreLogTransaction) -> None:
        self._log = log
        self._repository = ImportChangeRepository(log.transaction, log.store_id)
        self._spans = self._repository.all_spans()
        self._seqs: dict[str, int] = {}

    def take_new_seq(self, old_seq: int) -> int:
        """Return the new number of a row whose earlier number was `old_seq`."""
        place = bisect.bisect_right(self._spans, (old_seq, float("inf"))) - 1
        _, last, owner = self._spans[place] if place >= 0 else (0, -1, "")
        owner = owner if old_seq <= last else ""
        if owner not in self._seqs:
            seq = self._seqs[owner] = self._log.take_seqs(1)
            if owner:
                self._repository.add(owner, ImportChange(seq, seq, ()))
        return self._seqs[owner]


@dataclass(frozen=True)
class ImportUndo:
    """Undoes one import of a store; `kind` is `orders` or `items`."""

    database: Database
    store_id: StoreId
    import_id: str
    kind: str
    clock: Clock

    def undo_unless_changed(self) -> None:
        """Undo the import; `delete_changes_and_count_undone` then counts what was undone.

        An interrupted undo goes on: rows that it has already taken back stay. Two
        processes may undo the same import at once.

        Raises:
            ChangedSinceImportError: when something newer changed rows; nothing is undone.
        """
        with self.database.reading() as connection:
            repository = ImportChangeRepository(connection, self.store_id)
            spans = repository.spans(self.import_id)
            newer = sum(
                self._newer_change_count(repository, spans, first) for first, _ in spans
            )
        if newer:
            message = (
                f"{newer:,} of its rows were changed after this import, so it cannot be "
                "undone. Nothing was undone. Undo later imports first, if they changed them"
            )
            raise ChangedSinceImportError(message)
        for first_seq, _ in spans:
            with self.database.transaction() as transaction:
                log = StoreLogTransaction(self.database, transaction, self.store_id)
                self._undo_one_transaction(log, spans, first_seq)

    def delete_changes_and_count_undone(self, log: StoreLogTransaction) -> dict[str, int]:
        """Delete the import's changes; return how many rows were removed and restored."""
        repository = ImportChangeRepository(log.transaction, self.store_id)
        counts = dict(repository.undo_counts(self.import_id))
        repository.delete(self.import_id)
        return counts

    def _newer_change_count(
        self,
        repository: ImportChangeRepository,
        spans: Sequence[tuple[int, int]],
        first_seq: int,
    ) -> int:
        change = repository.find(self.import_id, first_seq)
        if change is None:
            return 0
        if self.kind == "orders":
            seqs = [line.seq for line in repository.current_lines(change)]
        else:
            seqs = [seq for _, seq in repository.item_ids_and_seqs(change).values()]
        return sum(not _is_in(spans, seq) for seq in seqs)

    def _undo_one_transaction(
        self, log: StoreLogTransaction, spans: Sequence[tuple[int, int]], first_seq: int
    ) -> None:
        """Undo one transaction of the import; rows that are newer by now stay."""
        log.take_seqs(0)  # locks the head: another process may undo the same
        repository = ImportChangeRepository(log.transaction, self.store_id)
        change = repository.find(self.import_id, first_seq)
        if change is None:
            return
        undo_rows = self._undo_lines if self.kind == "orders" else self._undo_items
        counts = {"removed": 0, "restored": 0}
        undo_rows(log, change, spans, counts)
        repository.record_undo(self.import_id, first_seq, counts)

    def _undo_lines(
        self,
        log: StoreLogTransaction,
        change: ImportChange,
        spans: Sequence[tuple[int, int]],
        counts: dict[str, int],
    ) -> None:
        now_ms, removal_seq = self.clock(), log.take_seqs(1)
        restored_seqs = _RestoredRowSeqs(log)
        lines = ImportChangeRepository(log.transaction, self.store_id).current_lines(change)
        before, after = dict(change.before), list[PurchaseLine]()
        erased = erased_names_in(
            log, [(old or {}).get(name) for old in before.values() for name in _NAMES]
        )
        for line in lines:
            if not _is_in(spans, line.seq):
                continue
            old = before.get(line.line_seq)
            fields: dict[str, Any] = {"void": True, "seq": removal_seq}
            if old is not None:
                fields = {**old, "seq": restored_seqs.take_new_seq(old["seq"])}
            for name in _NAMES:
                if name in fields and erased.covers(fields[name], line.ts):
                    fields[name] = None
            after.append(line._replace(updated_at=now_ms, **fields))
            counts["removed" if fields.get("void") else "restored"] += 1
        PurchaseRepository(log.transaction, self.store_id).change_lines(after)

    def _undo_items(
        self,
        log: StoreLogTransaction,
        change: ImportChange,
        spans: Sequence[tuple[int, int]],
        counts: dict[str, int],
    ) -> None:
        numbers = ImportChangeRepository(log.transaction, self.store_id).item_ids_and_seqs(
            change
        )
        stored_items = CatalogRepository(log.transaction, self.store_id).find(
            item_id for item_id, _ in numbers.values()
        )
        restored_seqs, after = _RestoredRowSeqs(log), dict[int, list[StoredItem]]()
        removal_seq = log.take_seqs(1)
        for number, old in change.before:
            item_id, seq = numbers.get(number, ("", 0))
            if not _is_in(spans, seq):
                continue
            stored = stored_items[item_id]
            if old is None:
                changed_item = replace(stored, present=False, item=Item(item_id))
                after.setdefault(removal_seq, []).append(changed_item)
                counts["removed"] += 1
                continue
            fields = unpack_fields_in_place(dict(old))
            new_seq = restored_seqs.take_new_seq(fields.pop("seq"))
            changed_item = replace(stored, item=replace(stored.item, **fields))
            after.setdefault(new_seq, []).append(changed_item)
            counts["restored"] += bool(fields)
        for new_seq in sorted(after):
            restore_items(log, after[new_seq], new_seq, self.clock())


def complete_undo_and_store_outcome(
    database: Database, store_id: StoreId, file_import: FileImport, clock: Clock
) -> None:
    """Undo an import that is in the status `undoing`, and store the result."""
    with database.reading() as connection:
        stored = FileImportRepository(connection, store_id).find(file_import.import_id)
    result, problem = dict(stored.result) if stored else {}, ""
    undo = ImportUndo(
        database, store_id, file_import.import_id, file_import.choices.kind, clock
    )
    try:
        undo.undo_unless_changed()
    except ChangedSinceImportError as error:
        problem = f"{error}."
    with database.transaction() as transaction:
        status = ImportStatus.DONE if problem else ImportStatus.UNDONE
        log = StoreLogTransaction(database, transaction, store_id)
        outcome = (
            {"undo_problem": problem}
            if problem
            else {"undone": undo.delete_changes_and_count_undone(log)}
        )
        FileImportRepository(transaction, store_id).change_status(
            file_import.import_id,
            (ImportStatus.UNDOING,),
            status,
            attempts=0,
            result=result | outcome,
        )


def _is_in(spans: Sequence[tuple[int, int]], seq: int) -> bool:
    """Return whether a change was made by one of an import's transactions."""
    place = bisect.bisect_right(spans, (seq, float("inf"))) - 1
    return place >= 0 and spans[place][0] <= seq <= spans[place][1]
