"""Build hook: what is built carries the revision of its source (file `revision`)."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TARGET = "src/productrecs/revision"


class RevisionHook(BuildHookInterface):
    """Writes the commit of the checkout into the wheel and the source archive.

    Without a checkout (a container's build) SOURCE_REVISION names it; a source archive
    has the file already. Where nothing names it, the program shows its version alone.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file; an editable install reads its checkout instead."""
        if version == "editable" or (Path(self.root) / _TARGET).exists():
            return
        commit = os.environ.get("SOURCE_REVISION", "").strip() or _commit(self.root)
        if not commit:
            return
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "revision"
        file.write_text(f"{commit}\n")
        target = _TARGET if self.target_name == "sdist" else _TARGET.removeprefix("src/")
        build_data["force_include"][str(file)] = target


def _commit(root: str) -> str:
    if not (Path(root) / ".git").exists() or shutil.which("git") is None:
        return ""
    command = ["git", "-C", root, "rev-parse", "HEAD"]
    run = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - ours
    return run.stdout if run.returncode == 0 else ""
