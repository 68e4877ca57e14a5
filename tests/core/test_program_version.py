"""The program says which commit it was built from, wherever its source lies."""

from pathlib import Path

import pytest

from productrecs.core.program_version import read_revision

COMMIT = "020de6668a61b0f3c5d7e9a1b3c5d7e9f1a3b5c7"


@pytest.mark.parametrize(
    ("files", "revision"),
    [
        ({"src/productrecs/revision": f"{COMMIT}\n", ".git/HEAD": "0" * 40}, COMMIT[:12]),
        ({".git/HEAD": f"{COMMIT}\n"}, COMMIT[:12]),
        (
            {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"},
            COMMIT[:12],
        ),
        (
            {
                ".git/HEAD": "ref: refs/heads/main\n",
                ".git/packed-refs": f"# pack\n{'1' * 40} refs/heads/x/refs/heads/main\n"
                f"{COMMIT} refs/heads/main\n",
            },
            COMMIT[:12],
        ),
        (
            {
                ".git": "gitdir: elsewhere/worktrees/a\n",
                "elsewhere/worktrees/a/HEAD": "ref: refs/heads/a\n",
                "elsewhere/worktrees/a/commondir": "../..\n",
                "elsewhere/refs/heads/a": COMMIT,
            },
            COMMIT[:12],
        ),
        ({".git/HEAD": "ref: refs/heads/new\n"}, ""),
        ({".git": b"\xff\xfe"}, ""),
        ({"README.md": "downloaded"}, ""),
    ],
    ids=[
        "installed",
        "detached",
        "branch",
        "packed",
        "work tree",
        "no commit yet",
        "not git",
        "no git",
    ],
)
def test_the_revision_is_read_from_what_is_there(
    tmp_path: Path, files: dict[str, str | bytes], revision: str
) -> None:
    (tmp_path / "src/productrecs").mkdir(parents=True)
    for name, content in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_revision(tmp_path / "src/productrecs") == revision
