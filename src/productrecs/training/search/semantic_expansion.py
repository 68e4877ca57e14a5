"""Semantic expansion: words of a catalog related by the operator's text model.

The indexing process computes it when idle, some words at a time; every API process reads
the file.
"""

import logging
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import FORMAT
from productrecs.engines.text.search_index import SearchIndex
from productrecs.engines.text.semantic_expansion import (
    RelatedWords,
    Vectors,
    backtest_expansion,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.storage.index_files import IndexFolder
from productrecs.training.search.text_embedder import TextEmbedder

_log = logging.getLogger(__name__)

MAX_WORDS: Final = 10_000
BATCH: Final = 32
"""Words of one step, which other stores' changes wait for."""

_GROWN: Final = 1.1  # as many words, and it is worked out again
_NO_KIN: Final = RelatedWords((), np.zeros((0, 1), np.float32), 1.0)


@dataclass(frozen=True, slots=True)
class _Origin:
    """The index and the model from which an expansion was computed."""

    generation: str
    model: str
    size: int  # of the catalog's vocabulary

    def is_of(self, generation: str, model: str, size: int) -> bool:
        same = (self.generation, self.model) == (generation, model)
        return same and size <= _GROWN * self.size


@dataclass(slots=True)
class _Drafting:
    """One store whose words are being turned into vectors."""

    origin: _Origin
    index: SearchIndex
    words: Sequence[str]
    vectors: list[Vectors] = field(default_factory=list)

    @property
    def done(self) -> int:
        return sum(map(len, self.vectors))


class ExpansionBuilder:
    """Computes related words, one store after another; call `turn` when idle."""

    def __init__(self, embedder: TextEmbedder) -> None:
        """Ask `embedder`, which loads when there is something to do."""
        self._embedder = embedder
        self._known: dict[StoreId, _Origin] = {}
        self._seen: dict[StoreId, object] = {}  # the index's stamp at the last look
        self._is_off = False
        self._drafts: dict[StoreId, _Drafting] = {}

    def turn(self, store_id: StoreId, folder: IndexFolder) -> bool:
        """Do one step for a store; return whether there was something to do.

        A model that fails is not run again: indexes are written without it.

        Raises:
            BrokenIndexError: when the index turns out to be damaged.
            OSError: when the file cannot be written.
        """
        try:
            return not self._is_off and self._step(store_id, folder)
        except ModelFileError:
            _log.exception("text model unavailable")
            self._is_off = True
            return False

    def _step(self, store_id: StoreId, folder: IndexFolder) -> bool:
        draft, stamp = self._drafts.get(store_id), folder.stamp()
        if draft is None and self._seen.get(store_id) == stamp:
            return False
        seal = folder.current()
        if seal is None or seal.format != FORMAT or not seal.applied_seq:
            return False
        self._seen[store_id] = stamp
        if draft is not None and draft.origin.generation == seal.generation:
            self._go_on(store_id, folder, draft)
            return True
        model = self._embedder.model.name
        if store_id not in self._known:
            self._known[store_id] = _origin_of(folder)
        index = SearchIndex(folder.path(seal.generation), seal.language)
        if self._known[store_id].is_of(seal.generation, model, index.vocabulary_size):
            return False
        origin = _Origin(seal.generation, model, index.vocabulary_size)
        words = index.frequent_words(MAX_WORDS)
        self._drafts[store_id] = _Drafting(origin, index, words)
        return True

    def _go_on(self, store_id: StoreId, folder: IndexFolder, draft: _Drafting) -> None:
        batch = draft.words[draft.done : draft.done + BATCH]
        if batch:
            draft.vectors.append(self._embedder.embed(batch))
            return
        del self._drafts[store_id]
        kin = self._tried(store_id, draft) if draft.words else _NO_KIN
        self._seen.pop(store_id, None)  # perhaps it has grown meanwhile
        _write(folder, draft.origin, kin)
        self._known[store_id] = draft.origin

    def _tried(self, store_id: StoreId, draft: _Drafting) -> RelatedWords:
        words, vectors = tuple(draft.words), np.concatenate(draft.vectors)
        trial = backtest_expansion(
            words,
            vectors,
            draft.index.language.stems(words),
            self._embedder.embed,
            draft.index.items_with_word,
        )
        _log.info(
            "text model evaluated",
            extra={
                "store": store_id,
                "words": len(words),
                "least": round(trial.least, 3),
                "answered": trial.answered,
                "found_again": trial.found_again,
                "is_used": trial.is_passed,
            },
        )
        return RelatedWords(words, vectors, trial.least) if trial.is_passed else _NO_KIN


class ServedExpansion:
    """One store's related words in one process."""

    def __init__(self, folder: IndexFolder, embedder: TextEmbedder) -> None:
        """Begin with none; `refresh` reads them."""
        self._folder = folder
        self._embedder = embedder
        self._kin = _NO_KIN
        self._stamp: tuple[int, int] | None = None

    def refresh(self) -> bool:
        """Read the file if it is another; return whether it was."""
        try:
            seen = _path(self._folder).stat()
        except OSError:
            return False
        stamp = (seen.st_mtime_ns, seen.st_ino)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        found = _read(self._folder)
        if found is None or found[0].model != self._embedder.model.name:
            self._kin = _NO_KIN
        else:
            self._kin = found[1]
        return True

    def of(self, word: str) -> list[str]:
        """Return the catalog's words that are related to a word it lacks."""
        if not self._kin.words:
            return []
        try:
            return self._kin.of(self._embedder.embed([word])[0])
        except ModelFileError:
            _log.exception("text model unavailable")
            self._kin = _NO_KIN
            return []


def _path(folder: IndexFolder) -> Path:
    return folder.folder / "kin.npz"


def _origin_of(folder: IndexFolder) -> _Origin:
    found = _read(folder)
    return found[0] if found else _Origin("", "", 0)


def _write(folder: IndexFolder, origin: _Origin, kin: RelatedWords) -> None:
    draft = folder.folder / ".kin.npz"
    with draft.open("wb") as file:
        np.savez(
            file,
            told=np.array([origin.generation, origin.model, str(origin.size)]),
            words=np.array(kin.words, dtype=np.str_),
            vectors=kin.vectors.astype(np.float16),
            least=np.array(kin.least),
        )
    draft.replace(_path(folder))


def _read(folder: IndexFolder) -> tuple[_Origin, RelatedWords] | None:
    """Return the stored expansion; None when it is missing or unreadable."""
    try:
        with np.load(_path(folder), allow_pickle=False) as file:
            generation, model, size = (str(one) for one in file["told"])
            words = tuple(str(one) for one in file["words"])
            vectors = np.asarray(file["vectors"], np.float32)
            origin = _Origin(generation, model, int(size))
            return origin, RelatedWords(words, vectors, float(file["least"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
