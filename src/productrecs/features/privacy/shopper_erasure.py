"""Erasure of a shopper: idempotent steps, so that a crash only delays it.

It first refuses new records of the shopper, then deletes their records in batches, then
purges everything derived from them. The background continues an interrupted erasure.
Events are deleted. Order lines stay without a customer: they belong to the merchant's books
and to the sales of items. Models are trained again without them.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.features.privacy.repository import (
    ErasureRepository,
    ErasureRequest,
    ShopperRecordRepository,
    all_shopper_names,
)
from productrecs.records.erasures.repository import ErasedNameRepository, name_digest
from productrecs.records.events.repository import (
    EventRepository,
    shopper_bot_events,
    shopper_events,
)
from productrecs.records.purchases.repository import PurchaseRepository, shopper_lines
from productrecs.records.search_counts.repository import SearchCountRepository
from productrecs.storage.files.model_files import remove_older_models
from productrecs.storage.files.object_store import ObjectStore, ObjectStoreUnavailableError
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import all_stores
from productrecs.training.repository import TrainingRepository
from productrecs.training.trained_models import models_folder

_ERASED: Final = "erased"  # the folder of objects, one for each call
LEDGER_FILE: Final = "erased.jsonl"


def append_to_erasure_ledgers(
    folder: Path,
    store_id: StoreId,
    erased_at: Mapping[str, int],
    objects: ObjectStore | None = None,
    backups: ObjectStore | None = None,
) -> None:
    """Append digests of erased ids with the times of their erasure; durable at return.

    An id may occur several times: the latest counts. Machines share the entries through
    `objects`. The place of `backups` gets them too, now or with the next backup.

    Raises:
        OSError: when the disk fails.
        ObjectStoreUnavailableError: when they cannot be uploaded; call it again.
    """
    lines = [
        json.dumps({"store_id": store_id, "name": name, "erased_at": erased_ms}) + "\n"
        for name, erased_ms in sorted(erased_at.items())
    ]
    with (folder / LEDGER_FILE).open("a", encoding="utf-8") as file:
        file.write("".join(lines))
        file.flush()
        os.fsync(file.fileno())
    content = "".join(lines).encode()
    key = f"{_ERASED}/{hashlib.sha256(content).hexdigest()}"
    if objects is not None:
        objects.put(key, content)
    if backups is not None:
        with contextlib.suppress(ObjectStoreUnavailableError):
            backups.put(key, content)


def copy_erasure_ledger_to_backups(
    folder: Path, objects: ObjectStore | None, backups: ObjectStore
) -> None:
    """Add the whole ledger of erasures to that of `backups`.

    The ledger there may have others: of another machine, or from before a restore.

    Raises:
        OSError: when the ledger cannot be read.
        ObjectStoreUnavailableError: when one of the stores does not answer.
    """
    lines = dict.fromkeys(_ledger_lines(folder, objects, backups))
    if lines:
        content = "".join(f"{line}\n" for line in lines).encode()
        backups.put(f"{_ERASED}/{LEDGER_FILE}", content)


def read_erasure_ledgers(
    folder: Path, *object_stores: ObjectStore | None
) -> dict[StoreId, dict[str, int]]:
    """Return the erasures by store and digest; empty without any.

    An incomplete last line (a crash) is ignored: its erasure was not finished, and
    continues.

    Raises:
        OSError: when the file exists and cannot be read.
        ObjectStoreUnavailableError: when one of `object_stores` does not answer.
    """
    erasures: dict[StoreId, dict[str, int]] = {}
    for line in _ledger_lines(folder, *object_stores):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        erased_at = erasures.setdefault(StoreId(entry["store_id"]), {})
        name, erased_ms = str(entry["name"]), int(entry["erased_at"])
        erased_at[name] = max(erased_ms, erased_at.get(name, erased_ms))
    return erasures


def _ledger_lines(folder: Path, *places: ObjectStore | None) -> list[str]:
    lines: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        lines = (folder / LEDGER_FILE).read_text("utf-8").splitlines()
    for place in filter(None, places):
        for entry in place.list(_ERASED):
            lines += place.get(entry.key).decode().splitlines()
    return lines


_log = logging.getLogger(__name__)

BATCH: Final = 1_000
"""Rows per transaction: events wait for it."""

MAX_RARE_SEARCHES: Final = 10
"""Queries from fewer shoppers than this may identify a shopper."""


@dataclass(frozen=True)
class ShopperEraser:
    """Erases shoppers of one installation; `data` is its folder."""

    database: Database
    data: Path
    models: Path
    touchpoint_folder: Path
    clock: Clock
    snapshots: SnapshotCache = field(default_factory=SnapshotCache)
    backups: ObjectStore | None = None

    @property
    def objects(self) -> ObjectStore | None:
        """The object store that machines share, if any."""
        return None if self.snapshots.shared is None else self.snapshots.shared.objects

    def request_erasure(self, store_id: StoreId, name: str) -> ErasureRequest:
        """Record an erasure request; from now on new records of the shopper are refused.

        `name` is any of their ids, a customer's or a session's.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, store_id)
            erasure_id, now_ms = log.take_seqs(1), self.clock()
            names = ShopperRecordRepository(transaction, store_id).all_names_of_shopper(
                name
            )
            erased_at = {
                name_digest(store_id, name_of_shopper): now_ms for name_of_shopper in names
            }
            ErasedNameRepository(transaction, store_id).add(erased_at)
            ErasureRepository(transaction, store_id).add(erasure_id, now_ms, names)
        return ErasureRequest(erasure_id, now_ms, names, 0, 0, None, None)

    def continue_erasures(
        self, store_id: StoreId, is_over: Callable[[], bool] = lambda: False
    ) -> list[ErasureRequest]:
        """Continue the store's erasures as far as possible; return the unfinished ones.

        Raises:
            StoreDeletedError: when the store was deleted.
            OSError, StorageError: what is erased stays erased; call it again.
        """
        for erasure in self._unfinished_erasures(store_id):
            if erasure.cleared_seq is None:
                if not self._delete_records_unless_over(store_id, erasure, is_over):
                    break
                _log.info(
                    "shopper erased",
                    extra={"store": store_id, "erasure": erasure.erasure_id},
                )
        cleared = [
            erasure
            for erasure in self._unfinished_erasures(store_id)
            if erasure.cleared_seq is not None
        ]
        if (
            cleared
            and not is_over()
            and self._purge_derived_data_if_ready(store_id, cleared)
        ):
            now_ms = self.clock()
            with self.database.transaction() as transaction:
                for erasure in cleared:
                    ErasureRepository(transaction, store_id).record_finished(
                        erasure.erasure_id, now_ms
                    )
        return self._unfinished_erasures(store_id)

    def all(self, store_id: StoreId) -> list[ErasureRequest]:
        """Return every erasure of a store, the oldest first."""
        with self.database.reading() as connection:
            return ErasureRepository(connection, store_id).all()

    def _unfinished_erasures(self, store_id: StoreId) -> list[ErasureRequest]:
        return [erasure for erasure in self.all(store_id) if erasure.done_at is None]

    def _delete_records_unless_over(
        self, store_id: StoreId, erasure: ErasureRequest, is_over: Callable[[], bool]
    ) -> bool:
        """Delete all records of a shopper; return False if interrupted."""
        names = erasure.names
        append_to_erasure_ledgers(
            self.data,
            store_id,
            {name_digest(store_id, name): erasure.asked_at for name in names},
            self.objects,
            self.backups,
        )
        with self.database.reading() as connection:
            searches = SearchCountRepository(connection, store_id)
            intents = searches.rare_intents_of_shopper(names, MAX_RARE_SEARCHES)
        with self.database.transaction() as transaction:
            StoreLogTransaction(self.database, transaction, store_id).take_seqs(0)
            shoppers = ShopperRecordRepository(transaction, store_id)
            shoppers.mark_waiting_files_for_recheck()
            queries = EventRepository(transaction, store_id).typed_queries_of(names)
            texts = {" ".join(query.split())[:100].lower() for query in queries}
            SearchCountRepository(transaction, store_id).delete_rare_queries(
                sorted(texts), intents, MAX_RARE_SEARCHES
            )
            shoppers.delete_test_arms_and_rename_units(names)
            shoppers.delete_names_from_uploads_and_imports(names)
            shoppers.delete_live_events()
            shoppers.delete_mail_selections(names)
        while self._delete_or_clear_batch(store_id, erasure):
            if is_over():
                return False
        self._clear_sessions_from_records(store_id, names)
        with self.database.transaction() as transaction:
            # The links between the names go last: the earlier steps need them.
            seq = StoreLogTransaction(self.database, transaction, store_id).take_seqs(1)
            shoppers = ShopperRecordRepository(transaction, store_id)
            shoppers.delete_links(names)
            shoppers.delete_rare_settled_queries(MAX_RARE_SEARCHES)
            shoppers.reset_attribution()
            shoppers.delete_names_from_customer_list(names)
            ErasureRepository(transaction, store_id).record_cleared_and_delete_names(
                erasure.erasure_id, seq
            )
        return True

    def _delete_or_clear_batch(self, store_id: StoreId, erasure: ErasureRequest) -> bool:
        with self.database.transaction() as transaction:
            log = EventRepository(transaction, store_id)
            purchases = PurchaseRepository(transaction, store_id)
            deleted = log.delete_events_of(erasure.names, BATCH)
            lines = (
                0 if deleted else purchases.clear_customer_of_lines(erasure.names, BATCH)
            )
            if deleted or lines:
                ErasureRepository(transaction, store_id).add_counts(
                    erasure.erasure_id, events_gone=deleted, lines_changed=lines
                )
        return bool(deleted or lines)

    def _clear_sessions_from_records(
        self, store_id: StoreId, names: tuple[str, ...]
    ) -> None:
        for rows in (shopper_events, shopper_bot_events, shopper_lines):
            with self.database.reading() as connection:
                keys = rows(connection, store_id).keys_of_sessions(names)
            for start in range(0, len(keys), BATCH):
                with self.database.transaction() as transaction:
                    rows(transaction, store_id).clear_sessions(keys[start : start + BATCH])

    def _purge_derived_data_if_ready(
        self, store_id: StoreId, cleared: list[ErasureRequest]
    ) -> bool:
        """Purge data derived from erased records; return whether all of it is purged.

        Files whose import began earlier are imported first, without the shopper, and
        files that wait for the merchant lose the shopper's rows. Then models and reports
        must have been computed again.
        """
        shutil.rmtree(self.touchpoint_folder / store_id, ignore_errors=True)
        needed = max(erasure.cleared_seq or 0 for erasure in cleared)
        with self.database.reading() as connection:
            serving = TrainingRepository(connection, store_id).serving_model()
            shoppers = ShopperRecordRepository(connection, store_id)
            files = shoppers.unfinished_upload_count(
                max(erasure.asked_at for erasure in cleared)
            )
            is_counted = shoppers.has_attribution_caught_up(needed)
        if serving is None or serving.applied_seq < needed or files or not is_counted:
            return False
        remove_older_models(models_folder(self.models, store_id), serving.model_id)
        self.snapshots.remove_other_uploaded_models(store_id, serving.model_id)
        return self.database.overwrite_deleted()


