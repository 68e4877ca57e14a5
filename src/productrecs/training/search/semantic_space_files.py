"""Semantic space files: one store's product embeddings on disk, and the serving space.

Both files are beside the search index, are replaced atomically, and can be recomputed. The
indexing process writes them; the API processes read the second.
"""

import hashlib
import logging
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.semantic_space import (
    MAX_PSEUDO_WORD_SHARE,
    Codes,
    SemanticSpace,
    Vectors,
    quantize,
)
from productrecs.storage.files.search_index_files import INDEXER_VECTORS

_log = logging.getLogger(__name__)


class SemanticSpaceKind(NamedTuple):
    """A kind of semantic space: the name of its files, and what of a text is embedded."""

    name: str
    description: int  # characters of a description; more would dilute the vector
    max_pseudo_word_share: float  # maximum share of pseudo-words with similar products
    max_threshold: float
    """Maximum similarity threshold: pseudo-words of German titles are often words."""

    @property
    def vectors_file(self) -> str:
        """The name of the file of vectors."""
        return self.name + INDEXER_VECTORS

    @property
    def previous_vectors_file(self) -> str:
        """The name of the file of the previous model's vectors, to switch back to it."""
        return f"{self.name}-previous{INDEXER_VECTORS}"

    @property
    def space_file(self) -> str:
        """The name of the file of the serving space."""
        return f"{self.name}.npz"


MEANING: Final = SemanticSpaceKind("meaning", 300, MAX_PSEUDO_WORD_SHARE, 1.0)
LANGUAGES: Final = SemanticSpaceKind("languages", 0, 0.01, 0.6)

_CODES: Final = "codes"
_MAPPED_FROM: Final = 1 << 20
"""Bytes of a file from which vectors are mapped; a mapping keeps its file open."""

_CHUNK: Final = 1 << 16
_LENGTHS_AT, _LOCAL_HEADER = 26, 30  # of the name and of what follows, in a ZIP file
_UNREADABLE: Final = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)

Hashes = npt.NDArray[np.uint64]


def embedded_text(product: ProductText, kind: SemanticSpaceKind = MEANING) -> str:
    """Return the text of a product that is embedded."""
    categories = ", ".join(product.categories)
    parts = (product.title, categories, product.description[: kind.description])
    return ". ".join(part for part in parts if part)


def text_hash(text: str) -> int:
    """Return the hash that identifies a text, never 0."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest) or 1


class ProductVectors:
    """Embeddings of a store's products by item number, cached by the hash of their text.

    Those of a large catalog are mapped: only what changes takes memory of its own.
    """

    def __init__(self, folder: Path, model: str, kind: SemanticSpaceKind = MEANING) -> None:
        """Read the stored vectors of `model`; start empty without any."""
        self._folder = folder
        self.kind = kind
        self.model = model
        self._hashes: Hashes = np.zeros(0, np.uint64)
        self._codes: Codes = np.zeros((0, 0), np.int8)
        for name in (kind.vectors_file, kind.previous_vectors_file):
            if stored_model_name(folder / name) == model:
                stored = _read_arrays(folder / name, "c")
                if stored is not None:
                    self._hashes, self._codes = stored["hashes"], stored["codes"]
                    break

    def __len__(self) -> int:
        """Return how many products have a vector."""
        return int(np.count_nonzero(self._hashes))

    @property
    def codes(self) -> Codes:
        """The vectors by item number; a row of zeros for items without one."""
        return self._codes

    def has(self, item_number: int, digest: int) -> bool:
        """Return whether a product has the vector of this text."""
        return item_number < len(self._hashes) and int(self._hashes[item_number]) == digest

    def put(self, item_numbers: list[int], digests: list[int], vectors: Vectors) -> None:
        """Set the vectors of products."""
        self._reserve_or_reset(max(item_numbers) + 1, vectors.shape[1])
        self._codes[item_numbers] = quantize(vectors)
        self._hashes[item_numbers] = np.array(digests, np.uint64)

    def remove(self, item_number: int) -> bool:
        """Remove the vector of a product; return whether there was one."""
        if item_number >= len(self._hashes) or not self._hashes[item_number]:
            return False
        self._hashes[item_number] = 0
        self._codes[item_number] = 0
        return True

    def write_and_keep_previous_model(self) -> None:
        """Write all vectors; those of another model that serves become the previous.

        Raises:
            OSError: when they cannot be written.
        """
        path = self._folder / self.kind.vectors_file
        model = stored_model_name(path)
        serving = stored_model_name(self._folder / self.kind.space_file)
        if model not in {None, self.model} and model == serving:
            path.replace(self._folder / self.kind.previous_vectors_file)
        name = np.array(self.model)
        _write_arrays(path, {"hashes": self._hashes, "codes": self._codes, "model": name})

    def _reserve_or_reset(self, count: int, size: int) -> None:
        missing = count - len(self._hashes)
        if self._codes.shape[1] != size:
            self._codes = np.zeros((len(self._hashes), size), np.int8)
            self._hashes[:] = 0
        if missing > 0:
            count += max(missing, len(self._hashes) // 2) - missing
            self._hashes = _grow_with_zeros(self._hashes, (count,))
            self._codes = _grow_with_zeros(self._codes, (count, size))


def _grow_with_zeros(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a longer array; its new rows take no memory before they are written."""
    longer = np.zeros(shape, array.dtype)
    longer[: len(array)] = array
    return longer


