"""Semantic space builder: embeds product texts in the background, store by store.

It runs on the lowest-priority thread of the indexing process, so that index updates
continue. A text is embedded once; a changed product costs one embedding.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from productrecs.engines.text.semantic_space import (
    EVERYDAY_WORDS,
    MIN_THRESHOLD_SMALL,
    REDUCED_FROM,
    Codes,
    EmbeddingProjection,
    SemanticSpace,
    make_pseudo_words,
    quantize,
    similarity_threshold,
    unit_rows,
)
from productrecs.engines.text.tokenizer import query_words
from productrecs.processes.child_process import release_freed_memory
from productrecs.records.catalog.searchable_text_changes.repository import (
    CatalogChangePosition,
    CatalogVersion,
    read_catalog_versions,
    read_text_changes,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.semantic_space_files import (
    MEANING,
    ProductVectors,
    SemanticSpaceKind,
    StoredSemanticSpace,
    embedded_text,
    read_space,
    stored_model_name,
    text_hash,
    write_space,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from productrecs.core.ids import StoreId
    from productrecs.engines.text.index_schema import ProductText
    from productrecs.storage.sql.dialects import RawReader
    from productrecs.training.search.text_embedder import TextEncoder

_log = logging.getLogger(__name__)

READ_BATCH: Final = 256
_EMBED_BATCH: Final = 4  # more is no faster, and takes more memory
_PROJECT_BATCH: Final = 2_048
_FITTED_ON: Final = 20_000
"""Sample size for fitting the space of a larger catalog."""

_GROWTH: Final = 1.5  # growth factor after which the space is fitted again
_PER_SECOND: Final = 1_000
"""Products per second of delay between publications: each one writes the whole file."""

_PAUSE_SECONDS: Final = 1.0
_RELEASE_SECONDS: Final = 60.0  # idle time after which the model is unloaded
_RETRY_SECONDS: Final = 10.0
MAX_WORDS: Final = 4_000
_MIN_LETTERS: Final = 5  # of words whose halves are embedded as pseudo-words
_LOWEST_PRIORITY: Final = 19
_AFTER_ALL: Final = 2**62


@dataclass(slots=True)
class _StoreEmbeddingProgress:
    """One store: its embedded position in the catalog, and unpublished vectors."""

    position: CatalogChangePosition = field(
        default_factory=lambda: CatalogChangePosition(0, _AFTER_ALL)
    )
    vectors: ProductVectors | None = None
    words: dict[str, None] = field(default_factory=dict)
    embedded: int = 0
    is_dirty: bool = False
    is_switch: bool = False  # whether another model's space serves until all is embedded
    is_embedded: bool = False  # whether it has products, and all have vectors
    not_before: float = 0.0


class SemanticSpaceBuilder:
    """Keeps the semantic spaces of all stores up to date; `run_once` does the next step."""

    def __init__(
        self,
        root: Path,
        embedder: TextEncoder,
        seconds: Callable[[], float] = time.monotonic,
        kind: SemanticSpaceKind = MEANING,
    ) -> None:
        """Write below `root`, one folder per store, with the vectors of `embedder`."""
        self._root, self._kind = root, kind
        self._embedder = embedder
        self._seconds = seconds
        self._stores: dict[StoreId, _StoreEmbeddingProgress] = {}
        self._active_at = self._prepare_from = seconds()
        self.is_off = False

    def run(self, reader: RawReader, stopping: threading.Event) -> None:
        """Work at the lowest priority until `stopping` is set.

        Raises:
            StorageError: when the database cannot be read.
        """
        if hasattr(os, "setpriority"):  # lowers this thread only, if the system supports it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        while not stopping.is_set() and not self.is_off:
            if not self.run_once(reader, stopping):
                stopping.wait(_PAUSE_SECONDS)

    def run_once(self, reader: RawReader, stopping: threading.Event | None = None) -> bool:
        """Do one step for each store with changes; return whether there was any."""
        heads = read_catalog_versions(reader)
        for deleted_id in self._stores.keys() - {head.store_id for head in heads}:
            del self._stores[deleted_id]
        stopping = stopping or threading.Event()
        busy = [self._run_store_step(reader, head, stopping) for head in heads]
        is_busy = any(busy) or self._precompute_piece_vectors(stopping)
        now = self._seconds()
        if is_busy:
            self._active_at = now
        elif now - self._active_at > _RELEASE_SECONDS:
            self._embedder.release()
        return is_busy

    def _precompute_piece_vectors(self, stopping: threading.Event) -> bool:
        """Make queries fast once a store's products are embedded."""
        now = self._seconds()
        if now < self._prepare_from or not any(
            progress.is_embedded for progress in self._stores.values()
        ):
            return False
        try:
            return self._embedder.precompute_piece_vectors(stopping)
        except ModelFileError:
            _log.exception("text model unavailable")
            self.is_off = True
        except OSError:
            _log.exception("word pieces not written")
            self._prepare_from = now + _RETRY_SECONDS
        return False

    def _run_store_step(
        self, reader: RawReader, head: CatalogVersion, stopping: threading.Event
    ) -> bool:
        """Run a store's step; a failure stops no other store, a broken model stops all."""
        progress = self._stores.setdefault(head.store_id, _StoreEmbeddingProgress())
        # A push of many items has one sequence number: part of them may be unread.
        has_read_all = progress.position >= CatalogChangePosition(head.seq, _AFTER_ALL)
        is_idle = has_read_all and not progress.is_dirty
        folder = self._root / head.store_id
        if is_idle or self._seconds() < progress.not_before or not folder.exists():
            return False
        try:
            self._embed_batch_and_publish_when_due(reader, head, progress, stopping)
        except ModelFileError:
            _log.exception("text model unavailable")
            self.is_off = True
            return False
        except OSError:
            _log.exception("semantic space write failed", extra={"store": head.store_id})
            progress.not_before = self._seconds() + _RETRY_SECONDS
        return True

    def _embed_batch_and_publish_when_due(
        self,
        reader: RawReader,
        head: CatalogVersion,
        progress: _StoreEmbeddingProgress,
        stopping: threading.Event,
    ) -> None:
        """Embed the next changed texts; publish when all are done, or after a while."""
        folder = self._root / head.store_id
        if progress.vectors is None:
            progress.vectors = ProductVectors(folder, self._embedder.model.name, self._kind)
            serving = stored_model_name(folder / self._kind.space_file)
            progress.is_switch = serving not in {None, self._embedder.model.name}
            progress.is_dirty |= serving is None or progress.is_switch
        changes = read_text_changes(reader, head.store_id, progress.position, READ_BATCH)
        new = embed_products(progress.vectors, changes.changed, self._embedder, stopping)
        if stopping.is_set():
            return
        progress.embedded += new.embedded
        progress.is_dirty |= new.embedded > 0
        progress.words |= dict.fromkeys(new.words[: MAX_WORDS - len(progress.words)])
        for number in changes.removed:
            progress.is_dirty |= progress.vectors.remove(number)
        progress.position = changes.up_to
        if changes.is_all:
            applied = max(head.seq, changes.up_to.seq)
            progress.position = CatalogChangePosition(applied, _AFTER_ALL)
            self._publish_space(head, progress)
            progress.is_embedded = len(progress.vectors) > 0
            progress.vectors, progress.words = None, {}
            release_freed_memory()  # the texts of the whole catalog were read
        elif progress.embedded >= max(READ_BATCH, len(progress.vectors) // 4):
            if progress.is_switch:
                # A restarted process goes on from here.
                progress.vectors.write_and_keep_previous_model()
                progress.embedded = 0
            else:
                self._publish_space(head, progress)

    def _publish_space(
        self, head: CatalogVersion, progress: _StoreEmbeddingProgress
    ) -> None:
        """Publish the embedded products to searches."""
        vectors = progress.vectors
        if vectors is None or not progress.is_dirty:
            return
        folder = self._root / head.store_id
        vectors.write_and_keep_previous_model()
        stored = _project_into_previous_space(vectors, read_space(folder, self._kind))
        if stored is None:
            stored = fit_space(vectors, progress.words, self._embedder)
        write_space(folder, stored, self._kind)
        _log.info(
            "product texts embedded",
            extra={
                "store": head.store_id,
                "products": len(vectors),
                "embedded": progress.embedded,
                "space": self._kind.name,
                "least": round(stored.space.threshold, 3),
            },
        )
        progress.embedded, progress.is_dirty = 0, False
        progress.not_before = self._seconds() + len(vectors) / _PER_SECOND


class EmbeddedCountAndTitleWords(NamedTuple):
    """Number of embedded texts, and the distinct longer words of all titles."""

    embedded: int
    words: list[str]


def embed_products(
    vectors: ProductVectors,
    products: Sequence[ProductText],
    embedder: TextEncoder,
    stopping: threading.Event | None = None,
) -> EmbeddedCountAndTitleWords:
    """Embed the product texts without a vector, until `stopping` is set.

    Raises:
        ModelFileError: when the model cannot be run.
    """
    new: list[tuple[str, int, int]] = []
    words: dict[str, None] = {}
    for product in products:
        text = embedded_text(product, vectors.kind)
        digest = text_hash(text)
        for word in query_words(product.title):
            if word.isalpha() and len(word) >= _MIN_LETTERS:
                words[word] = None
        if not vectors.has(product.number, digest):
            new.append((text, product.number, digest))
    new.sort(key=lambda row: len(row[0]))  # similar lengths need less padding
    for begin in range(0, len(new), _EMBED_BATCH):
        if stopping is not None and stopping.is_set():
            break
        batch = new[begin : begin + _EMBED_BATCH]
        texts, numbers, digests = zip(*batch, strict=True)
        vectors.put(list(numbers), list(digests), embedder.embed(texts))
    return EmbeddedCountAndTitleWords(len(new), list(words))


def fit_space(
    vectors: ProductVectors, title_words: Iterable[str], embedder: TextEncoder
) -> StoredSemanticSpace:
    """Return the space fitted to a catalog's vectors and the words of its titles.

    Raises:
        ModelFileError: when the model cannot be run.
    """
    embedded_rows = np.flatnonzero(vectors.codes.any(axis=1))
    if not len(embedded_rows):
        empty = np.zeros((1, vectors.codes.shape[1]), np.float32)
        space = SemanticSpace(EmbeddingProjection.fit(empty), vectors.codes, 1.0)
        return StoredSemanticSpace(space, vectors.model, 0)
    sample = embedded_rows[:: -(-len(embedded_rows) // _FITTED_ON)]
    projection = EmbeddingProjection.fit(vectors.codes[sample])
    codes = _project_codes(vectors, projection)
    is_small = len(embedded_rows) < REDUCED_FROM
    pseudo_words = make_pseudo_words(EVERYDAY_WORDS if is_small else list(title_words))
    rows = [
        embedder.embed_queries(pseudo_words[begin : begin + _EMBED_BATCH])
        for begin in range(0, len(pseudo_words), _EMBED_BATCH)
    ]
    kind = vectors.kind
    least = similarity_threshold(rows, projection, codes, kind.max_pseudo_word_share)
    threshold_value = min(least, kind.max_threshold)
    if is_small:
        threshold_value = max(threshold_value, MIN_THRESHOLD_SMALL)
    return StoredSemanticSpace(
        SemanticSpace(projection, codes, threshold_value), vectors.model, len(embedded_rows)
    )


def _project_into_previous_space(
    vectors: ProductVectors, before: StoredSemanticSpace | None
) -> StoredSemanticSpace | None:
    """Return the vectors in the previous space; None if a new one must be fitted."""
    if before is None or before.model != vectors.model:
        return None
    if len(vectors) > _GROWTH * before.fitted_on:
        return None
    projection, threshold_value = before.space.projection, before.space.threshold
    codes = _project_codes(vectors, projection)
    return before._replace(space=SemanticSpace(projection, codes, threshold_value))


def _project_codes(vectors: ProductVectors, projection: EmbeddingProjection) -> Codes:
    """Return all vectors in a space, as int8; items without one are rows of zeros."""
    codes = vectors.codes
    projected = np.zeros((len(codes), projection.basis.shape[1]), np.int8)
    embedded_rows = np.flatnonzero(codes.any(axis=1))
    for begin in range(0, len(embedded_rows), _PROJECT_BATCH):
        batch = embedded_rows[begin : begin + _PROJECT_BATCH]
        projected[batch] = quantize(projection.reduce(unit_rows(codes[batch])))
    return projected
