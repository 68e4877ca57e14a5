"""Upload folder: files are stored whole or not at all, within the disk's space."""

import os
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from productrecs.core.csv_reader import MissingColumnsError
from productrecs.core.errors import StorageBrokenError, StorageFullError
from productrecs.core.ids import StoreId
from productrecs.records.uploads import upload_folder
from productrecs.records.uploads.upload_folder import (
    FileTooLargeError,
    TooManyUploadsError,
    UploadFolder,
    is_upload_id,
    new_upload_id,
)

HEADER: Final = b"order_id,item_id\n"
STORE, OTHER = StoreId("st_a"), StoreId("st_b")


@pytest.fixture
def folder(tmp_path: Path) -> UploadFolder:
    path = tmp_path / "uploads"
    path.mkdir()
    return UploadFolder(path)


def stored(folder: UploadFolder) -> list[str]:
    return sorted(one.name for one in folder.path.iterdir() if is_upload_id(one.name))


def test_a_sealed_file_is_as_it_came_and_known(folder: UploadFolder) -> None:
    upload_id = new_upload_id()
    file = folder.receive(upload_id)
    file.write(HEADER + b"A,a\n")
    file.write(b"B;\xe9\n")

    written = file.finish()

    with folder.open(upload_id) as found:
        assert found.read() == HEADER + b"A,a\nB;\xe9\n"
    assert (written.size, written.encoding, written.separator) == (25, "cp1252", ",")
    folder.remove(upload_id)
    folder.remove(upload_id)
    assert stored(folder) == []


def test_a_discarded_file_is_gone(folder: UploadFolder) -> None:
    file = folder.receive(new_upload_id())
    file.write(HEADER)

    file.discard()

    assert stored(folder) == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"order_id,sku\nA,a\n", b"PK\x03\x04"])
def test_a_header_is_refused_with_the_first_bytes(
    folder: UploadFolder, content: bytes
) -> None:
    with (
        closing(folder.receive(new_upload_id())) as file,
        pytest.raises(MissingColumnsError),
    ):
        file.write(content)


def test_a_file_may_have_two_gigabytes_and_no_more(
    folder: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_folder, "MAX_UPLOAD_BYTES", 100)
    file = folder.receive(new_upload_id())
    file.write(HEADER.ljust(100))

    with closing(file), pytest.raises(FileTooLargeError):
        file.write(b"x")
    with pytest.raises(FileTooLargeError), folder.reserve_slot(STORE, 200 << 20):
        pass


def test_a_part_of_the_disk_stays_free(
    folder: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(folder.path).free
    monkeypatch.setattr(upload_folder, "FREE_SPACE_RESERVE", free - (64 << 20))

    with folder.reserve_slot(STORE, 1 << 20):
        pass
    with pytest.raises(StorageFullError), folder.reserve_slot(STORE, 1 << 30):
        pass


def test_a_disk_that_fills_meanwhile_refuses_the_rest(
    folder: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder.receive(new_upload_id())
    file.write(HEADER)
    monkeypatch.setattr(upload_folder, "FREE_SPACE_RESERVE", 1 << 60)

    with closing(file), pytest.raises(StorageFullError):
        file.write(b"x" * (9 << 20))


def test_a_disk_that_fails_is_not_taken_for_a_full_one(folder: UploadFolder) -> None:
    upload_id = new_upload_id()
    folder.receive(upload_id).close()

    with pytest.raises(StorageBrokenError):
        folder.receive(upload_id)


def test_two_files_of_a_store_may_come_at_a_time(folder: UploadFolder) -> None:
    with (
        folder.reserve_slot(STORE, 0),
        folder.reserve_slot(STORE, 0),
        folder.reserve_slot(OTHER, 0),
    ):
        with pytest.raises(TooManyUploadsError), folder.reserve_slot(STORE, 0):
            pass
        with folder.reserve_slot(OTHER, 0):
            pass
    with folder.reserve_slot(STORE, 0), folder.reserve_slot(STORE, 0):
        pass


def test_the_sweep_removes_only_abandoned_files(folder: UploadFolder) -> None:
    needed, fresh, abandoned = (new_upload_id() for _ in range(3))
    for upload_id in (needed, fresh, abandoned):
        folder.receive(upload_id).close()
    foreign = folder.path / "notes.txt"
    foreign.touch()
    long_ago = time.time() - 2 * 3600
    for path in (*folder.path.glob("up_*"), foreign):
        if path.name != fresh:
            os.utime(path, (long_ago, long_ago))

    assert folder.delete_unneeded_files({needed}) == 1

    assert stored(folder) == sorted((needed, fresh))
    assert foreign.exists()
    assert UploadFolder(folder.path / "nowhere").delete_unneeded_files(set()) == 0


@pytest.mark.parametrize("text", ["", "up_", "up_" + "a" * 23, "up_" + "a" * 25])
def test_what_is_no_upload_id_is_known_by_its_form(text: str) -> None:
    assert not is_upload_id(text)
    assert not is_upload_id("up_" + "/" * 24)
    assert not is_upload_id("xx_" + "a" * 24)
    assert not is_upload_id("up_" + "é" * 24)
    assert is_upload_id(new_upload_id())
