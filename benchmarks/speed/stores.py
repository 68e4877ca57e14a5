"""Where is the big shop kept as a store, and how is it made by the product's own commands?

Under `.bench/` of the project (which ignores itself), once per layout of the database and
of the models; made anew when older than a week, so that its newest events are recent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.speed.servers import ROOT, busy_seconds, service
from benchmarks.speed.shop import KINDS, ShopFiles, shop_files, write_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

BENCH = ROOT / ".bench"
DOMAIN = "bench.example"
WEEK_SECONDS = 7 * 86_400
INDEX_SECONDS = 300.0
PACKAGE = ROOT / "src" / "productrecs"
HERE = Path(__file__).parent
# Whose text decides whether the kept stores still fit.
SHAPES = (PACKAGE / "storage/sql/tables", PACKAGE / "storage/sql/migrations")
MODELS = (PACKAGE / "engines", PACKAGE / "training")


class CommandError(Exception):
    """A command of the product failed; the message holds the end of its output."""


@dataclass(frozen=True, slots=True)
class BigShop:
    """The big shop: its files, its store before and after training, and its keys."""

    files: ShopFiles
    untrained: Path
    trained: Path
    publishable_key: str
    secret_key: str


def productrecs(data: Path, *arguments: str) -> str:
    """Run one of the product's commands on a data folder and return what it printed.

    Raises:
        CommandError: when its status is not 0.
    """
    command = [sys.executable, "-m", "productrecs", *arguments, "--data", str(data)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800
    )
    if done.returncode != 0:
        ending = (done.stdout + done.stderr)[-1500:]
        raise CommandError(f"productrecs {' '.join(arguments)}: {ending}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Run:
    """How long a command took, in all and on the processor, beside what others took."""

    seconds: float
    cpu_seconds: float
    neighbours: float

    def told(self) -> str:
        """Say it in words."""
        return f"{self.cpu_seconds:.1f} s CPU, neighbours {self.neighbours:.2f}"


def timed(data: Path, *arguments: str) -> Run:
    """Run one of the product's commands on a data folder and return how long it took.

    Raises:
        CommandError: when its status is not 0.
    """
    began, cpu, busy = time.perf_counter(), _children_seconds(), busy_seconds()
    productrecs(data, *arguments)
    seconds, cpu = time.perf_counter() - began, _children_seconds() - cpu
    return Run(seconds, cpu, max(0.0, busy_seconds() - busy - cpu) / seconds)


def _children_seconds() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def create_store(data: Path, language: str = "en") -> dict[str, str]:
    """Create the store `DOMAIN` on the unlimited plan and return its keys."""
    options = ("--plan", "unlimited", "--language", language, "--json")
    told = productrecs(data, "store", "create", "--domain", DOMAIN, *options)
    keys: dict[str, str] = json.loads(told)
    return keys


def big_shop() -> BigShop:
    """Return the big shop, making what is not kept yet (a minute or two)."""
    folder = BENCH / f"shop-{digest(*SHAPES, HERE / 'shop.py', HERE / 'traffic.py')}"
    keys = folder / "keys.json"
    if not keys.exists() or time.time() - keys.stat().st_mtime > WEEK_SECONDS:
        _import(folder, keys)
    trained = folder / f"trained-{digest(*MODELS)}"
    if not trained.exists():
        _train(folder / "untrained", trained)
    known = json.loads(keys.read_text())
    return BigShop(
        shop_files(folder),
        folder / "untrained",
        trained,
        known["publishable_key"],
        known["secret_key"],
    )


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Give an empty folder on the disk of the project; it is removed at the end."""
    make_bench()
    with tempfile.TemporaryDirectory(dir=BENCH, prefix="run-") as folder:
        yield Path(folder)


@contextlib.contextmanager
def copy_of(data: Path) -> Iterator[Path]:
    """Give a copy of a data folder, to be changed at will."""
    with scratch() as folder:
        copied = folder / "data"
        shutil.copytree(data, copied)
        yield copied


def _import(folder: Path, keys: Path) -> None:
    make_bench()
    for old in BENCH.glob("shop-*"):
        shutil.rmtree(old)
    folder.mkdir()
    _say("writing the files of the big shop")
    files = write_shop(folder)
    data = folder / "untrained"
    told = create_store(data)
    for verb, file in (
        ("import-items", files.items),
        ("import-events", files.events),
        ("import-orders", files.orders),
    ):
        run = timed(data, verb, DOMAIN, str(file))
        _say(f"{verb}: {run.seconds:.1f} s, {run.told()}")
    keys.write_text(json.dumps(told))


def _train(untrained: Path, trained: Path) -> None:
    for old in trained.parent.glob("trained-*"):
        shutil.rmtree(old)
    half_made = trained.with_name("half-made")
    shutil.rmtree(half_made, ignore_errors=True)
    shutil.copytree(untrained, half_made)
    run = timed(half_made, "train", DOMAIN)
    _say(f"train: {run.seconds:.1f} s, {run.told()}")
    _index(half_made)
    half_made.rename(trained)


def _index(data: Path) -> None:
    """Let the service write the search index, so that no measurement shares its cores."""
    key = json.loads((data.parent / "keys.json").read_text())["publishable_key"]
    with service(data, 1) as server:
        server.wait("/health/ready")
        until = time.monotonic() + INDEX_SECONDS
        while not server.get(f"/v1/search?q={KINDS[0]}&key={key}")[1].get("results"):
            if time.monotonic() > until:
                raise CommandError(f"no search index in {INDEX_SECONDS:.0f} s")
            time.sleep(0.5)
        server.settle()
    _say("search index: written")


def make_bench() -> None:
    """Make the folder of stores that are kept between runs; it ignores itself."""
    BENCH.mkdir(exist_ok=True)
    (BENCH / ".gitignore").write_text("*\n")


def digest(*paths: Path) -> str:
    """Return a short text that differs when a file below `paths` does."""
    digest = hashlib.sha256()
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _say(text: str) -> None:
    print(f"[bench] {text}", file=sys.stderr, flush=True)
