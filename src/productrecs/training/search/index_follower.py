"""Index follower: applies a catalog's changes to its index, batch by batch."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import IndexWriter
from productrecs.storage.dialects import RawReader
from productrecs.storage.index_files import IndexFolder, IndexManifest
from productrecs.training.search.repository import ChangePosition, read_catalog_changes

BATCH: Final = 1_000
"""Products of one step, some 0.1 to 0.3 s: others' changes come in between."""

_IDLE_SECONDS: Final = 5.0
_HEAP: Final = 60_000_000
_GROWTH: Final = 30
"""A new index is published when it has grown so many times: in few parts, it is faster."""

_AFTER_ALL: Final = 2**62


class IndexFollower:
    """One generation of one store's index, and the writer of it while there is work."""

    def __init__(self, store_id: StoreId, folder: IndexFolder, seal: IndexManifest) -> None:
        """Go on from where `seal` says; an unpublished generation begins at nothing."""
        self.store_id = store_id
        self.seal = seal
        self._folder = folder
        self._place = ChangePosition(
            seal.applied_seq, _AFTER_ALL if seal.applied_seq else -1
        )
        self._writer: IndexWriter | None = None
        self._used = 0.0
        self._seen = bytearray() if seal.applied_seq == seal.commit == 0 else None
        self._held = self._waiting = 0  # products of a new index, committed and not yet

    @property
    def is_writing(self) -> bool:
        """Whether it holds a writer, which costs memory and a dozen threads."""
        return self._writer is not None

    @property
    def is_published(self) -> bool:
        """Whether it was ever published to readers."""
        return self.seal.files is not None

    def step(self, reader: RawReader, head_seq: int, *, publish: bool) -> bool:
        """Follow one batch of changes; return whether all up to `head_seq` is in.

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
            # Words come with the first products and with the last: in few parts, they are
            # looked up in half the time.
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
        """Let the writer go when there was nothing to write for a while."""
        if self._writer is None:
            return
        if at_once or time.monotonic() - self._used > _IDLE_SECONDS:
            writer, self._writer = self._writer, None
            if self._held or self._waiting:
                self._commit(writer, with_words=True)
            writer.close()
            self.publish()

    def drop(self) -> None:
        """Let the writer go, whatever state the index is in."""
        self._writer = None

    def _commit(self, writer: IndexWriter, *, with_words: bool) -> None:
        writer.commit(with_words=with_words)
        self._held, self._waiting = self._held + self._waiting, 0

    def _split_known(
        self, changed: Sequence[ProductText]
    ) -> tuple[list[ProductText], list[ProductText]]:
        """Return the products that may be in the index, and those that are certainly new.

        What changes while an index is built for the first time comes a second time.
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
