"""Text embedder: a text model, the packaged one or the operator's, run by onnxruntime.

An operator's `model.onnx` needs a `model.json` and a tokenizer file beside it: `{"kind":
"text-embedder", "sha256": "...", "tokenizer": "tokenizer.json", "tokenizer_sha256": "...",
"pooling": "mean"}`. Files with other hashes are refused. Nothing is downloaded.
"""

import hashlib
import importlib
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.semantic_space import Vectors, quantize, unit_rows
from productrecs.records.pictures.onnx_model_file import (
    ModelFileError,
    open_session,
    read_verified_sidecar,
)
from productrecs.training.search.row_file import RowFile
from productrecs.training.search.word_pieces import WordPieceTokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXT_EMBEDDER: Final = "text-embedder"
_LONGEST: Final = 64
"""Maximum tokens of a text: a title, its categories and the start of a description."""

_PIECE_BATCH: Final = 32
_TOKENS: Final = 3  # dimensions of an output with one row per token

_UNKNOWN: Final = frozenset({"[UNK]", "<unk>"})

Pooling = Literal["mean", "first", "none"]
Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextModel:
    """A verified model, and how texts are prepared for it."""

    path: Path
    tokenizer: Path
    sha256: str
    pooling: Pooling  # of token vectors; none if the model gives one per text
    prefix: str  # prepended to every text
    query_map: Path | None = None  # composes a query's vector of those of its pieces
    piece_vectors: Path | None = None  # of every word piece, once precomputed

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the model at `path`, once its hashes were verified.

        Raises:
            ModelFileError: when they differ, or the runtime is not installed.
        """
        sidecar_fields, digest = read_verified_sidecar(path, TEXT_EMBEDDER)
        tokenizer = path.with_name(str(sidecar_fields.get("tokenizer", "tokenizer.json")))
        _check_tokenizer_hash(tokenizer, sidecar_fields)
        pooling = sidecar_fields.get("pooling", "mean")
        if pooling not in {"mean", "first", "none"}:
            message = f'the sidecar of {path} must say "pooling": "mean", "first" or "none"'
            raise ModelFileError(message)
        for name in ("onnxruntime", "tokenizers"):
            try:
                importlib.import_module(name)
            except ImportError as error:
                message = f"{path} needs {name}: pip install productrecs[onnx]"
                raise ModelFileError(message) from error
        return cls(path, tokenizer, digest, pooling, str(sidecar_fields.get("prefix", "")))

    @property
    def is_packaged(self) -> bool:
        """Whether it is the packaged one, not the operator's."""
        return self.query_map is not None

    @property
    def name(self) -> str:
        """The name stored with the model's vectors."""
        return text_vectors_name(self.sha256)


def text_vectors_name(sha256: str) -> str:
    """Return the name under which the vectors of a model are stored."""
    return f"onnx-{sha256[:16]}"


class NamedModel(Protocol):
    """A model whose vectors are stored under its name."""

    @property
    def name(self) -> str:
        """The name."""


class TextEncoder(Protocol):
    """Turns texts into vectors; safe to share between threads."""

    @property
    def model(self) -> NamedModel:
        """The model."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, each of length 1."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per query, each of length 1; zeros for one that is no words."""

    def precompute_piece_vectors(self, stopping: threading.Event) -> bool:
        """Do work that makes queries fast; return whether there was any."""

    def knows_every_word(self, query: str) -> bool:
        """Return whether the threshold may be a little lower for a query."""

    def release(self) -> None:
        """Unload the model until it is needed again."""


