"""Live event recorder: an outage of the database fills no log."""

import asyncio
import logging

import pytest

from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId
from productrecs.http.pipeline import live_view_recorder
from productrecs.http.pipeline.live_view_recorder import LiveViewRecorder
from productrecs.serving.writes.background_writes import BackgroundWriter
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader


def test_an_outage_has_a_line_at_its_start_and_one_at_its_end(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lookups = 0

    def lookup(_reader: RawReader, _now_ms: int) -> frozenset[StoreId]:
        nonlocal lookups
        lookups += 1
        if lookups <= 3:
            raise StorageBusyError("the database cannot be reached")
        return frozenset()

    monkeypatch.setattr(live_view_recorder, "watched_stores", lookup)
    monkeypatch.setattr(live_view_recorder, "_SECONDS", 0.0)
    watch = LiveViewRecorder(database, BackgroundWriter(database), lambda: 0)

    async def ask_often() -> None:
        async with watch.polling_watched_stores():
            while lookups <= 6:
                await asyncio.sleep(0)

    with caplog.at_level(logging.INFO, live_view_recorder.__name__):
        asyncio.run(ask_often())

    assert [record.message for record in caplog.records] == [
        "live view lookup failed",
        "live views read again",
    ]
    assert caplog.records[0].exc_info is None
