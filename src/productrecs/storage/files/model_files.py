"""Model files: a trained model as an immutable folder, replaced as a whole.

`model.bin` has a checksum, a manifest and all small arrays. Each large array is a file of
its own, whose SHA-256 is in the manifest. The folder is written under a temporary name,
its files and the folder itself are made durable, then it is renamed: publishing is atomic.
What does not match its checksum is rejected. No pickle is used.
"""

import hashlib
import json
import mmap
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.errors import ProductRecsError
from productrecs.core.private_folders import sync_folder

FORMAT: Final = 2
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

_MODEL: Final = "model.bin"
_BODY: Final = 65  # its first line is the SHA-256 of the rest, its second the manifest
_LARGE: Final = 256 << 10  # bytes from which an array is a file; each file is one sync
_ALIGNMENT: Final = 64


class BrokenModelError(ProductRecsError):
    """A model's files are missing, damaged or of another format; do not serve it."""


class _ArrayLocation(NamedTuple):
    """The type of an array, and where it is: an offset, or a file with that SHA-256."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    sha256: str


def publish_arrays(
    folder: Path, arrays: Arrays, facts: Mapping[str, object], serving_id: str | None = None
) -> str:
    """Write `arrays` and `facts` as a new model below `folder`; return its id.

    Ids begin with a counter, so that they sort by age. `serving_id` is the
    id of the serving model, which another machine may have written.

    Raises:
        OSError: when the disk is full or fails; no files remain.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model_id = f"{_next_model_number(folder, serving_id):08d}-{secrets.token_hex(4)}"
    draft = folder / f".draft-{model_id}"
    draft.mkdir()
    try:
        _write_model_files(draft, arrays, facts)
        sync_folder(draft)
        draft.rename(folder / model_id)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(folder)
    return model_id


def open_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return a model's arrays, mapped into memory and read-only, and its facts.

    Raises:
        BrokenModelError: when any file is missing, damaged or of another format.
    """
    try:
        content = (folder / _MODEL).read_bytes()
        _verify_checksum(
            folder / _MODEL, memoryview(content)[_BODY:], content[: _BODY - 1].decode()
        )
        start = content.find(b"\n", _BODY) + 1
        manifest = json.loads(content[_BODY:start])
        if manifest["format"] != FORMAT:
            message = f"model {folder.name} has format {manifest['format']}, not {FORMAT}"
            raise BrokenModelError(message)
        # What is checked and what is used are two mappings: pages that the check has read
        # do not count as this process's memory.
        small = _map_file(folder / _MODEL)
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, location in _array_locations(manifest).items():
            source, offset = small, start + location.offset
            if location.sha256:
                path = _array_path(folder, name)
                _verify_checksum(path, _map_file(path), location.sha256)
                source, offset = _map_file(path), 0
            arrays[name] = np.ndarray(location.shape, location.dtype, source, offset)
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"model {folder.name} cannot be read: {error}"
        raise BrokenModelError(message) from error
    return arrays, manifest["facts"]


def read_facts(folder: Path) -> dict[str, Any]:
    """Return a model's facts without a look at its arrays; empty if there is no model."""
    try:
        facts: dict[str, Any] = _read_manifest(folder)["facts"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return facts


def large_array_files_by_digest(folder: Path) -> dict[str, Path]:
    """Return the files of large arrays by their SHA-256; empty if there is no model."""
    try:
        locations = _array_locations(_read_manifest(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {
        location.sha256: _array_path(folder, name)
        for name, location in locations.items()
        if location.sha256
    }


def remove_other_models(
    folder: Path, kept_ids: set[str], *, min_age_seconds: float = 30.0
) -> list[str]:
    """Delete all models and drafts below `folder` except `kept_ids`; return their names.

    Files younger than `min_age_seconds` remain: another process may be writing or about
    to load them. A process that has mapped a model can still read it.
    """
    if not folder.is_dir():
        return []
    before = time.time() - min_age_seconds
    removable = [
        path
        for path in folder.iterdir()
        if path.name not in kept_ids and path.stat().st_mtime <= before
    ]
    for path in removable:
        shutil.rmtree(path, ignore_errors=True)
    return sorted(path.name for path in removable)


def remove_older_models(folder: Path, model_id: str) -> None:
    """Delete the models below `folder` that are older than `model_id`, at once.

    Used after an erasure. A process that was about to load one finds the newer one.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.name[:1].isdecimal() and path.name[:8] < model_id[:8]:
            shutil.rmtree(path, ignore_errors=True)


def _next_model_number(folder: Path, serving_id: str | None) -> int:
    names = [path.name for path in folder.iterdir()]
    numbers = [
        int(model_id[:8])
        for model_id in (*names, serving_id or "")
        if model_id[:8].isdecimal()
    ]
    return max(numbers, default=0) + 1


def _write_model_files(folder: Path, arrays: Arrays, facts: Mapping[str, object]) -> None:
    locations: dict[str, _ArrayLocation] = {}
    small = bytearray()
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        location = _ArrayLocation(array.dtype.str, array.shape, 0, "")
        if content.nbytes >= _LARGE:
            _create_and_sync_file(_array_path(folder, name), content)
            locations[name] = location._replace(sha256=hashlib.sha256(content).hexdigest())
        else:
            small += bytes(-len(small) % _ALIGNMENT)
            locations[name] = location._replace(offset=len(small))
            small += content.tobytes()
    manifest = json.dumps({"format": FORMAT, "facts": dict(facts), "arrays": locations})
    size = _BODY + len(manifest) + 1
    body = f"{manifest}{' ' * (-size % _ALIGNMENT)}\n".encode() + small
    checksum = hashlib.sha256(body).hexdigest()
    _create_and_sync_file(folder / _MODEL, f"{checksum}\n".encode() + body)


def _array_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.bin"


def _read_manifest(folder: Path) -> dict[str, Any]:
    with (folder / _MODEL).open("rb") as file:
        file.readline()
        manifest: dict[str, Any] = json.loads(file.readline())
        return manifest


def _array_locations(manifest: Mapping[str, Any]) -> dict[str, _ArrayLocation]:
    return {name: _ArrayLocation(*fields) for name, fields in manifest["arrays"].items()}


def _create_and_sync_file(path: Path, content: bytes | memoryview) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _verify_checksum(path: Path, content: memoryview | mmap.mmap, digest: str) -> None:
    """Raise unless the content has that SHA-256; it is read in one piece.

    A thread that reads block by block reacquires the GIL after each block, and delays the
    requests in other threads each time.

    Raises:
        BrokenModelError: when it has not.
    """
    if hashlib.sha256(content).hexdigest() != digest:
        message = f"{path.name} does not match its checksum"
        raise BrokenModelError(message)


def _map_file(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
