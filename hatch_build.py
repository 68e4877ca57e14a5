"""Build hook: compiles the engines' kernels, and names the revision of the source."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tools import kernels

_REVISION = "src/productrecs/revision"
_ZIG = "ziglang>=0.15,<0.18"


class BuildHook(BuildHookInterface):
    """Adds the file `revision` with the commit of the checkout, and a wheel's kernels.

    Without a checkout (a container's build) SOURCE_REVISION names the commit; a source
    archive has the file already. Where nothing names it, the program shows its version
    alone. KERNELS_FOR=aarch64 builds a wheel for that processor.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the compiler's package, where this machine has no compiler."""
        return [] if self.target_name == "sdist" or kernels.has_compiler() else [_ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; an editable install uses its checkout instead."""
        if version == "editable":
            kernels.compile_kernels()
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        if self.target_name == "wheel":
            library = folder / kernels.LIBRARY.name
            processor = os.environ.get("KERNELS_FOR", "")
            platform = kernels.compile_kernels(library, processor)
            build_data["force_include"][str(library)] = "productrecs/engines/kernels.c.so"
            build_data["tag"], build_data["pure_python"] = f"py3-none-{platform}", False
        commit = os.environ.get("SOURCE_REVISION", "").strip() or _commit(self.root)
        if commit and not (Path(self.root) / _REVISION).exists():
            file = folder / "revision"
            file.write_text(f"{commit}\n")
            in_wheel = self.target_name == "wheel"
            target = _REVISION.removeprefix("src/") if in_wheel else _REVISION
            build_data["force_include"][str(file)] = target


def _commit(root: str) -> str:
    if not (Path(root) / ".git").exists() or shutil.which("git") is None:
        return ""
    command = ["git", "-C", root, "rev-parse", "HEAD"]
    run = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - ours
    return run.stdout if run.returncode == 0 else ""
