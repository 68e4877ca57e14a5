"""Index seal: describes the committed files, and nothing else."""

import json
from pathlib import Path

import pytest

from productrecs.storage.files.search_index_files import (
    DamagedIndexError,
    IndexFolder,
    IndexManifest,
)

COMMITTED = "3119a37b-3a93-4d8b-9da9-73ba5f492e6b"
MERGING = "55c5b9622cf540cf9e78faa1156e3e00"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Return a library's folder with one committed segment and one that is being merged."""
    folder = IndexFolder(tmp_path)
    words = folder.path(folder.create_generation_folder()) / "words"
    words.mkdir()
    (words / "meta.json").write_text(json.dumps({"segments": [{"segment_id": COMMITTED}]}))
    (words / f"{COMMITTED.replace('-', '')}.idx").write_bytes(b"whole")
    (words / f"{MERGING}.idx").write_bytes(b"half of")
    return words


def sealed(words: Path) -> tuple[IndexFolder, IndexManifest]:
    folder = IndexFolder(words.parent.parent)
    return folder, folder.publish_with_checksums(
        IndexManifest(words.parent.name, "1", "en", "en", 1, 1, 1)
    )


def test_a_merge_that_was_being_written_is_no_damage_afterwards(words: Path) -> None:
    folder, seal = sealed(words)
    (words / f"{MERGING}.idx").write_bytes(b"half of it, and the rest")

    folder.verify_checksums(seal)

    assert list(seal.files or {}) == [f"words/{COMMITTED.replace('-', '')}.idx"]


def test_control_a_committed_file_that_changed_is_damage(words: Path) -> None:
    folder, seal = sealed(words)
    (words / f"{COMMITTED.replace('-', '')}.idx").write_bytes(b"other")

    with pytest.raises(DamagedIndexError):
        folder.verify_checksums(seal)
