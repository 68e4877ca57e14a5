"""What does a shop's page see while PostgreSQL is away? Lists; and honest refusals."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.forms import violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import Cluster

pytestmark = pytest.mark.postgres
OUTAGE: Final = 3.0
PATIENCE: Final = 8.0


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


def timed(reply: Reply, began: float) -> Reply:
    assert violations(reply) == []
    assert time.monotonic() - began < PATIENCE
    return reply


def test_lists_go_on_and_writes_are_refused_honestly_until_it_is_back(
    data_folder: Path, postgres_cluster: Cluster, postgres_url: str
) -> None:
    with Service(data_folder, postgres_url, workers=2).prepare() as service:
        merchant = service.register()
        merchant.push({"id": "a"}, {"id": "b"})
        everywhere = service.everywhere(merchant)
        eventually(lambda: all(len(there.trending().ids) == 2 for there in everywhere))

        with away(postgres_cluster, postgres_url):
            until = time.monotonic() + OUTAGE
            while time.monotonic() < until:
                for there in everywhere:
                    check_outage(there)

        eventually(lambda: _order(merchant).status == 200, 20)
        assert _order(merchant, "again").json["duplicate"] is False
        eventually(lambda: service.client().ask("GET", "/health/ready").status == 200, 20)


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
