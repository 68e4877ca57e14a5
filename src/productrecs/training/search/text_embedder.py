"""Text embedder: a text model, the packaged one or the operator's, run by onnxruntime.

An operator's `model.onnx` needs a `model.json` and a tokenizer file beside it: `{"kind":
"text-embedder", "sha256": "...", "tokenizer": "tokenizer.json", "tokenizer_sha256": "...",
"pooling": "mean"}`. Files with other hashes are refused. Nothing is downloaded.
"""

import hashlib
import importlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from productrecs.core.cache_registry import BoundedCache, Cache
from productrecs.engines.text.semantic_space import Vectors, unit_rows
from productrecs.records.pictures.model_file import ModelFileError, read_sidecar

TEXT_EMBEDDER: Final = "text-embedder"
_LONGEST: Final = 64
"""Maximum tokens of a text: a title, its categories and the start of a description."""

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

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the model at `path`, once its hashes were verified.

        Raises:
            ModelFileError: when they differ, or the runtime is not installed.
        """
        sidecar_fields, digest = read_sidecar(path, TEXT_EMBEDDER)
        tokenizer = path.with_name(str(sidecar_fields.get("tokenizer", "tokenizer.json")))
        _check(tokenizer, sidecar_fields)
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
    def name(self) -> str:
        """The name stored with the model's vectors."""
        return f"onnx-{self.sha256[:16]}"


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

    def knows_word(self, text: str) -> bool:
        """Return whether the threshold may be a little lower for a query."""

    def release(self) -> None:
        """Unload the model until it is needed again."""


class TextEmbedder:
    """A text embedding model, loaded on first use; safe to share between threads."""

    def __init__(self, model: TextModel) -> None:
        """Load nothing yet."""
        self.model = model
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._query_map: Vectors | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, each of length 1.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        try:
            rows = self._load().embed([self.model.prefix + one for one in texts])
        except Exception as error:  # the libraries' errors have no common base class
            message = f"{self.model.path} cannot be executed: {error}"
            raise ModelFileError(message) from error
        if rows.shape[:-1] != (len(texts),):
            message = f"{self.model.path} gives {rows.shape} for {len(texts)} texts"
            raise ModelFileError(message)
        return rows

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per query, each of length 1.

        With a query map, those of several words are composed of their word pieces.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        path = self.model.query_map
        if path is None:
            return self.embed(texts)
        rows = [
            self._composed(text, path) if len(text.split()) > 1 else self.embed([text])[0]
            for text in texts
        ]
        return np.array(rows, np.float32)

    def piece_mean(self, text: str) -> Vectors:
        """Return the mean of the vectors of a text's word pieces, of length 1.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        try:
            return self._load().piece_mean(text)
        except Exception as error:
            message = f"{self.model.path} cannot be executed: {error}"
            raise ModelFileError(message) from error

    def _composed(self, text: str, path: Path) -> Vectors:
        """Return the vector that the query map at `path` makes of a text's word pieces."""
        if self._query_map is None:
            try:
                self._query_map = np.load(path).astype(np.float32)
            except (OSError, ValueError) as error:
                message = f"{path} cannot be read: {error}"
                raise ModelFileError(message) from error
        row: Vectors = unit_rows((self.piece_mean(text) @ self._query_map)[None])[0]
        return row

    def knows_word(self, text: str) -> bool:
        """Return whether every word of a text is a single token; rare words are not.

        Raises:
            ModelFileError: when the model cannot be read.
        """
        try:
            return self._load().knows_word(text)
        except Exception as error:
            message = f"{self.model.tokenizer} cannot be used: {error}"
            raise ModelFileError(message) from error

    def release(self) -> None:
        """Unload the model until it is needed again."""
        with self._loading:
            self._loaded = None

    def _load(self) -> "_Loaded":
        with self._loading:
            self._loaded = self._loaded or _Loaded(self.model)
            return self._loaded


class _Loaded:
    """An inference session and its tokenizer."""

    def __init__(self, model: TextModel) -> None:
        import onnxruntime  # noqa: PLC0415 - optional dependency
        from tokenizers import Tokenizer  # noqa: PLC0415 - optional dependency

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would keep what the longest text took
        self._pooling = model.pooling
        self._session = onnxruntime.InferenceSession(
            str(model.path), options, providers=["CPUExecutionProvider"]
        )
        self._input_names = {one.name for one in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(model.tokenizer))
        self._tokenizer.enable_truncation(_LONGEST)
        self._tokenizer.enable_padding()
        self._pieces: BoundedCache[int, npt.NDArray[np.float16]] = BoundedCache(
            Cache.PIECE_VECTORS
        )

    def knows_word(self, text: str) -> bool:
        tokens = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return len(tokens) == len(text.split()) and _UNKNOWN.isdisjoint(tokens)

    def piece_mean(self, text: str) -> Vectors:
        pieces = self._tokenizer.encode(text, add_special_tokens=False).ids
        known = {piece: self._pieces.get(piece) for piece in pieces}
        new = [piece for piece, vector in known.items() if vector is None]
        if new:
            before, *after = self._tokenizer.encode("").ids
            ids = np.array([[before, piece, *after] for piece in new], np.int64)
            vectors = self._run(ids, np.ones_like(ids)).astype(np.float16)
            for piece, vector in zip(new, vectors, strict=True):
                known[piece] = self._pieces.put(piece, vector)
        rows = np.array([known[piece] for piece in pieces], np.float32)
        mean: Vectors = unit_rows(rows.sum(axis=0, keepdims=True))[0]
        return mean

    def embed(self, texts: Sequence[str]) -> Vectors:
        batch = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in batch], np.int64)
        mask = np.array([one.attention_mask for one in batch], np.int64)
        return self._run(ids, mask)

    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        accepted = {
            name: array for name, array in inputs.items() if name in self._input_names
        }
        output = np.asarray(self._session.run(None, accepted)[0], np.float32)
        return unit_rows(_pooled(output, mask, self._pooling))


def _pooled(
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


def _check(tokenizer: Path, sidecar_fields: Mapping[str, Any]) -> None:
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
