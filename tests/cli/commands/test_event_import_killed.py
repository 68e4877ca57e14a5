"""Event import: a killed one loses nothing and stores nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.services import Services
from productrecs.storage.sql.tables import events, imports
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import BOTH, CommandLine

LINES = 16_000


def done(services: Services, store_id: StoreId) -> int:
    query = sa.select(imports.c.lines_done).where(imports.c.store_id == store_id)
    with services.database.reading() as connection:
        return connection.execute(query).scalar() or 0


@BOTH
def test_a_killed_import_of_events_goes_on_where_it_stopped(
    shell: CommandLine, shop: str, services: Services, tmp_path: Path
) -> None:
    store = find_store(services.database, shop)
    file = tmp_path / "events.jsonl"
    view = {"event": "detail-page-view", "session_id": "s_1", "timestamp": "2026-02-01"}
    rows = (view | {"item_id": f"item-{number}"} for number in range(LINES))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "productrecs", "import-events", shop, str(file)]
    given = {name: text for name, text in shell.environment.items() if text is not None}
    kills = 0
    for _ in range(2):
        before = done(services, store.store_id)
        process = subprocess.Popen(command, env={**os.environ, **given})
        while process.poll() is None and done(services, store.store_id) == before:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL

    shell("import-events", shop, str(file))

    with services.database.reading() as connection:
        counts = sa.select(sa.func.count(), sa.func.count(events.c.item.distinct()))
        assert tuple(connection.execute(counts).one()) == (LINES, LINES)
    assert kills == 2
