"""How much time and memory does the training of a store with 100 million events take?

The events are made as arrays and added page by page, as the log is read; reading a database
is measured by `rebuild`. Each size runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.report import Figure
from productrecs.core.clock import DAY_MS
from productrecs.engines.partition_jobs import HERE
from productrecs.storage.model_files import publish_arrays
from productrecs.tenancy.accounts.store_settings import resolve_settings
from productrecs.training.dask_cluster import open_cluster
from productrecs.training.interest_signals import Signals
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.training_inputs import FitCache, Purchases, TrainingInputs
from productrecs.training.training_run import fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.report import Report
    from productrecs.engines.arrays import Floats, Ints
    from productrecs.engines.partition_jobs import Runner

FACTS = int(os.environ.get("BENCH_LARGE_EVENTS", "100000000"))
SMALLER = 10_000_000
FACTS_PER_ITEM, FACTS_PER_SHOPPER = 100, 20
STEPS, CARTS, STAYS = 7, 0.08, 0.7  # of a visit: its events, and shares of them
CLUSTER, CATEGORY, VARIANTS = 25, 250, 3  # items
ORDER, VISITS_AN_ORDER = 3, 6
SIGNALS = 0.02  # of the events follow the view of a category
VISITS = 140_000  # of a page
NOW, DAYS = 1_772_366_400_000, 180
MEGABYTES, SLOWER = 6_000, 1.5


class Page(NamedTuple):
    """Some visits of shoppers, in log order."""

    events: Behaviour
    lines: Purchases
    signals: Signals


class Trained(NamedTuple):
    """What one size took: facts, seconds of processor time, and the peak of memory."""

    facts: int
    wall_seconds: float
    cpu_seconds: float
    megabytes: float
    stages: dict[str, float]


def large_store(report: Report) -> None:
    """Measure a training of ten million facts and one of `FACTS`, beside each other."""
    smaller, larger = _in_own_process(min(SMALLER, FACTS)), _in_own_process(FACTS)
    for trained in (smaller, larger):
        each = trained.cpu_seconds / trained.facts * 1e6
        of = f"{trained.facts:,} facts, {trained.facts // FACTS_PER_ITEM:,} items"
        ratio = each / (smaller.cpu_seconds / smaller.facts * 1e6)
        note = f"{of}; {trained.wall_seconds:.0f} s; stages {json.dumps(trained.stages)}"
        report.add(
            Figure(
                "large store, time of a fact",
                each,
                "us",
                ratio=ratio,
                target=f"<= {SLOWER} of 10 million",
                ok=ratio <= SLOWER,
                note=note,
            )
        )
        good = trained.megabytes <= MEGABYTES
        target = f"<= {MEGABYTES}"
        name = "large store, memory"
        figure = Figure(name, trained.megabytes, "MB", target=target, ok=good, note=of)
        report.add(figure)


def training_cluster(report: Report) -> None:
    """Measure the fit of ten million facts here, on one and on two local Dask workers."""
    from distributed import LocalCluster  # noqa: PLC0415 - an optional dependency

    facts = min(SMALLER, FACTS)
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_LARGE_FOLDER")) as name:
        inputs = made_inputs(facts, Path(name), lambda: None)
        here_seconds, here = _fit_seconds(inputs, facts, HERE)
        before = here_seconds
        for workers in (1, 2):
            with (
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    host="127.0.0.1",
                ) as local,
                open_cluster(local.scheduler_address) as cluster,
            ):
                seconds, found = _fit_seconds(inputs, facts, cluster)
            same = all(np.array_equal(found[name], here[name]) for name in here)
            note = f"{facts:,} facts; floor: {'here' if workers == 1 else 'one worker'}"
            figure = f"training on {workers} Dask workers"
            ratio = seconds / before
            report.add(Figure(figure, seconds, "s", before, ratio, "same", same, note))
            before = seconds


def _fit_seconds(
    inputs: TrainingInputs, facts: int, runner: Runner
) -> tuple[float, dict[str, NDArray[Any]]]:
    inputs.fit_cache = FitCache()
    began = time.perf_counter()
    arrays = fit(inputs, facts // FACTS_PER_ITEM, resolve_settings({}), NOW, runner=runner)
    return time.perf_counter() - began, arrays


def _in_own_process(facts: int) -> Trained:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.large_store", str(facts)],
        capture_output=True,
        check=True,
        text=True,
    )
    return Trained(**json.loads(run.stdout.splitlines()[-1]))


def made_inputs(facts: int, folder: Path, timed: Callable[[], None]) -> TrainingInputs:
    """Return the inputs of a made store; `timed` is called before and after each page."""
    inputs = TrainingInputs(folder)
    n_items = facts // FACTS_PER_ITEM
    inputs.catalog.add(_items(n_items), 1)
    inputs.signs.keys = [f"category-{number}" for number in range(n_items // CATEGORY + 1)]
    lines, signals = [], []
    for page in _pages(facts, n_items):
        timed()
        inputs.events.add(page.events)
        timed()
        lines.append(page.lines)
        signals.append(page.signals)
    timed()
    inputs.signs.add(signals)
    inputs.add_purchases(lines)
    timed()
    return inputs


def _items(n_items: int) -> Iterator[tuple[object, ...]]:
    colours = ("red", "green", "blue")
    for number in range(n_items):
        title = f"Tent {number // VARIANTS} {colours[number % VARIANTS]}"
        yield number, True, title, json.dumps([f"kind {number // CATEGORY}"])


def _pages(facts: int, n_items: int) -> Iterator[Page]:
    """Yield visits that mostly stay within clusters of items; Zipf popularity."""
    visits = int(facts / (STEPS + ORDER / VISITS_AN_ORDER))
    weights = 1.0 / np.arange(1, n_items + 1) ** 0.9
    popularity = np.cumsum(weights / weights.sum())
    popularity[-1] = 1.0
    for first in range(0, visits, VISITS):
        numbers = np.arange(first, min(first + VISITS, visits))
        yield _page(numbers, visits, facts // FACTS_PER_SHOPPER, popularity)


def _page(visits: Ints, n_visits: int, n_shoppers: int, popularity: Floats) -> Page:
    rng = np.random.default_rng((23, int(visits[0])))
    drawn = np.searchsorted(popularity, rng.random((len(visits), STEPS)))
    for step in range(1, STEPS):
        near = drawn[:, step - 1] // CLUSTER * CLUSTER
        near += rng.integers(CLUSTER, size=len(visits))
        stays = rng.random(len(visits)) < STAYS
        drawn[stays, step] = np.minimum(near, len(popularity) - 1)[stays]
    kinds = np.where(rng.random(drawn.shape) < CARTS, 2, 1).astype(np.int8)
    shoppers = rng.integers(n_shoppers, size=len(visits)).astype(np.uint64)
    codes = ((shoppers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    begins = NOW - DAYS * DAY_MS + visits * (DAYS * DAY_MS) // n_visits
    times = begins[:, None] + np.arange(STEPS) * 20_000
    buys = visits % VISITS_AN_ORDER == 0
    bought, orders = drawn[buys, :ORDER].astype(np.int32).ravel(), int(buys.sum())
    seen = rng.random(drawn.shape) < SIGNALS
    return Page(
        Behaviour(
            times.ravel(),
            kinds.ravel(),
            drawn.astype(np.int32).ravel(),
            np.repeat(codes, STEPS),
        ),
        Purchases(
            line_seqs=np.repeat(visits[buys] * ORDER, ORDER)
            + np.tile(np.arange(ORDER), orders),
            baskets=np.repeat(visits[buys], ORDER),
            items=bought,
            quantities=np.ones(len(bought), np.int64),
            totals=np.full(len(bought), 19.9),
            times=np.repeat(times[buys, -1], ORDER),
            is_active=np.ones(len(bought), np.bool_),
            buyers=np.repeat(codes[buys], ORDER),
            visitors=np.repeat(codes[buys], ORDER),
        ),
        Signals(
            drawn[seen] // CATEGORY,
            times[seen] - 5_000,
            np.repeat(codes, STEPS).reshape(drawn.shape)[seen],
        ),
    )


class _Stopwatch:
    """Sums the time between every first and second call."""

    def __init__(self) -> None:
        self.wall_seconds = self.cpu_seconds = 0.0
        self._running = False

    def __call__(self) -> None:
        sign = 1.0 if self._running else -1.0
        self.wall_seconds += sign * time.perf_counter()
        self.cpu_seconds += sign * time.process_time()
        self._running = not self._running


def _train(facts: int) -> Trained:
    """Fit and publish the model of a made store of this size, in this process."""
    watch, stages = _Stopwatch(), {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_LARGE_FOLDER")) as name:
        inputs = made_inputs(facts, Path(name), watch)
        stages["added, MB"] = _peak()
        watch()
        n_items = facts // FACTS_PER_ITEM
        arrays = fit(inputs, n_items, resolve_settings({}), NOW)
        stages["fitted, MB"] = _peak()
        stages["model, MB"] = sum(array.nbytes for array in arrays.values()) / 1e6
        publish_arrays(Path(name) / "models", arrays, {})
        watch()
    return Trained(facts, watch.wall_seconds, watch.cpu_seconds, _peak(), stages)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    print(json.dumps(_train(int(sys.argv[1]))._asdict()))
