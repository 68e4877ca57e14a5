"""Controls of the replicas' tests: what must be noticed is noticed.

A machine that answers before it commits, events that count twice, a replica that seldom
polls, and a promotion without synchronous replication.
"""

import time
from pathlib import Path
from typing import Final

import pytest

from tests.trust.replica_load import BOUND_SECONDS, Load
from tests.trust.replicas import APIS, started

pytestmark = [pytest.mark.trust, pytest.mark.postgres, pytest.mark.timeout(180)]
BROKEN: Final = Path(__file__).parent / "broken"
CALM_SECONDS: Final = 3.0
UNCONFIRMED_SECONDS: Final = 10.0  # a commit waits for the standby, a client for 8 s


def test_control_a_machine_that_answers_early_loses() -> None:
    with started(fault=BROKEN / "early_ack") as cluster:
        load = Load.begin(cluster, "early.example")
        with load.busy():
            time.sleep(CALM_SECONDS)
            for name in APIS:
                cluster.kill(name)
        cluster.start(*APIS)

        assert load.judge().lost


def test_control_repeats_that_count_and_seldom_polls_are_noticed() -> None:
    with started(fault=BROKEN / "counts_repeats") as cluster:
        cluster.machines["api3"].host.stop()
        cluster.machines["api3"].fault = BROKEN / "polls_seldom"
        cluster.start("api3")
        load = Load.begin(cluster, "repeats.example")
        with load.busy():
            time.sleep(CALM_SECONDS)
            with cluster.hosts.cut("db1", "db2"):
                time.sleep(UNCONFIRMED_SECONDS)  # each write is sent again
            time.sleep(BOUND_SECONDS + CALM_SECONDS)

        assert load.judge().duplicated
        assert load.stale(load.watched["api3"])
        assert not load.stale(load.watched["api2"])


def test_control_without_synchronous_replication_a_promotion_loses() -> None:
    with started(apis=("api1",)) as cluster:
        cluster.servers["db1"].require("")
        load = Load.begin(cluster, "asynchronous.example")
        with load.busy():
            time.sleep(CALM_SECONDS)
            with cluster.hosts.cut("db1", "db2"):
                time.sleep(2)
                cluster.promote()
            time.sleep(CALM_SECONDS)

        assert load.judge().lost
