"""Model files: complete or absent, and damaged ones are rejected."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from productrecs.storage.files.model_files import (
    Arrays,
    BrokenModelError,
    large_array_files_by_digest,
    open_arrays,
    publish_arrays,
    remove_other_models,
)

ARRAYS: Arrays = {
    "copurchase.scores": np.arange(100_000, dtype=np.float32),  # a file of its own
    "trending": np.array([3, 1, 2], dtype=np.int32),
    "nothing": np.zeros(0, dtype=np.int64),
    "names": np.array([["tent", "stove"]]),
    "by column": np.asfortranarray(np.arange(6, dtype=np.uint16).reshape(2, 3)),
    "none at the end": np.zeros((0, 3), dtype=np.float64),
}


def test_a_published_model_reads_back_as_it_was(tmp_path: Path) -> None:
    model_id = publish_arrays(tmp_path, ARRAYS, {"applied_seq": 7})

    arrays, facts = open_arrays(tmp_path / model_id)

    assert facts == {"applied_seq": 7}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert arrays[name].ctypes.data % 64 == 0
        assert not arrays[name].flags.writeable
    [(digest, file)] = large_array_files_by_digest(tmp_path / model_id).items()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest


def test_opening_a_model_leaves_large_arrays_on_the_disk(tmp_path: Path) -> None:
    model_id = publish_arrays(tmp_path, ARRAYS, {})

    arrays, _ = open_arrays(tmp_path / model_id)

    def resident() -> str:
        mapping = Path("/proc/self/smaps").read_text().partition("scores.bin\n")[2]
        return mapping.partition("Rss:")[2].split()[0]

    assert resident() == "0"
    assert arrays["copurchase.scores"].sum() > 0
    assert resident() != "0"


def test_everything_is_synced_before_a_model_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(descriptor: int, sync: Callable[[int], None] = os.fsync) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        has_appeared = any(one.name[0] != "." for one in tmp_path.iterdir())
        synced.append(f"{has_appeared} {path.name.partition('-')[0]}")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    publish_arrays(tmp_path, ARRAYS, {})

    files = ["False copurchase.scores.bin", "False model.bin", "False .draft"]
    assert synced == [*files, f"True {tmp_path.name.partition('-')[0]}"]


@pytest.mark.parametrize("name", ["copurchase.scores.bin", "model.bin"])
def test_every_single_damaged_byte_is_found(tmp_path: Path, name: str) -> None:
    model_id = publish_arrays(tmp_path, ARRAYS, {})
    file = tmp_path / model_id / name
    whole = file.read_bytes()
    rng = np.random.default_rng(7)

    for place in rng.integers(0, len(whole), 50).tolist():
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BrokenModelError):
            open_arrays(tmp_path / model_id)

    file.write_bytes(whole)
    open_arrays(tmp_path / model_id)  # the control: undamaged, it opens


@pytest.mark.parametrize("name", ["copurchase.scores.bin", "model.bin"])
@pytest.mark.parametrize("damage", ["missing", "cut off", "empty", "longer"])
def test_what_is_not_whole_is_refused(tmp_path: Path, name: str, damage: str) -> None:
    folder = tmp_path / publish_arrays(tmp_path, ARRAYS, {})
    whole = (folder / name).read_bytes()
    if damage == "missing":
        (folder / name).unlink()
    else:
        damaged = {"cut off": whole[:-1], "empty": b"", "longer": whole + b"!"}[damage]
        (folder / name).write_bytes(damaged)

    with pytest.raises(BrokenModelError):
        open_arrays(folder)


def test_another_format_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / publish_arrays(tmp_path, ARRAYS, {})
    _, _, body = (folder / "model.bin").read_bytes().partition(b"\n")
    body = body.replace(b'"format": 2', b'"format": 9')
    checksum = hashlib.sha256(body).hexdigest().encode()
    (folder / "model.bin").write_bytes(checksum + b"\n" + body)

    with pytest.raises(BrokenModelError, match="has format 9, not 2"):
        open_arrays(folder)


def test_a_failed_publication_leaves_nothing_behind(tmp_path: Path) -> None:
    unwritable: Arrays = {"fine": np.zeros(3), "not plain": np.array([object()])}

    with pytest.raises(TypeError, match="array of references"):
        publish_arrays(tmp_path, unwritable, {})

    assert list(tmp_path.iterdir()) == []


def test_later_models_have_later_ids_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    first, second, third = (publish_arrays(tmp_path, ARRAYS, {}) for _ in range(3))

    young = remove_other_models(tmp_path, {second, third})
    gone = remove_other_models(tmp_path, {second, third}, min_age_seconds=0)

    assert first < second < third
    assert (young, gone) == ([], [first])
    assert sorted(path.name for path in tmp_path.iterdir()) == [second, third]
