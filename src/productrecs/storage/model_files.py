"""Model files: a trained model as an immutable folder of arrays, replaced as a whole.

A folder is written under a temporary name, each file and the folder itself are made
durable, then it is renamed: publishing is atomic. Its manifest names a format version and
the SHA-256 of every file; a folder that does not match is rejected. No pickle is used.
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
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from productrecs.core.errors import ProductRecsError

FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


class BrokenModelError(ProductRecsError):
    """A model's files are missing, damaged or of another format; do not serve it."""


def publish_arrays(
    folder: Path, arrays: Arrays, facts: Mapping[str, object], after: str | None = None
) -> str:
    """Write `arrays` and `facts` as a new model below `folder`; return its id.

    Ids begin with a counter, so that they sort by age. `after` is the id of the serving
    model, which another machine may have written.

    Raises:
        OSError: when the disk is full or fails; no files remain.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model_id = f"{_next_number(folder, after):08d}-{secrets.token_hex(4)}"
    draft = folder / f".draft-{model_id}"
    draft.mkdir()
    try:
        digests = {
            name: _write(draft / f"{name}.npy", array) for name, array in arrays.items()
        }
        manifest = {"format": FORMAT, "facts": dict(facts), "sha256": digests}
        _write_durably(draft / _MANIFEST, json.dumps(manifest).encode())
        _sync_folder(draft)
        draft.rename(folder / model_id)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _sync_folder(folder)
    return model_id


def open_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return a model's arrays, mapped into memory and read-only, and its facts.

    Raises:
        BrokenModelError: when any file is missing, damaged or of another format.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        if manifest["format"] != FORMAT:
            message = f"model {folder.name} has format {manifest['format']}, not {FORMAT}"
            raise BrokenModelError(message)
        for name, digest in manifest["sha256"].items():
            _check(folder / f"{name}.npy", digest)
        arrays = {name: _mapped(folder / f"{name}.npy") for name in manifest["sha256"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"model {folder.name} cannot be read: {error}"
        raise BrokenModelError(message) from error
    return arrays, manifest["facts"]


def model_metadata(folder: Path) -> dict[str, Any]:
    """Return a model's metadata without opening its arrays; empty if there is no model."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    facts: dict[str, Any] = manifest.get("facts", {})
    return facts


def model_digests(folder: Path) -> dict[str, Path]:
    """Return the files of a model by their SHA-256; empty if there is no model."""
    try:
        digests = json.loads((folder / _MANIFEST).read_bytes())["sha256"]
        return {digest: folder / f"{name}.npy" for name, digest in digests.items()}
    except (OSError, ValueError, KeyError, AttributeError):
        return {}


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


def _next_number(folder: Path, after: str | None) -> int:
    names = [path.name for path in folder.iterdir()]
    numbers = [int(one[:8]) for one in (*names, after or "") if one[:8].isdecimal()]
    return max(numbers, default=0) + 1


def _write(path: Path, array: npt.NDArray[Any]) -> str:
    with path.open("xb") as file:
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return _digest(path)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(path: Path) -> str:
    """Return a file's SHA-256, read in one piece.

    A thread that reads block by block reacquires the GIL after each block, and delays the
    requests in other threads each time.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped
            return hashlib.sha256().hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return hashlib.sha256(content).hexdigest()


def _check(path: Path, digest: str) -> None:
    if _digest(path) != digest:
        message = f"{path.name} does not match its checksum"
        raise BrokenModelError(message)


def _mapped(path: Path) -> npt.NDArray[Any]:
    if path.stat().st_size > 4096:  # noqa: PLR2004 - below a page, mapping costs more
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)  # type: ignore[no-any-return]  # numpy types np.load as Any
        except ValueError:  # an empty array cannot be mapped
            pass
    return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]  # numpy types np.load as Any
