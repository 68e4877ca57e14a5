"""Compile the engines' inner loops: `python -m tools.kernels`.

The build hook (`hatch_build.py`) calls this for wheels and for checkouts, and the tests do
after a change of the source. The compiler is Zig's, from the package `ziglang`, where it is
installed: it needs nothing of the system and compiles for other processors too. Else it is
the system's `cc`.
"""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINES = Path(__file__).resolve().parent.parent / "src/productrecs/engines"
SOURCES = (ENGINES / "kernels.c", ENGINES / "text/words.c")
LIBRARY = ENGINES / "kernels.c.so"
GLIBC = "2.28"
"""The oldest C library that Zig's output runs with: that of Debian 10."""

_OPTIONS = (
    *("-std=c11", "-O3", "-shared", "-fPIC", "-s"),
    "-ffp-contract=off",  # the same sums as numpy
)


def has_zig() -> bool:
    """Return whether Zig's compiler is installed in this environment."""
    return importlib.util.find_spec("ziglang") is not None


def has_compiler() -> bool:
    """Return whether anything here can compile."""
    return has_zig() or shutil.which("cc") is not None


def compile_kernels(library: Path = LIBRARY, processor: str = "") -> str:
    """Write the library, and return the platform of a wheel that holds it.

    `processor` (x86_64, aarch64) is this machine's by default; another one needs Zig.

    Raises:
        RuntimeError: when there is no compiler, or it fails.
    """
    machine = processor or platform.machine()
    is_linux_with_glibc = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
    command, tag = ["cc"], f"{sys.platform}_{machine}"
    if has_zig():
        command = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined"]
        if is_linux_with_glibc:
            command += ["-target", f"{machine}-linux-gnu.{GLIBC}"]
            tag = f"manylinux_{GLIBC.replace('.', '_')}_{machine}"
    elif machine != platform.machine() or shutil.which("cc") is None:
        message = "the engines' kernels need a C compiler: pip install ziglang"
        raise RuntimeError(message)
    # In place at once: processes of other tests may be loading the library.
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        words = [*command, *_OPTIONS, "-o", str(made), *map(str, SOURCES), "-lm"]
        done = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603 - our own words
        if done.returncode:
            message = f"{' '.join(words)}\n{done.stderr}"
            raise RuntimeError(message)
        made.replace(library)
    return tag


def is_current() -> bool:
    """Return whether the checkout's library is as new as its source."""
    try:
        made = os.stat(LIBRARY).st_mtime  # noqa: PTH116
        return made >= max(os.stat(source).st_mtime for source in SOURCES)  # noqa: PTH116
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    compile_kernels()
