"""Widget build: the committed scripts match their sources, types and size budgets."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from productrecs.http.routes.public.widget_scripts import ScriptWithoutCall, script_call
from tests.support.guides import PAGES, blocks
from tests.support.project import ROOT
from tools.widget_sizes import BUDGETS, BUILT, sizes

WIDGETS: Final = ROOT / "widgets"
MODULES: Final = WIDGETS / "node_modules"
MISSING: Final = (
    "the widgets were NOT built again: Node or what `npm ci` installs in widgets/ is "
    "missing; apt-get install npm, then tools/setup test"
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "esbuild").is_dir(), reason=MISSING
)


def run(*command: str | Path) -> None:
    """Run a program in the widgets' folder; it must succeed."""
    done = subprocess.run(command, cwd=WIDGETS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_node
def test_the_committed_scripts_are_what_the_sources_build(tmp_path: Path) -> None:
    run("node", "build.mjs", "--out", tmp_path)

    built = {path.name: path.read_bytes() for path in tmp_path.glob("*.js")}
    assert built == {path.name: path.read_bytes() for path in BUILT.glob("*.js")}
    assert {f"{name}.br" for name in built} == {path.name for path in BUILT.glob("*.br")}


UNPACK: Final = """
const { brotliDecompressSync } = require("node:zlib");
const read = (at) => require("node:fs").readFileSync(process.argv[at]);
process.exit(brotliDecompressSync(read(1)).equals(read(2)) ? 0 : 1);
"""


@needs_node
@pytest.mark.parametrize("name", BUDGETS)
def test_what_is_sent_in_brotli_is_the_script(name: str, tmp_path: Path) -> None:
    script, call = ScriptWithoutCall(name), script_call(b'{"key":"pk_1","answers":[]}')
    packed, plain = tmp_path / "packed", tmp_path / "plain"
    packed.write_bytes(script.in_brotli(call))
    plain.write_bytes(script.plain(call))

    run("node", "-e", UNPACK, packed, plain)
    assert packed.stat().st_size < 0.93 * len(script.in_gzip(call))


def test_no_script_listens_to_scrolling() -> None:
    heard = [path.name for path in BUILT.glob("*.js") if b'"scroll"' in path.read_bytes()]

    assert heard == []


@needs_node
def test_the_sources_are_typed() -> None:
    run(MODULES / ".bin/tsc", "--noEmit")


@needs_node
def test_what_is_published_for_typescript_describes_a_page() -> None:
    run(MODULES / ".bin/tsc", "-p", "published")


def test_the_guide_shows_what_is_published() -> None:
    published = (WIDGETS / "published/product-recs.d.ts").read_text("utf-8")

    (shown,) = [
        b.text
        for b in blocks((PAGES / "widgets.md").read_text("utf-8"))
        if b.language == "ts"
    ]
    assert shown == published


@needs_node
def test_prices_and_names_are_written_as_they_should() -> None:
    run("npm", "test")


def test_every_script_is_within_its_budget() -> None:
    found = sizes(BUILT)

    assert found.keys() == BUDGETS.keys()
    assert {name: size for name, size in found.items() if size > BUDGETS[name]} == {}


def test_control_a_script_that_grew_is_over_its_budget(tmp_path: Path) -> None:
    grown = bytes(range(256)) * 40 + (BUILT / "recs.js").read_bytes()
    (tmp_path / "recs.js").write_bytes(
        grown + bytes(hash((n, n * n)) % 256 for n in range(20_000))
    )

    assert sizes(tmp_path)["recs"] > BUDGETS["recs"]
