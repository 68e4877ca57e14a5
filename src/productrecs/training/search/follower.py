"""How does one index follow its store's catalog? Batch by batch, commit by commit."""

import time
from dataclasses import replace
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.engines.text.index import IndexWriter
from productrecs.storage.dialects import HotReader
from productrecs.storage.index_files import IndexFolder, Seal
from productrecs.training.search.reading import Place, changes

BATCH: Final = 1_000
"""Products of one step, some 0.1 to 0.3 s: others' changes come in between."""

_IDLE_SECONDS: Final = 5.0
_HEAP: Final = 40_000_000
_AFTER_ALL: Final = 2**62


class Follower:
    """One generation of one store's index, and the writer of it while there is work."""

    def __init__(self, store_id: StoreId, folder: IndexFolder, seal: Seal) -> None:
        """Go on from where `seal` says; an unpublished generation begins at nothing."""
        self.store_id = store_id
        self.seal = seal
        self._folder = folder
        self._place = Place(seal.applied_seq, _AFTER_ALL if seal.applied_seq else -1)
        self._writer: IndexWriter | None = None
        self._used = 0.0
        self._is_new = seal.applied_seq == 0

    @property
    def is_writing(self) -> bool:
        """Whether it holds a writer, which costs memory and two threads."""
        return self._writer is not None

    def step(self, reader: HotReader, head_seq: int, *, publish: bool) -> bool:
        """Follow one batch of changes; return whether all up to `head_seq` is in.

        Raises:
            BrokenIndexError: when the index can no longer be written.
            OSError: when the disk is full or fails.
        """
        found = changes(reader, self.store_id, self._place, BATCH)
        writer = self._open()
        writer.put(found.changed, are_new=self._is_new)
        writer.remove(found.gone)
        self._place = found.up_to
        if found.is_all:
            applied = max(head_seq, found.up_to.seq)
            self._place = Place(applied, _AFTER_ALL)
            self.seal = replace(self.seal, applied_seq=applied)
        if publish or found.is_all:
            writer.commit()
            self._is_new = False
        if publish:
            self.publish()
        return found.is_all

    def publish(self) -> None:
        """Let readers see what was committed."""
        self.seal = self._folder.publish(replace(self.seal, commit=self.seal.commit + 1))

    def rest(self, *, at_once: bool = False) -> None:
        """Let the writer go when there was nothing to write for a while."""
        if self._writer is None:
            return
        if at_once or time.monotonic() - self._used > _IDLE_SECONDS:
            writer, self._writer = self._writer, None
            writer.close()
            self.publish()

    def drop(self) -> None:
        """Let the writer go, whatever state the index is in."""
        self._writer = None

    def _open(self) -> IndexWriter:
        if self._writer is None:
            path = self._folder.path(self.seal.generation)
            self._writer = IndexWriter(path, self.seal.language, _HEAP)
        self._used = time.monotonic()
        return self._writer
