"""PostgreSQL support: an empty database per test, and no server left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from productrecs.storage.tables import counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from productrecs.storage.database import Database
    from tests.support.postgres import Cluster

_OWNER = """
import sys, time
from tests.support.postgres import Owner
owner = Owner.begin()
owner.cluster.ensure_started()
print(owner.cluster.folder, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_finds_no_row_of_another(database: Database, turn: int) -> None:
    with database.transaction() as transaction:
        before = transaction.execute(sa.select(counters)).all()
        transaction.execute(counters.insert().values(name="turn", value=turn))

    assert before == []


@pytest.mark.postgres
def test_a_server_dies_with_the_run_that_started_it(postgres_cluster: Cluster) -> None:
    assert postgres_cluster.data.exists()  # a server is installed: skipped otherwise
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    server = int((folder / "data" / "postmaster.pid").read_text("utf-8").split()[0])
    assert _is_alive(server)

    owner.send_signal(signal.SIGKILL)
    owner.communicate()

    assert _within(20, lambda: not folder.exists() and not _is_alive(server))


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