class StoredSemanticSpace(NamedTuple):
    """A serving space, and the model and sample it was fitted on."""

    space: SemanticSpace
    model: str
    fitted_on: int  # products


def space_stamp(folder: Path, kind: SemanticSpaceKind = MEANING) -> tuple[int, int] | None:
    """Return a stamp that changes with each written space; None without one."""
    try:
        stat = (folder / kind.space_file).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino


def stored_model_name(path: Path) -> str | None:
    """Return the model of a file of vectors or of a space; None without an intact one."""
    try:
        with path.open("rb") as file:
            return str(np.load(file, allow_pickle=False)["model"])
    except _UNREADABLE:
        return None


def count_served_stores(root: Path, model: str) -> tuple[int, int]:
    """Return how many stores a text model serves, and how many any model does."""
    models = [stored_model_name(path) for path in root.glob(f"*/{MEANING.space_file}")]
    return models.count(model), len(models)


def delete_previous_vectors(root: Path, model: str) -> None:
    """Delete the vectors of a text model that serves no store."""
    for path in root.glob(f"*/{MEANING.previous_vectors_file}"):
        if stored_model_name(path) == model:
            path.unlink(missing_ok=True)


def write_space(
    folder: Path, stored: StoredSemanticSpace, kind: SemanticSpaceKind = MEANING
) -> None:
    """Write the space that serves from now on.

    Raises:
        OSError: when it cannot be written.
    """
    arrays = {"model": np.array(stored.model), "fitted_on": np.array(stored.fitted_on)}
    _write_arrays(folder / kind.space_file, stored.space.to_arrays() | arrays)


def read_space(
    folder: Path, kind: SemanticSpaceKind = MEANING
) -> StoredSemanticSpace | None:
    """Return the space that serves; None when it is missing or damaged.

    The vectors of a large catalog are mapped, so that processes share their memory.
    """
    arrays = _read_arrays(folder / kind.space_file)
    if arrays is None:
        return None
    try:
        space = SemanticSpace.from_arrays(arrays)
        return StoredSemanticSpace(space, str(arrays["model"]), int(arrays["fitted_on"]))
    except _UNREADABLE:
        _log.exception("semantic space rejected", extra={"folder": folder.name})
        return None


def _write_arrays(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    draft = path.with_name(f".{path.name}")
    with draft.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy types it as a flag
    draft.replace(path)


def _read_arrays(
    path: Path, mode: Literal["r", "c"] = "r"
) -> dict[str, npt.NDArray[Any]] | None:
    """Return the arrays of a file; None when it is missing or its checksums differ.

    The codes are mapped if the file is large; changes with the mode "c" stay in memory.
    """
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            is_large = _CODES in stored.files and path.stat().st_size >= _MAPPED_FROM
            names = [name for name in stored.files if not (is_large and name == _CODES)]
            arrays = {name: stored[name] for name in names}
            if is_large:
                arrays[_CODES] = _map_array_in_archive(file, _CODES, mode)
            return arrays
    except _UNREADABLE as error:
        if not isinstance(error, FileNotFoundError):
            _log.warning(
                "semantic space rejected",
                extra={"file": str(path), "error": repr(error)},
            )
        return None


def _map_array_in_archive(
    file: BinaryIO, name: str, mode: Literal["r", "c"]
) -> npt.NDArray[Any]:
    """Return an array of an uncompressed archive, mapped from its file.

    Raises:
        BadZipFile: when its checksum differs.
    """
    with zipfile.ZipFile(file) as archive, archive.open(f"{name}.npy") as member:
        start = archive.getinfo(member.name).header_offset
        np.lib.format.read_magic(member)
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        header = member.tell()
        while member.read(_CHUNK):
            pass  # the checksum is compared at the end
    file.seek(start + _LENGTHS_AT)
    start += _LOCAL_HEADER + sum(struct.unpack("<HH", file.read(4))) + header
    return np.memmap(file, dtype, mode, start, shape).view(np.ndarray)
