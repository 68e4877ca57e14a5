"""Indexer: updates indexes that lag behind their catalogs, and rebuilds damaged ones.

One process per data folder writes all indexes, one batch at a time, so one store's hundred
thousand new products do not delay another store's price change.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import FORMAT, BrokenIndexError, ProductText
from productrecs.engines.text.language_detection import detect_language
from productrecs.engines.text.search_index import IndexWriter
from productrecs.storage.dialects import RawReader
from productrecs.storage.index_files import (
    DamagedIndexError,
    IndexFolder,
    IndexManifest,
    index_log_fields,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.search.repository import (
    CatalogHead,
    ChangePosition,
    read_catalog_changes,
    read_catalog_heads,
    sample_texts,
)
from productrecs.training.search.served_index import index_folder

BATCH: Final = 1_000
"""Products of one batch, which takes 0.1 to 0.3 s; other stores' batches come between."""

_IDLE_SECONDS: Final = 5.0
_HEAP: Final = 60_000_000
_GROWTH: Final = 30
"""Growth factor between publications of a new index: fewer segments search faster."""

_AFTER_ALL: Final = 2**62


class IndexFollower:
    """One generation of one store's index, and its writer while there is work."""

    def __init__(self, store_id: StoreId, folder: IndexFolder, seal: IndexManifest) -> None:
        """Continue at the position of `seal`; an unpublished generation starts at zero."""
        self.store_id = store_id
        self.seal = seal
        self._folder = folder
        self._place = ChangePosition(
            seal.applied_seq, _AFTER_ALL if seal.applied_seq else -1
        )
        self._writer: IndexWriter | None = None
        self._used = 0.0
        self._seen = bytearray() if seal.applied_seq == seal.commit == 0 else None
        self._held = self._waiting = 0  # products of a new index, committed or not

    @property
    def is_writing(self) -> bool:
        """Whether it has a writer, which costs memory and a dozen threads."""
        return self._writer is not None

    @property
    def is_published(self) -> bool:
        """Whether it was ever published to readers."""
        return self.seal.files is not None

    def step(self, reader: RawReader, head_seq: int, *, publish: bool) -> bool:
        """Index one batch of changes; return whether all up to `head_seq` are indexed.

        Raises:
            BrokenIndexError: when the index can no longer be written.
            OSError: when the disk is full or fails.
        """
        found = read_catalog_changes(reader, self.store_id, self._place, BATCH)
        writer = self._open()
        known, new = self._split_known(found.changed)
        writer.put(known)
        writer.put(new, are_new=True)
        writer.remove(found.gone)
        self._waiting += len(new)
        self._place = found.up_to
        if found.is_all:
            applied = max(head_seq, found.up_to.seq)
            self._place = ChangePosition(applied, _AFTER_ALL)
            self.seal = replace(self.seal, applied_seq=applied)
            self._seen = None
        if found.is_all or (publish and self._waiting >= _GROWTH * self._held):
            # The vocabulary is written with the first and the last products: fewer segments
            # halve the lookup time.
            self._commit(writer, with_words=found.is_all or not self._held)
            if publish:
                self.publish()
        if found.is_all:
            self._held = 0
        return found.is_all

    def publish(self) -> None:
        """Publish the committed documents to readers."""
        self.seal = self._folder.publish(replace(self.seal, commit=self.seal.commit + 1))

    def rest(self, *, at_once: bool = False) -> None:
        """Close the writer after a while without work."""
        if self._writer is None:
            return
        if at_once or time.monotonic() - self._used > _IDLE_SECONDS:
            writer, self._writer = self._writer, None
            if self._held or self._waiting:
                self._commit(writer, with_words=True)
            writer.close()
            self.publish()

    def drop(self) -> None:
        """Close the writer, whatever state the index is in."""
        self._writer = None

    def _commit(self, writer: IndexWriter, *, with_words: bool) -> None:
        writer.commit(with_words=with_words)
        self._held, self._waiting = self._held + self._waiting, 0

    def _split_known(
        self, changed: Sequence[ProductText]
    ) -> tuple[list[ProductText], list[ProductText]]:
        """Return the products that may be in the index, and those that are certainly new.

        Products that change during the first build appear twice.
        """
        seen = self._seen
        if seen is None:
            return list(changed), []
        known: list[ProductText] = []
        new: list[ProductText] = []
        for product in changed:
            if product.number >= len(seen):
                seen.extend(bytes(product.number + 1 - len(seen)))
            (known if seen[product.number] else new).append(product)
            seen[product.number] = 1
        return known, new

    def _open(self) -> IndexWriter:
        if self._writer is None:
            path = self._folder.path(self.seal.generation)
            self._writer = IndexWriter(path, self.seal.language, _HEAP)
        self._used = time.monotonic()
        return self._writer


