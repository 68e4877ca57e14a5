"""Model files: complete or absent, and damaged ones are rejected."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.storage.model_files import (
    Arrays,
    BrokenModelError,
    open_arrays,
    publish_arrays,
    remove_other_models,
)

ARRAYS: Arrays = {
    "copurchase.scores": np.arange(5_000, dtype=np.float32),
    "trending": np.array([3, 1, 2], dtype=np.int32),
    "nothing": np.zeros(0, dtype=np.int64),
}


def test_a_published_model_reads_back_as_it_was(tmp_path: Path) -> None:
    model_id = publish_arrays(tmp_path, ARRAYS, {"applied_seq": 7})

    arrays, facts = open_arrays(tmp_path / model_id)

    assert facts == {"applied_seq": 7}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


def test_every_single_damaged_byte_is_found(tmp_path: Path) -> None:
    model_id = publish_arrays(tmp_path, ARRAYS, {})
    file = tmp_path / model_id / "copurchase.scores.npy"
    whole = file.read_bytes()
    rng = np.random.default_rng(7)

    for place in rng.integers(0, len(whole), 50).tolist():
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BrokenModelError):
            open_arrays(tmp_path / model_id)

    file.write_bytes(whole)
    open_arrays(tmp_path / model_id)  # the control: undamaged, it opens


@pytest.mark.parametrize(
    "damage", ["missing file", "cut off", "no manifest", "other format"]
)
def test_what_is_not_whole_is_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / publish_arrays(tmp_path, ARRAYS, {})
    manifest = folder / "manifest.json"
    if damage == "missing file":
        (folder / "trending.npy").unlink()
    elif damage == "cut off":
        (folder / "trending.npy").write_bytes((folder / "trending.npy").read_bytes()[:-1])
    elif damage == "no manifest":
        manifest.unlink()
    else:
        manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 99'))

    with pytest.raises(BrokenModelError):
        open_arrays(folder)


def test_a_failed_publication_leaves_nothing_behind(tmp_path: Path) -> None:
    unwritable: Arrays = {"fine": np.zeros(3), "not plain": np.array([object()])}

    with pytest.raises(ValueError, match="allow_pickle"):
        publish_arrays(tmp_path, unwritable, {})

    assert list(tmp_path.iterdir()) == []


def test_later_models_have_later_ids_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    first, second, third = (publish_arrays(tmp_path, ARRAYS, {}) for _ in range(3))

    young = remove_other_models(tmp_path, {second, third})
    gone = remove_other_models(tmp_path, {second, third}, min_age_seconds=0)

    assert first < second < third
    assert (young, gone) == ([], [first])
    assert sorted(path.name for path in tmp_path.iterdir()) == [second, third]
