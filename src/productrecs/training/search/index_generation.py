"""Index generation: one index of a store, and its writer while there is work."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import IndexWriter
from productrecs.records.catalog.searchable_text_changes.repository import (
    CatalogChangePosition,
    read_text_changes,
)
from productrecs.storage.files.search_index_files import IndexFolder, IndexManifest
from productrecs.storage.sql.dialects import RawReader

BATCH: Final = 1_000
"""Products of one batch, which takes 0.1 to 0.3 s; other stores' batches come between."""

_IDLE_SECONDS: Final = 5.0
_HEAP: Final = 60_000_000
_GROWTH: Final = 30
"""Growth factor between publications of a new index: fewer segments search faster."""

_AFTER_ALL: Final = 2**62

IsCaughtUp: TypeAlias = bool
"""Whether an index holds every change up to the head it was asked to reach."""


class IndexGeneration:
    """One generation of one store's index, and its writer while there is work."""

    def __init__(
        self, store_id: StoreId, folder: IndexFolder, manifest: IndexManifest
    ) -> None:
        """Continue at the position of `manifest`.

        An unpublished generation starts at zero.
        """
        self.store_id = store_id
        self.manifest = manifest
        self._folder = folder
        self._place = CatalogChangePosition(
            manifest.applied_seq, _AFTER_ALL if manifest.applied_seq else -1
        )
        self._writer: IndexWriter | None = None
        self._used = 0.0
        self._indexed_bits = (
            bytearray() if manifest.applied_seq == manifest.commit == 0 else None
        )
        self._pending = self._waiting = 0  # products of a new index, committed or not

    @property
    def has_writer(self) -> bool:
        """Whether its writer is open, which costs memory and a dozen threads."""
        return self._writer is not None

    @property
    def is_published(self) -> bool:
        """Whether it was ever published to readers."""
        return self.manifest.files is not None

    def index_next_batch(
        self, reader: RawReader, head_seq: int, *, publish: bool
    ) -> IsCaughtUp:
        """Index one batch of changes; return whether all up to `head_seq` are indexed.

        Raises:
            BrokenIndexError: when the index can no longer be written.
            OSError: when the disk is full or fails.
        """
        changes = read_text_changes(reader, self.store_id, self._place, BATCH)
        writer = self._open_writer()
        maybe_indexed, new = self._split_maybe_indexed_and_new(changes.changed)
        writer.put(maybe_indexed)
        writer.put(new, are_new=True)
        writer.remove(changes.removed)
        self._waiting += len(new)
        self._place = changes.up_to
        if changes.is_all:
            applied = max(head_seq, changes.up_to.seq)
            self._place = CatalogChangePosition(applied, _AFTER_ALL)
            self.manifest = replace(self.manifest, applied_seq=applied)
            self._indexed_bits = None
        if changes.is_all or (publish and self._waiting >= _GROWTH * self._pending):
            # The vocabulary is written with the first and the last products: fewer segments
            # halve the lookup time.
            self._commit(writer, with_words=changes.is_all or not self._pending)
            if publish:
                self.publish()
        if changes.is_all:
            self._pending = 0
        return changes.is_all

    def publish(self) -> None:
        """Publish the committed documents to readers."""
        self.manifest = self._folder.publish_with_checksums(
            replace(self.manifest, commit=self.manifest.commit + 1)
        )

    def commit_and_publish_if_due(self, *, now: bool = False) -> None:
        """Commit, close the writer and publish: after a while without work, or `now`."""
        if self._writer is None:
            return
        if now or time.monotonic() - self._used > _IDLE_SECONDS:
            writer, self._writer = self._writer, None
            if self._pending or self._waiting:
                self._commit(writer, with_words=True)
            writer.close()
            self.publish()

    def drop_writer(self) -> None:
        """Drop the writer with what it has not committed."""
        self._writer = None

    def _commit(self, writer: IndexWriter, *, with_words: bool) -> None:
        writer.commit(with_words=with_words)
        self._pending, self._waiting = self._pending + self._waiting, 0

    def _split_maybe_indexed_and_new(
        self, changed: Sequence[ProductText]
    ) -> tuple[list[ProductText], list[ProductText]]:
        """Return the products that may be in the index, and those that are certainly new.

        Products that change during the first build appear twice.
        """
        indexed_bits = self._indexed_bits
        if indexed_bits is None:
            return list(changed), []
        maybe_indexed: list[ProductText] = []
        new: list[ProductText] = []
        for product in changed:
            if product.number >= len(indexed_bits):
                indexed_bits.extend(bytes(product.number + 1 - len(indexed_bits)))
            (maybe_indexed if indexed_bits[product.number] else new).append(product)
            indexed_bits[product.number] = 1
        return maybe_indexed, new

    def _open_writer(self) -> IndexWriter:
        if self._writer is None:
            path = self._folder.path(self.manifest.generation)
            self._writer = IndexWriter(path, self.manifest.language, _HEAP)
        self._used = time.monotonic()
        return self._writer