_log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 600.0
_LOOK_FOR_DAMAGE_SECONDS: Final = 0.5
_LOOK_AT_FILES_SECONDS: Final = 2.0  # between checks: about 40 stat calls
_TRY_AGAIN_SECONDS: Final = 5.0
_MOST_WRITERS: Final = 4
_FEW: Final = 10
_GROWN: Final = 10  # growth factor after which the language is detected again


@dataclass(slots=True)
class _Indexing:
    """One store: its serving index, and its draft."""

    folder: IndexFolder
    live: IndexFollower | None = None
    draft: IndexFollower | None = None
    checked_at: float = -_CHECK_SECONDS
    looked_at: float = 0.0
    noted: tuple[int, int, int] | None = None  # last read pointer to the serving index
    touched_at: float = 0.0
    not_before: float = 0.0  # retry time after a failure


class Indexer:
    """Keeps the indexes of all stores up to date; call `turn` repeatedly."""

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
        self._stores: dict[StoreId, _Indexing] = {}

    def turn(self, reader: RawReader) -> bool:
        """Index one batch for each store with changes, and one batch of one new index.

        Returns whether there is more work now.
        """
        self._accounts.refresh(reader)
        standing = read_catalog_heads(reader)
        self._forget_deleted({head.store_id for head in standing})
        busy = [self._guarded(self._follow, reader, head) for head in standing]
        draft = next((head for head in standing if self._is_drafting(head)), None)
        if draft is not None:
            busy.append(self._guarded(self._draft, reader, draft))
        self._rest()
        return any(busy)

    def close(self) -> None:
        """Close every writer."""
        for one in self._stores.values():
            if one.live is not None:
                one.live.rest(at_once=True)

    def _guarded(
        self,
        work: Callable[[RawReader, CatalogHead, Store, _Indexing], bool],
        reader: RawReader,
        head: CatalogHead,
    ) -> bool:
        """Run a store's step; a failure is retried later and stops no other store."""
        store = self._accounts.by_id(head.store_id)
        known = self._stores.get(head.store_id)
        if known is None:
            known = _Indexing(index_folder(self._root, head.store_id))
            self._stores[head.store_id] = known
        if store is None or self._seconds() < known.not_before:
            return False
        try:
            return work(reader, head, store, known)
        except (BrokenIndexError, DamagedIndexError) as error:
            _log.warning("search index rebuilt", extra=_facts(head) | {"error": str(error)})
            self._give_up(known)
        except OSError:
            _log.exception("search index write failed", extra=_facts(head))
            known.not_before = self._seconds() + _TRY_AGAIN_SECONDS
        return True

    def _follow(
        self, reader: RawReader, head: CatalogHead, store: Store, known: _Indexing
    ) -> bool:
        """Update the serving index; start a draft if needed."""
        if head.seq == 0 and known.live is None:
            return False  # a store without a catalog has no index
        self._check(known)
        if known.draft is None and self._is_due(reader, head, store, known):
            self._begin(reader, head, store, known)
        live = known.live
        if live is None or live.seal.applied_seq >= head.seq:
            return False
        return not live.step(reader, head.seq, publish=True)

    def _check(self, known: _Indexing) -> None:
        """Find the serving index and check its integrity.

        Raises:
            DamagedIndexError: when its checksums differ or a reader cannot open it.
        """
        now = self._seconds()
        if now - known.looked_at < _LOOK_FOR_DAMAGE_SECONDS:
            return
        known.looked_at = now
        if known.live is not None and known.live.is_published:
            self._check_note(known, known.live)
        seal = known.live.seal if known.live else known.folder.current()
        if seal is None or seal.format != FORMAT:
            return
        if known.folder.is_damaged(seal.generation):
            if known.live is None:
                return  # already known; a draft is in progress
            message = "a reader found it damaged"
            raise DamagedIndexError(message)
        self._check_files(known, seal, now)
        if known.live is None:
            known.live = IndexFollower(
                StoreId(known.folder.folder.name), known.folder, seal
            )

    @staticmethod
    def _check_note(known: _Indexing, live: IndexFollower) -> None:
        """Rewrite the pointer to the serving index if it is unreadable.

        Raises:
            DamagedIndexError: when the index files are gone as well.
        """
        stamp = known.folder.stamp()
        if stamp is None:
            message = "its files are gone"
            raise DamagedIndexError(message)
        if stamp != known.noted and known.folder.current() is None:
            live.publish()
            stamp = known.folder.stamp()
        known.noted = stamp

    @staticmethod
    def _check_files(known: _Indexing, seal: IndexManifest, now: float) -> None:
        """Compare files with their checksums after a modification, or after a while.

        Raises:
            DamagedIndexError: when a file differs.
        """
        is_touched = False
        if now - known.touched_at >= _LOOK_AT_FILES_SECONDS:
            known.touched_at = now
            is_touched = known.folder.is_touched(seal)
        if is_touched or now - known.checked_at >= _CHECK_SECONDS:
            known.checked_at = now
            known.folder.check(seal)

    def _is_due(
        self, reader: RawReader, head: CatalogHead, store: Store, known: _Indexing
    ) -> bool:
        """Return whether a new index is needed: there is none, or its language changed.

        The language is detected again when the catalog has grown tenfold.
        """
        live = known.live
        if live is None or live.seal.told_language != store.settings.language:
            return True
        if head.size < _GROWN * max(live.seal.looked_at_size, _FEW):
            return False
        live.seal = replace(live.seal, looked_at_size=head.size)
        found = detect_language(
            sample_texts(reader, head.store_id), store.settings.language
        )
        return found != live.seal.language

    def _begin(
        self, reader: RawReader, head: CatalogHead, store: Store, known: _Indexing
    ) -> None:
        """Start a new index: as a draft, or as the serving one if there is none."""
        language = store.settings.language
        seal = IndexManifest(
            generation=known.folder.new_generation(),
            format=FORMAT,
            language=detect_language(sample_texts(reader, head.store_id), language),
            told_language=language,
            applied_seq=0,
            looked_at_size=head.size,
        )
        _log.info("search index started", extra=_facts(head) | index_log_fields(seal))
        follower = IndexFollower(head.store_id, known.folder, seal)
        if known.folder.current() is None:
            known.live = follower  # a partial index is better than none
        else:
            known.draft = follower

    def _is_drafting(self, head: CatalogHead) -> bool:
        known = self._stores.get(head.store_id)
        return known is not None and known.draft is not None

    def _draft(
        self, reader: RawReader, head: CatalogHead, store: Store, known: _Indexing
    ) -> bool:
        """Continue the draft; once it has caught up, it serves."""
        draft = known.draft
        if draft is None:
            return False
        if draft.seal.told_language != store.settings.language:
            draft.drop()
            known.draft = None
            return True
        if draft.step(reader, head.seq, publish=False):
            draft.publish()
            if known.live is not None:
                known.live.drop()
            known.live, known.draft = draft, None
            known.checked_at = self._seconds()
            known.folder.clean(draft.seal.generation)
            _log.info(
                "search index built",
                extra=_facts(head) | index_log_fields(draft.seal),
            )
        return True

    def _give_up(self, known: _Indexing) -> None:
        """Drop the broken index; the next turn starts a new one."""
        seal = known.folder.current()
        if seal is not None and known.draft is None:
            known.folder.note_damage(seal.generation)
        for follower in (known.live, known.draft):
            if follower is not None:
                follower.drop()
        known.live = known.draft = None

    def _rest(self) -> None:
        writing = [
            one.live for one in self._stores.values() if one.live and one.live.is_writing
        ]
        for index, follower in enumerate(writing):
            follower.rest(at_once=index >= _MOST_WRITERS)

    def _forget_deleted(self, present: set[StoreId]) -> None:
        for store_id in self._stores.keys() - present:
            gone = self._stores.pop(store_id)
            if gone.live is not None:
                gone.live.drop()
            gone.folder.remove()


def _facts(head: CatalogHead) -> dict[str, object]:
    return {"store": head.store_id, "products": head.size}
