"""Usage journal: outlives its process, and reaches the database once."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from productrecs.core.ids import StoreId
from productrecs.tenancy.billing.usage_journal import (
    CLOSED_ROUND,
    PeerUsageFiles,
    UsageCounter,
    UsageFile,
)

if TYPE_CHECKING:
    from pathlib import Path

STORE, OTHER = StoreId("st_one"), StoreId("st_" + "x" * 29)  # the longest there is
MARCH = (STORE, "2026-03")


def counted(sheet: UsageFile, calls: int, key: tuple[StoreId, str] = MARCH) -> UsageCounter:
    """Count some calls more."""
    line = sheet.line(key)
    line.counted += calls
    return line


def left_behind(folder: Path) -> list[UsageFile]:
    """Return the sheets that a process finds when it starts."""
    neighbours = PeerUsageFiles(folder, "")
    neighbours.look()
    return list(neighbours.abandoned())


def test_others_see_what_is_counted_while_it_is_counted(data_folder: Path) -> None:
    mine, theirs = UsageFile.begin(data_folder), UsageFile.begin(data_folder)
    neighbours = PeerUsageFiles(data_folder, mine.name)
    neighbours.look()
    assert neighbours.lines(MARCH) == ()

    counted(theirs, 3)
    counted(theirs, 5, (OTHER, "2026-04"))
    neighbours.look()
    counted(theirs, 4)

    assert [line.counted for line in neighbours.lines(MARCH)] == [7]
    assert [line.counted for line in neighbours.lines((OTHER, "2026-04"))] == [5]
    assert not list(neighbours.abandoned())
    theirs.remove()
    neighbours.look()
    assert neighbours.lines(MARCH) == ()


@pytest.mark.parametrize(
    ("kept_before", "stored", "rest"),
    [
        (0, 0, 10),  # killed before anything was stored
        (6, 1, 4),  # killed after a round was known to be stored
    ],
)
def test_what_a_killed_process_counted_is_found(
    data_folder: Path, kept_before: int, stored: int, rest: int
) -> None:
    sheet = UsageFile.begin(data_folder)
    line = counted(sheet, 10)
    if kept_before:
        line.prepare(1, kept_before)
        line.confirm()
    sheet.close()

    (found,) = left_behind(data_folder)

    assert found.prepare_rest(stored) == {MARCH: rest}


@pytest.mark.parametrize(("stored", "rest"), [(1, 8), (2, 3)])
def test_a_kill_in_the_middle_of_a_round_counts_nothing_twice(
    data_folder: Path, stored: int, rest: int
) -> None:
    sheet = UsageFile.begin(data_folder)
    line = counted(sheet, 10)
    line.prepare(1, 2)
    line.confirm()
    line.prepare(2, 5)  # and whether it is stored, only the database knows
    sheet.close()

    (found,) = left_behind(data_folder)

    assert found.prepare_rest(stored) == {MARCH: rest}


def test_a_kill_while_a_sheet_is_taken_over_counts_nothing_twice(
    data_folder: Path,
) -> None:
    sheet = UsageFile.begin(data_folder)
    line = counted(sheet, 10)
    line.prepare(1, 4)  # stored, but it was killed before it knew
    sheet.close()
    (first,) = left_behind(data_folder)
    assert first.prepare_rest(1) == {MARCH: 6}
    first.close()  # killed

    (second,) = left_behind(data_folder)
    assert second.prepare_rest(1) == {MARCH: 6}  # it was not stored
    second.close()  # killed again, once it was

    (third,) = left_behind(data_folder)
    assert third.prepare_rest(CLOSED_ROUND) == {}


def test_a_sheet_that_was_taken_over_closes_no_file_that_came_after_it(
    data_folder: Path,
) -> None:
    left = UsageFile.begin(data_folder)
    counted(left, 10)
    left.close()
    neighbours = PeerUsageFiles(data_folder, "")
    neighbours.look()
    for sheet in neighbours.abandoned():
        sheet.remove()

    with contextlib.ExitStack() as later:  # one of them gets its number, as a database did
        opened = [later.enter_context((data_folder / name).open("w")) for name in "abcd"]
        neighbours.look()

        for file in opened:
            file.write("whole")
            file.flush()


def test_a_sheet_that_is_older_than_the_database_adds_nothing(data_folder: Path) -> None:
    sheet = UsageFile.begin(data_folder)
    counted(sheet, 10).prepare(3, 10)
    sheet.close()  # by a loss of power: what was written since is gone

    (found,) = left_behind(data_folder)

    assert found.prepare_rest(7) == {}


def test_a_sheet_that_is_begun_again_goes_on_with_its_line(data_folder: Path) -> None:
    sheet = UsageFile.begin(data_folder)
    counted(sheet, 10)

    assert sheet.line(MARCH).counted == 10


def test_a_file_that_is_no_sheet_is_let_be_and_half_a_one_is_removed(
    data_folder: Path,
) -> None:
    other, half = data_folder / "other.txt", data_folder / "half.calls"
    other.write_text("mine")
    half.write_bytes(b"calls")

    assert left_behind(data_folder) == []
    assert (other.exists(), half.exists()) == (True, False)


def test_without_room_on_the_disk_calls_are_counted_in_memory(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = UsageFile.begin(data_folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)

    assert counted(sheet, 3).counted == 3
    assert list(sheet.lines()) == [(MARCH, sheet.line(MARCH))]
    with pytest.raises(OSError, match="No space"):
        UsageFile.begin(data_folder)
    assert len(list(data_folder.iterdir())) == 1


def test_only_its_owner_reads_a_sheet(data_folder: Path) -> None:
    assert UsageFile.begin(data_folder).path.stat().st_mode & 0o777 == 0o600