def replay_erasures(eraser: ShopperEraser, *object_stores: ObjectStore | None) -> int:
    """Erase again every shopper in the ledger who has records in the database.

    `object_stores` are further stores that hold a ledger, such as that of the backups.
    Return the number of erased ids. The service must not run: its next start continues
    unfinished erasures.

    Raises:
        OSError, StorageError: call it again.
    """
    count = 0
    erasures = read_erasure_ledgers(eraser.data, eraser.objects, *object_stores)
    for store in all_stores(eraser.database):
        if store.store_id in erasures:
            count += _replay_store_erasures(
                eraser, store.store_id, erasures[store.store_id]
            )
    return count


def _replay_store_erasures(
    eraser: ShopperEraser, store_id: StoreId, erased_at_by_digest: Mapping[str, int]
) -> int:
    with eraser.database.reading() as connection:
        stored = ErasedNameRepository(connection, store_id).all_erased_at()
        missing = {
            digest: erased_ms
            for digest, erased_ms in erased_at_by_digest.items()
            if stored.get(digest, -1) < erased_ms
        }
        if not missing:
            return 0
        names = {
            name
            for name in all_shopper_names(connection, store_id)
            if name_digest(store_id, name) in missing
        }
    for name in sorted(names):
        eraser.request_erasure(store_id, name)
    with eraser.database.transaction() as transaction:
        ErasedNameRepository(transaction, store_id).add(missing)
    if names:
        eraser.continue_erasures(store_id)
    return len(names)
