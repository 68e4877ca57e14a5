"""Exploration log: explored items are stored once, and no reply waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import StorageBusyError
from productrecs.entrypoints.http.writes.exploration_log import ExplorationLog
from productrecs.records.experiments.repository import ExplorationRepository
from productrecs.records.experiments.write_behind import WriteBehindBuffer
from productrecs.storage.tables import explorations
from productrecs.tenancy.accounts.store_management import Registration, register_store
from tests.features.recommendations.small_shop import NOW
from tests.features.recommendations.test_pins_and_exploration import asked

if TYPE_CHECKING:
    from typing import NoReturn

    from productrecs.storage.database import Database

TRIED = [(who, one) for who in range(60) if (one := asked(who)).tried is not None]


def test_a_try_is_stored_once_with_its_chance_and_forgotten_in_time(
    database: Database,
) -> None:
    store_id = register_store(database, Registration("shop.example"), lambda: NOW)[
        0
    ].store_id
    for _process in range(2):
        exploring = ExplorationLog(database)
        for who in range(60):
            exploring.note(store_id, asked(who), NOW)
        for _, decision in TRIED:
            exploring.note(store_id, decision, NOW + 5)
        assert exploring.write_behind.noted.depth == len(TRIED) > 5
        exploring.write_behind.flush()
        exploring.write_behind.flush()

    with database.transaction() as transaction:
        rows = transaction.execute(sa.select(explorations)).mappings().all()
        repository = ExplorationRepository(transaction, store_id)
        kept = repository.forget(rows[0]["day"])
        gone = repository.forget("9999-01-01")

    assert {row["shopper"] for row in rows} == {f"u{who}" for who, _ in TRIED}
    assert len(rows) == gone == len(TRIED)
    assert kept == 0
    assert {(row["about"], row["place"], row["first_at"]) for row in rows} == {(0, 4, NOW)}
    for row in rows:
        decision = dict(TRIED)[int(row["shopper"][1:])]
        assert decision.tried is not None
        assert row["chance"] == pytest.approx(decision.tried.chance)
        assert row["item"] == decision.tried.pick.item


def test_what_cannot_be_stored_waits_and_too_much_is_lost(
    monkeypatch: pytest.MonkeyPatch, sqlite_database: Database
) -> None:
    store_id = register_store(sqlite_database, Registration("a.example"), lambda: NOW)[
        0
    ].store_id
    exploring = ExplorationLog(sqlite_database)
    exploring.write_behind.noted = WriteBehindBuffer(limit=3)

    def busy(*, synced: bool) -> NoReturn:
        message = f"busy {synced}"
        raise StorageBusyError(message)

    for day, (_, decision) in enumerate(TRIED[:5]):
        exploring.note(store_id, decision, NOW + day * DAY_MS)
    with monkeypatch.context() as broken:
        broken.setattr(sqlite_database, "transaction", busy)
        exploring.write_behind.flush()
    waiting = exploring.write_behind.noted.depth
    exploring.write_behind.flush()

    assert (
        waiting,
        exploring.write_behind.noted.lost,
        exploring.write_behind.noted.depth,
    ) == (
        3,
        2,
        0,
    )
