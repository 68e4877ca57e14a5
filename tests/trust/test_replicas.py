"""Replicas: machines die, networks break and a release rolls, all under load.

Nothing acknowledged is lost or doubled, lists are never older than five seconds, and
requests fail only within the seconds that each fault is allowed.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import eventually
from tests.trust.history import Outcome
from tests.trust.replica_load import BOUND_SECONDS, PROBE, Load
from tests.trust.replicas import APIS, WORKERS, ReplicaCluster, started

pytestmark = [pytest.mark.trust, pytest.mark.postgres]
BROKEN: Final = Path(__file__).parent / "broken"
CALM_SECONDS: Final = 3.0
SHARE: Final = 0.01


@pytest.fixture(scope="module")
def cluster() -> Iterator[ReplicaCluster]:
    with started() as running:
        yield running


@dataclass(frozen=True)
class Fault:
    """What happens, how long requests may fail from its begin, and who may be behind."""

    strike: Callable[[ReplicaCluster], None]
    lists_seconds: float
    writes_seconds: float
    cut_off: frozenset[str] = frozenset()  # API machines whose own lists may be old
    memory_seconds: float = 0  # while no machine reaches the database, lists may be as old


def kill(name: str) -> Callable[[ReplicaCluster], None]:
    def strike(cluster: ReplicaCluster) -> None:
        cluster.kill(name)
        time.sleep(2)
        if name == "proxy":
            cluster.start_proxy()
        else:
            cluster.start(name)

    return strike


def cut(one: str, other: str, seconds: float) -> Callable[[ReplicaCluster], None]:
    def strike(cluster: ReplicaCluster) -> None:
        names = [cluster.primary if name == "primary" else name for name in (one, other)]
        names = [cluster.standby if name == "standby" else name for name in names]
        with cluster.hosts.cut(*names):
            time.sleep(seconds)

    return strike


def restart_primary(cluster: ReplicaCluster) -> None:
    cluster.kill(cluster.primary)
    time.sleep(1)
    cluster.servers[cluster.primary].start()


FAULTS: Final = {
    "an API machine is killed": Fault(kill("api2"), 3, 3),
    "an API machine with a writer process is killed": Fault(kill("api1"), 3, 3),
    "a worker is killed": Fault(kill("worker1"), 0, 0),
    "HAProxy is killed": Fault(kill("proxy"), 5, 5),
    "the database is killed and starts again": Fault(restart_primary, 0, 10),
    "the standby is promoted": Fault(ReplicaCluster.promote, 0, 12),
    "the primary vanishes and the standby is promoted": Fault(
        ReplicaCluster.lose_primary, 0, 14, memory_seconds=8
    ),
    "an API machine is cut from the database": Fault(
        cut("api3", "primary", 12), 6, 14, frozenset({"api3"})
    ),
    "a worker is cut from the database": Fault(cut("worker2", "primary", 8), 0, 0),
    "an API machine is cut from HAProxy": Fault(cut("api2", "proxy", 6), 3, 4),
    "an API machine is cut from the object store": Fault(cut("api1", "objects", 8), 0, 0),
    "a worker is cut from the object store": Fault(cut("worker1", "objects", 8), 0, 0),
    "the standby is cut from the primary": Fault(cut("primary", "standby", 6), 0, 14),
}


def check(load: Load, began: float, fault: Fault, what: str) -> str:
    """Hold every promise; return the figures."""
    verdict = load.judge()
    assert verdict.is_clean, f"{what}: {verdict}"
    failed = {}
    for kind, answers, seconds in (
        ("lists", load.lists, fault.lists_seconds),
        ("writes", load.writes, fault.writes_seconds),
    ):
        failures = [one for one in answers if one.is_failure]
        last = max((one.replied_at for one in failures), default=began) - began
        slowest = max(one.replied_at - one.sent for one in answers)
        failed[kind] = (
            f"{len(failures)} of {len(answers)} {kind} failed, until {last:.1f} s, "
            f"the slowest took {slowest:.1f} s"
        )
        outside = [one for one in answers if not began <= one.sent <= began + seconds]
        share = sum(one.is_failure for one in outside) / len(outside)
        assert share <= SHARE, f"{what}: {failed[kind]}; {share:.1%} outside {seconds} s"
    bound = BOUND_SECONDS + fault.memory_seconds
    assert load.stale(load.lists, bound) == [], what
    current = {name: load.watched[name] for name in load.watched.keys() - fault.cut_off}
    stale = {name: load.stale(answers, bound) for name, answers in current.items()}
    assert not any(stale.values()), f"{what}: {stale}"
    ages = [load.oldest(answers) for answers in (load.lists, *current.values())]
    acknowledged = len(load.history.having(Outcome.OK))
    return (
        f"{what}: {acknowledged} acknowledged, {len(verdict.recovered)} unconfirmed; "
        f"{failed['lists']}; {failed['writes']}; oldest list {max(ages):.1f} s"
    )


def endure(cluster: ReplicaCluster, fault: Fault, what: str) -> Load:
    """Strike under load, and check all promises."""
    domain = f"{'-'.join(what.lower().split())}.example"
    load = Load.begin(cluster, domain)
    with load.busy():
        time.sleep(CALM_SECONDS)
        began = time.monotonic()
        fault.strike(cluster)
        rest = max(fault.lists_seconds, fault.writes_seconds) - (time.monotonic() - began)
        time.sleep(max(rest, 0) + CALM_SECONDS)
    print(check(load, began, fault, what))  # noqa: T201 - the figures of the run
    return load


@pytest.mark.timeout(180)
@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_under_load_loses_nothing(cluster: ReplicaCluster, what: str) -> None:
    endure(cluster, FAULTS[what], what)

    if what.endswith("promoted"):
        cluster.rebuild_standby()


@pytest.mark.timeout(180)
def test_a_model_reaches_every_machine(cluster: ReplicaCluster) -> None:
    load = Load.begin(cluster, "learns.example")
    for number in range(8):
        load.sell(f"o-{number}", PROBE, "other")

    def is_everywhere() -> bool:
        query = f"/v1/recommendations?key={load.account.publishable}&item_id={PROBE}"
        replies = [cluster.machines[name].client.ask("GET", query) for name in APIS]
        return all(b'"source":"buy"' in reply.body for reply in replies)

    seconds = eventually(is_everywhere, 90, pause=0.2)
    print(f"a model was on every machine {seconds:.1f} s after the last order")  # noqa: T201


@pytest.mark.timeout(240)
def test_a_release_rolls_through_all_machines(cluster: ReplicaCluster) -> None:
    def roll(_: ReplicaCluster) -> None:
        for name in (*APIS, *WORKERS):
            machine = cluster.machines[name]
            machine.host.stop()
            machine.fault = BROKEN / "next_release"
            cluster.start(name)

    endure(cluster, Fault(roll, 0, 0), "a release rolls")

    old = cluster.machines["api1"]
    old.host.stop()
    old.fault = None
    old.launch()
    eventually(lambda: "newer ProductRecs" in old.log_path.read_text(), 30, pause=0.2)
