"""Training on a Dask cluster: two workers give the model that this machine gives."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from productrecs.storage.files.model_files import open_arrays
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.dask_cluster import ClusterError, open_cluster
from productrecs.training.fit_models import fit_all_models
from productrecs.training.interest_signals import InterestSignals
from productrecs.training.partitioned_shopper_events import (
    ShopperEventArrays,
    ShopperEvents,
)
from productrecs.training.training_inputs import Purchases, TrainingInputs
from tests.support.service import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.trust

NOW, DAY = 1_772_366_400_000, 86_400_000
N_ITEMS, FACTS = 3_000, 300_000
SETTINGS = StoreSettings(trending_days=60)


class LocalCluster:
    """A scheduler and its workers, as processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--host", self.address, "--no-dashboard", "--no-show")
        self.workers = [self.add_worker() for _ in range(2)]

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        return self._start(
            "worker",
            self.address,
            *("--nthreads", "1", "--no-dashboard", "--no-nanny"),
            *("--local-directory", str(self._folder)),
        )

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"log-{len(self._processes)}").open("wb")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process

    def wait_for_workers(self, count: int) -> None:
        """Return when so many workers have registered."""
        for _ in range(300):
            with contextlib.suppress(ClusterError), open_cluster(self.address) as cluster:
                if cluster.workers == count:
                    return
            time.sleep(0.1)
        logs = [path.read_text() for path in sorted(self._folder.glob("log-*"))]
        pytest.fail("\n".join(logs))

    def stop(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """Give a cluster of two workers."""
    (tmp_path / "dask").mkdir()
    local = LocalCluster(tmp_path / "dask")
    local.wait_for_workers(2)
    yield local
    local.stop()


def made_inputs(folder: Path, max_in_memory: int) -> TrainingInputs:
    """Return a store with events, orders, variants, categories and interest signals."""
    rng = np.random.default_rng(12)
    inputs = TrainingInputs(folder)
    inputs.events = ShopperEvents(folder, max_in_memory)
    visitors = rng.integers(1, 20_000, FACTS) * 1_000_000_007
    times = np.sort(NOW - rng.integers(90 * DAY, size=FACTS))
    items = (rng.zipf(1.3, FACTS) % N_ITEMS).astype(np.int32)
    kinds = rng.choice([1, 1, 1, 2], FACTS).astype(np.int8)
    for rows in np.array_split(np.arange(FACTS), 7):
        inputs.events.add(
            ShopperEventArrays(times[rows], kinds[rows], items[rows], visitors[rows])
        )
    lines = rng.integers(FACTS, size=FACTS // 10)
    n_lines = len(lines)
    together = items[lines] // 6 * 6 + np.arange(n_lines) % 6
    baskets = np.arange(n_lines) // 4
    inputs.add_purchases(
        [
            Purchases(
                line_seqs=np.arange(n_lines),
                baskets=baskets,
                items=together.clip(max=N_ITEMS - 1).astype(np.int32),
                quantities=np.ones(n_lines, np.int64),
                totals=np.ones(n_lines),
                times=times[lines],
                is_active=np.ones(n_lines, np.bool_),
                buyers=visitors[baskets],
                visitors=visitors[baskets],
            )
        ]
    )
    inputs.indicators.keys = ["tents", "stoves"]
    numbers = (items[::9] % 2).astype(np.int64)
    inputs.indicators.add([InterestSignals(numbers, times[::9] - 1_000, visitors[::9])])
    catalog = [
        (one, True, f"Shirt {one // 3} {'SML'[one % 3]}", f'["kind {one // 30}"]')
        for one in range(N_ITEMS)
    ]
    inputs.catalog.apply_changes(catalog, 1)
    return inputs


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("max_in_memory", [10 * FACTS, FACTS // 5])
def test_two_workers_give_the_model_of_this_machine(
    cluster: LocalCluster, tmp_path: Path, max_in_memory: int
) -> None:
    expected = fit_all_models(made_inputs(tmp_path, 10 * FACTS), N_ITEMS, SETTINGS, NOW)
    assert expected["pooled.shared"].any()
    assert len(expected["carts.support"])
    assert len(expected["indicators.items"])

    with open_cluster(cluster.address) as opened:
        assert opened.workers == 2
        inputs = made_inputs(tmp_path, max_in_memory)
        found = fit_all_models(inputs, N_ITEMS, SETTINGS, NOW, runner=opened)

    assert_same(found, expected)


def test_a_killed_worker_costs_time_and_nothing_else(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    expected = fit_all_models(made_inputs(tmp_path, 10 * FACTS), N_ITEMS, SETTINGS, NOW)
    with open_cluster(cluster.address) as opened:
        killer = Killer(opened, cluster.workers[0])
        found = fit_all_models(
            made_inputs(tmp_path, FACTS // 5), N_ITEMS, SETTINGS, NOW, runner=killer
        )

    assert killer.killed
    assert_same(found, expected)


def test_a_cluster_that_loses_all_workers_is_an_error_and_no_wait(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("productrecs.training.dask_cluster._LOOK_SECONDS", 1)
    with open_cluster(cluster.address) as opened:
        for worker in cluster.workers:
            worker.send_signal(signal.SIGKILL)
        with pytest.raises(ClusterError, match="lost"):
            fit_all_models(
                made_inputs(tmp_path, FACTS), N_ITEMS, SETTINGS, NOW, runner=opened
            )


class Killer:
    """Kills a worker after the third job of a run."""

    def __init__(self, cluster: Any, worker: subprocess.Popen[bytes]) -> None:
        self._cluster, self._worker = cluster, worker
        self.workers, self.killed = cluster.workers, False

    def run(self, function: Any, shared: object, jobs: Any) -> Iterator[Any]:
        """Run the jobs on the cluster."""
        for number, result in enumerate(self._cluster.run(function, shared, jobs)):
            if number == 2 and not self.killed:
                os.kill(self._worker.pid, signal.SIGKILL)
                self.killed = True
            yield result


def test_the_command_trains_on_the_cluster(cluster: LocalCluster, tmp_path: Path) -> None:
    data = tmp_path / "data"
    orders = "order_id,item_id\n" + "".join(
        f"B-{number % 90},item-{number % 7}\n" for number in range(400)
    )

    def shell(*words: str, stdin: str = "") -> str:
        run = subprocess.run(
            [sys.executable, "-m", "productrecs", *words, "--data", str(data)],
            input=stdin,
            capture_output=True,
            check=True,
            text=True,
        )
        return run.stdout

    shell("store", "create", "--domain", "shop.example.com")
    shell("import-orders", "shop.example.com", "-", stdin=orders)
    shell("train", "shop.example.com")
    shell("train", "shop.example.com", "--cluster", cluster.address)

    here, there = sorted((data / "models").glob("*/0*"))
    assert_same(open_arrays(there)[0], open_arrays(here)[0])