class TextEmbedder:
    """A text embedding model, loaded on first use; safe to share between threads."""

    def __init__(self, model: TextModel) -> None:
        """Load nothing yet."""
        self.model = model
        self._loading = threading.Lock()
        self._network: _OnnxNetwork | None = None
        self._tokenizer: Tokenizer | None = None
        self._word_pieces: WordPieceTokenizer | None = None
        self._composer: _QueryComposer | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, each of length 1.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        texts = [self.model.prefix + text for text in texts]
        try:
            batch = self._load_tokenizer().encode_batch(texts)
            ids = np.array([encoded.ids for encoded in batch], np.int64)
            mask = np.array([encoded.attention_mask for encoded in batch], np.int64)
            rows = self._load_network().embed_tokens(ids, mask)
        except Exception as error:  # the libraries' errors have no common base class
            message = f"{self.model.path} cannot be executed: {error}"
            raise ModelFileError(message) from error
        if rows.shape[:-1] != (len(texts),):
            message = f"{self.model.path} gives {rows.shape} for {len(texts)} texts"
            raise ModelFileError(message)
        return rows

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per query, each of length 1; zeros for one that is no words.

        Once the vectors of all word pieces are written, no query needs the network.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        composer = self._load_composer()
        if composer is None:
            return self.embed(texts)
        return np.stack([composer.compose(text) for text in texts])

    def precompute_piece_vectors(self, stopping: threading.Event) -> bool:
        """Write the vectors of all word pieces, if they are not there.

        Takes a quarter of a minute of processor time, once for a model. Returns whether it
        had to write them.

        Raises:
            ModelFileError: when the model cannot be run.
            OSError: when they cannot be written.
        """
        path = self.model.piece_vectors
        if path is None or path.exists():
            return False
        vectors = []
        try:
            tokenizer, network = self._load_tokenizer(), self._load_network()
            before, *after = tokenizer.encode("").ids
            for begin in range(0, tokenizer.get_vocab_size(), _PIECE_BATCH):
                if stopping.is_set():
                    return True
                end = min(begin + _PIECE_BATCH, tokenizer.get_vocab_size())
                ids = np.array([[before, n, *after] for n in range(begin, end)], np.int64)
                vectors.append(quantize(network.embed_tokens(ids, np.ones_like(ids))))
        except Exception as error:
            message = f"{self.model.path} cannot be executed: {error}"
            raise ModelFileError(message) from error
        unfinished = path.with_name(f"{path.stem}-{uuid.uuid4().hex}.npy")
        np.save(unfinished, np.concatenate(vectors))
        unfinished.replace(path)
        return True

    def knows_every_word(self, query: str) -> bool:
        """Return whether every word of a query is a single token; rare words are not.

        Raises:
            ModelFileError: when the model cannot be read.
        """
        try:
            tokens = self._split_into_tokens(query)
        except Exception as error:
            message = f"{self.model.tokenizer} cannot be used: {error}"
            raise ModelFileError(message) from error
        return len(tokens) == len(query.split()) and _UNKNOWN.isdisjoint(tokens)

    def release(self) -> None:
        """Unload the model until it is needed again."""
        with self._loading:
            self._network = self._tokenizer = None
            self._word_pieces = self._composer = None

    def _load_network(self) -> "_OnnxNetwork":
        with self._loading:
            self._network = self._network or _OnnxNetwork(self.model)
            return self._network

    def _load_tokenizer(self) -> "Tokenizer":
        with self._loading:
            if self._tokenizer is None:
                from tokenizers import Tokenizer  # noqa: PLC0415 - optional dependency

                self._tokenizer = Tokenizer.from_file(str(self.model.tokenizer))
                self._tokenizer.enable_truncation(_LONGEST)
                self._tokenizer.enable_padding()
            return self._tokenizer

    def _load_word_pieces(self) -> WordPieceTokenizer:
        with self._loading:
            if self._word_pieces is None:
                self._word_pieces = WordPieceTokenizer(self.model.tokenizer)
            return self._word_pieces

    def _split_into_tokens(self, query: str) -> Sequence[str]:
        if self.model.is_packaged:
            return self._load_word_pieces().tokens(query)
        tokens: Sequence[str] = (
            self._load_tokenizer().encode(query, add_special_tokens=False).tokens
        )
        return tokens

    def _load_composer(self) -> "_QueryComposer | None":
        """Return what composes queries; None before the word pieces are written.

        Raises:
            ModelFileError: when its files cannot be read.
        """
        composer, pieces, query_map = (
            self._composer,
            self.model.piece_vectors,
            self.model.query_map,
        )
        if composer is not None or pieces is None or query_map is None:
            return composer
        if not pieces.exists():
            return None
        try:
            self._composer = _QueryComposer(self._load_word_pieces(), pieces, query_map)
            with self._loading:  # an API process needs them no more
                self._network = self._tokenizer = None
        except Exception as error:
            message = f"{pieces} or {query_map} cannot be read: {error}"
            raise ModelFileError(message) from error
        return self._composer


class _QueryComposer:
    """Composes the vectors of queries of those of their word pieces."""

    def __init__(
        self, tokenizer: WordPieceTokenizer, pieces: Path, query_map: Path
    ) -> None:
        self._tokenizer = tokenizer
        codes = np.load(pieces, mmap_mode="r")
        self._rows = RowFile(pieces, codes.shape[1], codes.offset)
        with np.load(query_map) as file:
            self._map: Vectors = file["map"].astype(np.float32)
            words, self._word_codes = file["words"].tolist(), file["codes"]
        self._words: dict[str, int] = {word: row for row, word in enumerate(words)}

    def compose(self, text: str) -> Vectors:
        """Return a query's vector; zeros for no word."""
        if (row := self._words.get(text.strip().lower())) is not None:
            rows = unit_rows(self._word_codes[row : row + 1])
        else:
            ids = self._tokenizer.ids(text)[:_LONGEST]
            rows = unit_rows(self._rows.read(ids).view(np.int8))
            if len(ids) > 1:
                rows = unit_rows(rows.sum(axis=0, keepdims=True) @ self._map)
        vector: Vectors = rows.sum(axis=0)  # of one row, or of none
        return vector


class _OnnxNetwork:
    """The inference session of a model."""

    def __init__(self, model: TextModel) -> None:
        self._pooling = model.pooling
        # An arena would keep what the longest text took.
        self._session = open_session(model.path, keeps_memory=False)
        self._input_names = {tensor.name for tensor in self._session.get_inputs()}

    def embed_tokens(self, ids: Tokens, mask: Tokens) -> Vectors:
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        accepted = {
            name: array for name, array in inputs.items() if name in self._input_names
        }
        output = np.asarray(self._session.run(None, accepted)[0], np.float32)
        return unit_rows(_pool_tokens(output, mask, self._pooling))


def _pool_tokens(
    output: npt.NDArray[np.float32], mask: Tokens, pooling: Pooling
) -> npt.NDArray[np.float32]:
    """Return one vector per text, pooled from its tokens' vectors."""
    if pooling == "none" or output.ndim < _TOKENS:
        return output
    if pooling == "first":
        first: npt.NDArray[np.float32] = output[:, 0]
        return first
    weights = mask[:, :, None].astype(np.float32)
    mean: npt.NDArray[np.float32] = (output * weights).sum(1) / weights.sum(1)
    return mean


def _check_tokenizer_hash(tokenizer: Path, sidecar_fields: Mapping[str, Any]) -> None:
    try:
        digest = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
    except OSError as error:
        message = f"the model's tokenizer cannot be read: {error}"
        raise ModelFileError(message) from error
    if sidecar_fields.get("tokenizer_sha256") != digest:
        message = (
            f"{tokenizer} has the SHA-256 {digest}, which is not the one in the sidecar"
        )
        raise ModelFileError(message)
