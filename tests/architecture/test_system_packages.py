"""System packages: what tests and code call is installed by `tools/setup`."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.support.project import ROOT

SETUP: Final = (ROOT / "tools" / "setup").read_text()
INSTALLED: Final = frozenset(re.findall(r"^ *want (\S+) ", SETUP, re.MULTILINE))
PACKAGES: Final = {
    "apache2": "apache2",
    "buildah": "buildah",
    "caddy": "caddy",
    "ceph-mon": "ceph-mon",
    "ceph-osd": "ceph-osd",
    "chrome": "chromium",
    "chromium": "chromium",
    "chromium-browser": "chromium",
    "curl": "curl",
    "debootstrap": "debootstrap",
    "google-chrome": "chromium",
    "haproxy": "haproxy",
    "initdb": "postgresql",
    "ip": "iproute2",
    "nginx": "nginx",
    "node": "npm",
    "npm": "npm",
    "openssl": "openssl",
    "php": "php-cli",
    "podman": "podman",
    "radosgw": "radosgw",
}
"""The Debian package of each program that may be missing."""

ALWAYS: Final = frozenset({"bash", "git", "make", "mount", "nice", "sh", "tar", "umount"})
"""Programs that every machine has on which the repository was fetched and made."""

REPLACED: Final = frozenset({"cc"})
"""Programs without which a package does the same: Zig's compiler."""

ROOTS: Final = ("tests", "benchmarks", "tools", "src")
_CALLS: Final = re.compile(r"_PROGRAMS|which|subprocess")  # only such files are parsed
_RUNNERS: Final = frozenset({"run", "Popen", "check_output", "check_call"})


def called_in(tree: ast.AST) -> Iterator[str]:
    """Yield the programs that a module looks for or starts by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {one.id for one in targets if isinstance(one, ast.Name)}
            if "_PROGRAMS" in names and isinstance(node.value, ast.Tuple):
                yield from filter(None, map(text_of, node.value.elts))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of = node.func.value
        first = node.args[0] if node.args else None
        if node.func.attr == "which":
            yield from filter(None, [text_of(first)])
        is_process = isinstance(of, ast.Name) and of.id == "subprocess"
        if (
            is_process
            and node.func.attr in _RUNNERS
            and isinstance(first, ast.List | ast.Tuple)
        ):
            yield from filter(None, map(text_of, first.elts[:1]))


def text_of(node: ast.expr | None) -> str | None:
    """Return the text of a literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def test_a_program_that_is_called_is_installed_by_the_setup() -> None:
    codes = (path.read_text() for root in ROOTS for path in (ROOT / root).rglob("*.py"))
    called = {
        program
        for code in codes
        if _CALLS.search(code)
        for program in called_in(ast.parse(code))
    }

    assert {"chromium", "php"} <= called
    missing = {
        program
        for program in called - ALWAYS - REPLACED
        if PACKAGES.get(program) not in INSTALLED
    }
    assert not missing, "add their Debian packages above and to tools/setup"


def test_every_way_to_call_a_program_is_found() -> None:
    code = """
_PROGRAMS = ("one", "two")
found = shutil.which("three", path="/usr/sbin")
subprocess.run(["four", option], check=True)
subprocess.Popen(("five",))
subprocess.run([sys.executable, "-m", "not this"])
"""

    assert set(called_in(ast.parse(code))) == {"one", "two", "three", "four", "five"}
