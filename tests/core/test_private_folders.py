"""Temporary folders and files: deleted with their process, or by its successor."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from productrecs.core.private_folders import temp_folder, write_file_atomically

HOLDS = """
import sys, time
from pathlib import Path
from productrecs.core.private_folders import temp_folder
with temp_folder(Path(sys.argv[1]), "mine-") as folder:
    (folder / "something").write_text("of this process")
    print(folder, flush=True)
    time.sleep(60)
"""


def held_by_another(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """Return a process that holds a folder, and the folder."""
    words = [sys.executable, "-c", HOLDS, str(parent)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_this_users_alone_and_goes_at_the_end(tmp_path: Path) -> None:
    with temp_folder(tmp_path, "mine-") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "something").write_text("more")

    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_goes_with_the_next_and_that_of_a_living_stays(
    tmp_path: Path,
) -> None:
    killed, abandoned = held_by_another(tmp_path)
    living, kept = held_by_another(tmp_path)
    others = tmp_path / "mine-but-made-by-hand"
    others.mkdir()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert abandoned.exists()
    try:
        with temp_folder(tmp_path, "mine-") as own:
            assert {*tmp_path.iterdir()} == {kept, others, own}
    finally:
        living.kill()
        living.communicate()
        killed.communicate()


@pytest.mark.parametrize("fails", ["write", "rename"])
def test_a_file_that_cannot_be_written_leaves_nothing_and_replaces_nothing(
    fails: str, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    if fails == "rename":
        target.mkdir()
    else:
        target.write_bytes(b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if fails == "write":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))

    try:
        with pytest.raises(OSError, match=r"."):
            write_file_atomically(target, bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert list(tmp_path.iterdir()) == [target]
    assert target.is_dir() or target.read_bytes() == b"before"


def test_a_file_and_its_folder_are_written_for_this_user_alone(tmp_path: Path) -> None:
    target = tmp_path / "models" / "target"

    write_file_atomically(target, b"content")

    assert target.read_bytes() == b"content"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(target.parent.iterdir()) == [target]
