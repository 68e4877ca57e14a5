"""Fixtures of the trust tests: a running service, stores in it, a small disk."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.api.conftest import merchant, other, service

__all__ = ["disk", "merchant", "other", "service"]

SIZE: Final = "24m"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the controls, which show that a test can fail, in `make trust` only."""
    for item in items:
        if "tests/trust/" in item.nodeid and item.name.startswith("test_control"):
            item.add_marker(pytest.mark.trust)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Give a small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk, so no disk was full")
    words = [mount, "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here, so none was full")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607 - as `mount`
