"""Cluster: jobs are repeated, in order, and workers of another version are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from distributed import LocalCluster

from productrecs.training import dask_cluster as cluster_module
from productrecs.training.dask_cluster import ClusterError, open_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAILED: Final[set[int]] = set()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Give the address of two workers, as threads of this process."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        host="127.0.0.1",
        protocol="tcp",
    ) as local:
        yield local.scheduler_address


def broken_once(shared: int, number: int) -> int:
    """Fail the first time, as on a machine that goes down."""
    if number % 3 == 0 and number not in _FAILED:
        _FAILED.add(number)
        raise ConnectionError(number)
    return shared * number


def broken(_shared: int, number: int) -> int:
    raise ConnectionError(number)


def test_a_job_that_is_lost_is_repeated_and_results_come_in_order(address: str) -> None:
    with open_cluster(address) as opened:
        found = list(opened.run(broken_once, 10, [(number,) for number in range(9)]))

        assert opened.workers == 2
        assert found == [10 * number for number in range(9)]
        assert {0, 3, 6} == _FAILED
        with pytest.raises(ClusterError, match="lost a job"):
            list(opened.run(broken, 10, [(1,)]))


def test_workers_with_another_version_are_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others(name: str, calls: list[str] = []) -> str:  # noqa: B006 - counts the calls
        calls.append(name)
        return "1" if len(calls) <= 3 else "2"  # the first three are our own

    monkeypatch.setattr(cluster_module, "version", others)
    with pytest.raises(ClusterError, match="it needs"), open_cluster(address):
        pass
