"""Indexer: updates indexes that lag behind their catalogs, and rebuilds damaged ones.

One process per data folder writes all indexes, one batch at a time, so one store's hundred
thousand new products do not delay another store's price change.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from productrecs.core.errors import operator_text
from productrecs.core.ids import StoreId
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.engines.text.index_schema import FORMAT, BrokenIndexError
from productrecs.engines.text.language_detection_and_stemming import detect_language
from productrecs.processes.child_process import release_freed_memory
from productrecs.records.catalog.searchable_text_changes.repository import (
    CatalogVersion,
    read_catalog_versions,
    sample_texts,
)
from productrecs.storage.files.search_index_files import (
    DamagedIndexError,
    IndexFolder,
    IndexManifest,
    index_log_fields,
)
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.search.index_generation import IndexGeneration
from productrecs.training.search.served_index import index_folder

HasMoreWork: TypeAlias = bool
"""Whether a further step has work now, so that the worker need not wait."""

_log = logging.getLogger(__name__)

# Between checks of one index, for up to `_STORES_AT_FULL_RATE` stores; for more stores
# longer in proportion, so that the work of all does not grow.
_CHECK_SECONDS: Final = 600.0
_DAMAGE_CHECK_SECONDS: Final = 0.5
_FILE_CHECK_SECONDS: Final = 2.0  # about 40 stat calls
_STORES_AT_FULL_RATE: Final = 100
_MIN_RETRY_SECONDS: Final = 1.0
_MAX_RETRY_SECONDS: Final = 60.0
_MAX_WRITERS: Final = 4
_FEW_CHANGES: Final = 10
_REDETECTION_GROWTH: Final = 10  # growth factor after which the language is detected again


@dataclass(slots=True)
class _StoreIndexState:
    """One store: its serving index, and its draft."""

    folder: IndexFolder
    live: IndexGeneration | None = None
    draft: IndexGeneration | None = None
    checked_at: float = -math.inf
    files_checked_at: float = 0.0
    stamp: tuple[int, int, int] | None = None  # last read pointer to the serving index
    changed_at: float = 0.0
    not_before: float = 0.0  # retry time after a failure
    retry_seconds: float = 0.0  # pause after the next failure; 0 without one


def next_retry_seconds(seconds: float) -> float:
    """Return the pause after a further failure of a write: 1, 2, 4 and up to 60 seconds."""
    return min(_MAX_RETRY_SECONDS, max(_MIN_RETRY_SECONDS, 2 * seconds))


class Indexer:
    """Keeps the indexes of all stores up to date; call `run_next_batches` repeatedly."""

    def __init__(
        self,
        root: Path,
        accounts: AccountDirectory,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write below `root`; the caller holds the lock for it."""
        self._root = root
        self._accounts = accounts
        self._seconds = seconds
        self._outage = OutageLogLimiter(seconds)
        self._indexings: dict[StoreId, _StoreIndexState] = {}
        self._is_writing = False  # whether a writer is open, which takes much memory
        self._opened = 0  # writers, since the last commit of those that are due
        self._slowness = 1.0  # the factor of the pauses between checks

    def run_next_batches(self, reader: RawReader) -> HasMoreWork:
        """Index one batch for each store with changes, and one batch of one new index.

        Indexes of deleted stores are removed. Returns whether there is more work now.
        """
        self._accounts.refresh(reader)
        heads = read_catalog_versions(reader)
        self._slowness = max(1.0, len(heads) / _STORES_AT_FULL_RATE)
        self._remove_indexes_of_deleted_stores({head.store_id for head in heads})
        has_more = [self._index_batch_of_store(reader, head) for head in heads]
        draft = next((head for head in heads if self._is_drafting(head)), None)
        if draft is not None:
            has_more.append(self._run_store_step(self._continue_draft, reader, draft))
        self._commit_idle_and_excess_writers()
        was_writing = self._is_writing
        self._is_writing = any(map(self._has_writer, self._indexings))
        if was_writing and not self._is_writing:
            release_freed_memory()
        return any(has_more)

    def _index_batch_of_store(self, reader: RawReader, head: CatalogVersion) -> HasMoreWork:
        """Index one batch of a store; close writers at once if that opened too many."""
        had_writer = self._has_writer(head.store_id)
        has_more = self._run_store_step(self._index_next_batch_or_begin_draft, reader, head)
        if self._has_writer(head.store_id) and not had_writer:
            self._opened += 1
            if self._opened >= _MAX_WRITERS:
                self._commit_idle_and_excess_writers()
        return has_more

    def _has_writer(self, store_id: StoreId) -> bool:
        indexing = self._indexings.get(store_id)
        live = None if indexing is None else indexing.live
        return live is not None and live.has_writer

    def close(self) -> None:
        """Close every writer."""
        for store_id, indexing in self._indexings.items():
            if indexing.live is not None:
                publish = partial(indexing.live.commit_and_publish_if_due, now=True)
                self._run_or_retry_later(store_id, indexing, publish)

    def _run_store_step(
        self,
        action: Callable[[RawReader, CatalogVersion, Store, _StoreIndexState], HasMoreWork],
        reader: RawReader,
        head: CatalogVersion,
    ) -> HasMoreWork:
        """Run a store's step, unless one failed shortly before."""
        store = self._accounts.by_id(head.store_id)
        indexing = self._indexings.get(head.store_id)
        if indexing is None:
            indexing = _StoreIndexState(index_folder(self._root, head.store_id))
            self._indexings[head.store_id] = indexing
        if store is None or self._seconds() < indexing.not_before:
            return False
        step = partial(action, reader, head, store, indexing)
        return self._run_or_retry_later(head.store_id, indexing, step)

    def _run_or_retry_later(
        self,
        store_id: StoreId,
        indexing: _StoreIndexState,
        action: Callable[[], HasMoreWork | None],
    ) -> HasMoreWork:
        """Write for a store; a failure is retried later and stops no other store.

        The first failure is followed at once by another attempt, which repairs damage.
        Further attempts, as on a full disk, wait longer each time.
        """
        try:
            return bool(action())
        except (BrokenIndexError, DamagedIndexError, OSError) as error:
            is_damaged = not isinstance(error, OSError)
            fields = {"store": store_id, "error": operator_text(error)}
            if is_damaged and not indexing.retry_seconds:
                _log.warning("search index rebuilt", extra=fields)
            elif self._outage.should_log_failure():
                _log.error("search index write failed", extra=fields)
            self._drop_failed_index(indexing, is_damaged=is_damaged)
            indexing.not_before = self._seconds() + indexing.retry_seconds
            indexing.retry_seconds = next_retry_seconds(indexing.retry_seconds)
        return True

    def _end_failure(self, indexing: _StoreIndexState) -> None:
        """Record that a store's index is complete again."""
        indexing.retry_seconds = 0.0
        is_failing = any(one.retry_seconds for one in self._indexings.values())
        if not is_failing and self._outage.should_log_recovery():
            _log.info("search index written again")

    def _index_next_batch_or_begin_draft(
        self,
        reader: RawReader,
        head: CatalogVersion,
        store: Store,
        indexing: _StoreIndexState,
    ) -> HasMoreWork:
        """Update the serving index; start a draft if needed."""
        if head.seq == 0 and indexing.live is None:
            return False  # a store without a catalog has no index
        self._open_and_repair_serving_index_if_due(indexing)
        if indexing.draft is None and self._is_missing_or_in_other_language(
            reader, head, store, indexing
        ):
            self._begin_new_index(reader, head, store, indexing)
        live = indexing.live
        if live is None or live.manifest.applied_seq >= head.seq:
            is_complete = live is not None and live.is_published and not indexing.draft
            if indexing.retry_seconds and is_complete:
                self._end_failure(indexing)
            return False
        return not live.index_next_batch(reader, head.seq, publish=True)

    def _open_and_repair_serving_index_if_due(self, indexing: _StoreIndexState) -> None:
        """Find the serving index and check its integrity.

        Raises:
            DamagedIndexError: when its checksums differ or a reader cannot open it.
        """
        now = self._seconds()
        if now - indexing.files_checked_at < self._slowness * _DAMAGE_CHECK_SECONDS:
            return
        indexing.files_checked_at = now
        if indexing.live is not None and indexing.live.is_published:
            self._repair_unreadable_pointer(indexing, indexing.live)
        manifest = (
            indexing.live.manifest if indexing.live else indexing.folder.serving_manifest()
        )
        if manifest is None or manifest.format != FORMAT:
            return
        if indexing.folder.is_marked_damaged(manifest.generation):
            if indexing.live is None:
                return  # already known; a draft is in progress
            message = "a reader found it damaged"
            raise DamagedIndexError(message)
        self._check_checksums_when_due(indexing, manifest, now)
        if indexing.live is None:
            indexing.live = IndexGeneration(
                StoreId(indexing.folder.folder.name), indexing.folder, manifest
            )

    @staticmethod
    def _repair_unreadable_pointer(
        indexing: _StoreIndexState, live: IndexGeneration
    ) -> None:
        """Rewrite the pointer to the serving index if it is unreadable.

        Raises:
            DamagedIndexError: when the index files are gone as well.
        """
        stamp = indexing.folder.stamp()
        if stamp is None:
            message = "its files are gone"
            raise DamagedIndexError(message)
        if stamp != indexing.stamp and indexing.folder.serving_manifest() is None:
            live.publish()
            stamp = indexing.folder.stamp()
        indexing.stamp = stamp

    def _check_checksums_when_due(
        self, indexing: _StoreIndexState, manifest: IndexManifest, now: float
    ) -> None:
        """Compare files with their checksums after a modification, or after a while.

        Raises:
            DamagedIndexError: when a file differs.
        """
        has_changed = False
        if now - indexing.changed_at >= self._slowness * _FILE_CHECK_SECONDS:
            indexing.changed_at = now
            has_changed = indexing.folder.has_changed_since_last_check(manifest)
        if has_changed or now - indexing.checked_at >= self._slowness * _CHECK_SECONDS:
            indexing.checked_at = now
            indexing.folder.verify_checksums(manifest)

    def _is_missing_or_in_other_language(
        self,
        reader: RawReader,
        head: CatalogVersion,
        store: Store,
        indexing: _StoreIndexState,
    ) -> bool:
        """Return whether there is no index, or its language is no longer the store's.

        Detects the language again, and records that, when the catalog has grown tenfold.
        """
        live = indexing.live
        if live is None or live.manifest.told_language != store.settings.language:
            return True
        detected_at = max(live.manifest.looked_at_size, _FEW_CHANGES)
        if head.size < _REDETECTION_GROWTH * detected_at:
            return False
        live.manifest = replace(live.manifest, looked_at_size=head.size)
        texts = sample_texts(reader, head.store_id)
        return detect_language(texts, store.settings.language) != live.manifest.language

    def _begin_new_index(
        self,
        reader: RawReader,
        head: CatalogVersion,
        store: Store,
        indexing: _StoreIndexState,
    ) -> None:
        """Start a new index: as a draft, or as the serving one if there is none."""
        language = store.settings.language
        manifest = IndexManifest(
            generation=indexing.folder.create_generation_folder(),
            format=FORMAT,
            language=detect_language(sample_texts(reader, head.store_id), language),
            told_language=language,
            applied_seq=0,
            looked_at_size=head.size,
        )
        if indexing.retry_seconds <= _MIN_RETRY_SECONDS:  # else it was started before
            fields = _log_fields(head) | index_log_fields(manifest)
            _log.info("search index started", extra=fields)
        generation = IndexGeneration(head.store_id, indexing.folder, manifest)
        if indexing.folder.serving_manifest() is None:
            indexing.live = generation  # a partial index is better than none
        else:
            indexing.draft = generation

    def _is_drafting(self, head: CatalogVersion) -> bool:
        indexing = self._indexings.get(head.store_id)
        return indexing is not None and indexing.draft is not None

    def _continue_draft(
        self,
        reader: RawReader,
        head: CatalogVersion,
        store: Store,
        indexing: _StoreIndexState,
    ) -> HasMoreWork:
        """Index one batch of the draft; publish it once it has caught up."""
        draft = indexing.draft
        if draft is None:
            return False
        if draft.manifest.told_language != store.settings.language:
            draft.drop_writer()
            indexing.draft = None
            return True
        if draft.index_next_batch(reader, head.seq, publish=False):
            self._publish_draft_as_live_index(head, indexing, draft)
        return True

    def _publish_draft_as_live_index(
        self, head: CatalogVersion, indexing: _StoreIndexState, draft: IndexGeneration
    ) -> None:
        draft.publish()
        if indexing.live is not None:
            indexing.live.drop_writer()
        indexing.live, indexing.draft = draft, None
        indexing.checked_at = self._seconds()
        indexing.folder.remove_other_generations(draft.manifest.generation)
        _log.info(
            "search index built", extra=_log_fields(head) | index_log_fields(draft.manifest)
        )

    @staticmethod
    def _drop_failed_index(indexing: _StoreIndexState, *, is_damaged: bool) -> None:
        """Drop a store's writers, and the files of an index that was never published.

        The next turn continues the serving index, or starts a new one if it is damaged.
        """
        serving = indexing.folder.serving_manifest()
        if is_damaged and serving is not None and indexing.draft is None:
            indexing.folder.mark_damaged(serving.generation)
        for generation in (indexing.live, indexing.draft):
            if generation is not None:
                generation.drop_writer()
        indexing.live = indexing.draft = None
        if not is_damaged:
            indexing.files_checked_at = -math.inf  # open the serving index in the next turn
        indexing.folder.remove_other_generations(
            "" if serving is None else serving.generation
        )

    def _commit_idle_and_excess_writers(self) -> None:
        self._opened = 0
        uncommitted = [
            (store_id, indexing, indexing.live)
            for store_id, indexing in self._indexings.items()
            if indexing.live and indexing.live.has_writer
        ]
        for index, (store_id, indexing, generation) in enumerate(uncommitted):
            is_excess = index >= _MAX_WRITERS
            publish = partial(generation.commit_and_publish_if_due, now=is_excess)
            self._run_or_retry_later(store_id, indexing, publish)

    def _remove_indexes_of_deleted_stores(self, existing: set[StoreId]) -> None:
        for store_id in self._indexings.keys() - existing:
            dropped = self._indexings.pop(store_id)
            if dropped.live is not None:
                dropped.live.drop_writer()
            dropped.folder.remove()


def _log_fields(head: CatalogVersion) -> dict[str, object]:
    return {"store": head.store_id, "products": head.size}
