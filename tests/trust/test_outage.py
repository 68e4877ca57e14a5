"""PostgreSQL outage: lists are served, writes get honest errors."""

import contextlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support import postgres
from tests.support.postgres import Cluster
from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.forms import violations

pytestmark = pytest.mark.postgres
OUTAGE: Final = 3.0
PATIENCE: Final = 15.0  # ten, and what a machine adds that stands still for a while
AT_ONCE: Final = 4.0  # less than whoever waits for the database


@contextlib.contextmanager
def away(cluster: Cluster, url: str) -> Iterator[None]:
    """Cut every connection to a database, and let none be made, while the block runs."""
    name = url.partition("?")[0].rpartition("/")[2]
    cluster.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
    cluster.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - our own name
        f"WHERE datname = '{name}'"
    )
    yield
    cluster.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true')


@contextlib.contextmanager
def without_writes(cluster: Cluster, url: str) -> Iterator[None]:
    """Let every connection to a database read only, while the block runs."""
    name = url.partition("?")[0].rpartition("/")[2]
    for says in ("on", "off"):
        cluster.execute(
            f'ALTER DATABASE "{name}" SET default_transaction_read_only TO {says}'
        )
        cluster.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - our own name
            f"WHERE datname = '{name}'"
        )
        if says == "on":
            yield


def timed(reply: Reply, began: float) -> Reply:
    assert violations(reply) == []
    assert time.monotonic() - began < PATIENCE
    return reply


def test_lists_go_on_and_writes_are_refused_honestly_until_it_is_back(
    data_folder: Path, postgres_cluster: Cluster, migrated_url: str
) -> None:
    with Service(data_folder, migrated_url, workers=2).prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"}, {"id": "b"})
        everywhere = service.everywhere(merchant)
        eventually(lambda: all(len(there.trending().ids) == 2 for there in everywhere))
        eventually(lambda: logged(service, "search index started"), 60)
        eventually(lambda: logged(service, "worker started"), 60)

        with away(postgres_cluster, migrated_url):
            until = time.monotonic() + OUTAGE
            while time.monotonic() < until:
                for there in everywhere:
                    check_outage(there)

        eventually(lambda: _order(merchant).status == 200, 20)
        assert _order(merchant, "again").json["duplicate"] is False
        eventually(lambda: service.client().ask("GET", "/health/ready").status == 200, 20)
        for began, ended in OUTAGE_LINES.items():
            eventually(lambda: logged(service, began) == logged(service, ended), 20)  # noqa: B023 - asked at once
            assert set(logged(service, began).values()) == {1}, service.log
        assert set(logged(service, "writes failing").values()) == {1}, service.log
        writers = logged(service, "writes failing").keys()
        eventually(
            lambda: len(writers & logged(service, "writes recovered").keys()) > 2, 20
        )
        refused = logged(service, "request rejected")
        assert {path for name in refused for path in name.split()} >= {*REFUSED}
        assert set(refused.values()) == {1}, service.log
        eventually(lambda: says_accepted(service, everywhere), 20)


def says_accepted(service: Service, everywhere: list[Merchant]) -> bool:
    """Every process says that it takes orders again, once it has taken some for seconds."""
    assert {_order(there).status for there in everywhere} == {200}
    accepted = logged(service, "requests accepted again")
    orders = {name: count for name, count in accepted.items() if "/v1/orders" in name}
    assert set(orders.values()) <= {1}, accepted
    return len(orders) == len(everywhere)


OUTAGE_LINES: Final = {
    "database read failed": "database read again",
    "job queue unavailable": "job queue available again",
    "catalog read failed": "catalog read again",
}
REFUSED: Final = ("/v1/orders", "/v1/events", "/v1/items")


def logged(service: Service, event: str) -> Counter[str]:
    """Return how many lines of an event each process wrote, of each route."""
    lines = service.log_path.read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines if f'"event": "{event}"' in line]
    return Counter(
        " ".join(
            str(line.get(part, "")) for part in ("process", "logger", "method", "path")
        )
        for line in found
        if "exception" not in line
    )


def test_a_database_that_hangs_keeps_no_list_waiting(data_folder: Path) -> None:
    owner = postgres.Owner.begin()  # a server of its own: others go on using theirs
    if owner is None:
        pytest.skip(postgres.MISSING)
    try:
        owner.cluster.ensure_started()
        url = owner.cluster.create_database()
        with Service(data_folder, url).prepare() as service:
            merchant = service.register()
            merchant.push({"id": "a"}, {"id": "b"})
            assert len(merchant.recommend(user_id="s_1").ids) == 2

            with frozen(owner.cluster):
                for query in ({"user_id": "s_1"}, {"user_id": "s_2"}, {"item_id": "a"}, {}):
                    began = time.monotonic()
                    assert merchant.recommend(**query).status == 200
                    assert time.monotonic() - began < AT_ONCE

            eventually(lambda: merchant.order("o-1", "a").status == 200, 20)
    finally:
        owner.end()


@contextlib.contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Stop every process of a server where it stands, while the block runs."""
    first = (cluster.data / "postmaster.pid").read_text("utf-8").split()[0]
    children = Path(f"/proc/{first}/task/{first}/children").read_text("utf-8").split()
    every = [int(first), *map(int, children)]
    _signal(every, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(every, signal.SIGCONT)


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # one that served and has ended
            os.kill(process, number)


def check_outage(merchant: Merchant) -> None:
    """Reads are answered; nothing is acknowledged; nothing is a fault of ours."""
    began = time.monotonic()
    assert set(timed(merchant.trending(), began).ids) == {"a", "b"}
    assert timed(merchant.recommend(item_id="a"), began).ids == ["b"]
    assert timed(merchant.recommend(user_id="s_1"), began).status == 200
    began = time.monotonic()
    assert timed(_order(merchant), began).status == 503
    began = time.monotonic()
    event = {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}
    assert timed(merchant.track(event), began).status == 503
    began = time.monotonic()
    assert timed(merchant.push({"id": "c"}), began).status == 503
    began = time.monotonic()
    unknown = merchant.client.ask("GET", "/v1/trending?key=pk_unknown")
    assert timed(unknown, began).status in {401, 503}


def _order(merchant: Merchant, order_id: str = "o-1") -> Reply:
    return merchant.order(order_id, "a", "b")
