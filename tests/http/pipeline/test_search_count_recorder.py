"""Search count recorder: questions that shoppers saw and answered, in the database."""

import asyncio

from productrecs.core.ids import StoreId
from productrecs.http.pipeline.search_count_recorder import (
    IS_BOT,
    SearchCountRecorder,
    searcher_of_scope,
)
from productrecs.records.search_counts.repository import QuestionCount, read_question_counts
from productrecs.serving.writes.background_writes import BackgroundWriter
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import raw_connection
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from tests.support.stores import new_store

NOON = 1_772_366_400_000  # 2026-03-01T12:00Z
DAY = "2026-03-01"


def stored(database: Database, store_id: StoreId) -> list[QuestionCount]:
    with database.reading() as connection:
        return read_question_counts(raw_connection(connection), store_id, (DAY, DAY))


def test_questions_are_stored_for_their_store_and_its_day(database: Database) -> None:
    one, other = (
        new_store(database, domain).store_id for domain in ("shop.example", "other.example")
    )
    background = BackgroundWriter(database)
    recorder = SearchCountRecorder(background, AccountDirectory(database), lambda: NOON)
    for n in range(5):
        recorder.count_question_unless_bot(one, "shoe", f"s_{n}", "color", ())
        recorder.count_question_unless_bot(one, "shoe", f"s_{n}", "size", {"color"})
        recorder.count_question_unless_bot(other, "shoe", f"s_{n}", "brand", {"color"})
    recorder.count_question_unless_bot(one, "shoe", "s_0", "", {"color", "size"})
    bot = searcher_of_scope({IS_BOT: True, "headers": []}, {"user_id": "s_9"})
    recorder.count_question_unless_bot(one, "shoe", bot, "color", ())
    recorder.count_question_unless_bot(one, "shoe", bot, "", {"color"})

    asyncio.run(background.close())

    assert stored(database, one) == [
        QuestionCount("color", 5, 5),
        QuestionCount("size", 1, 1),
    ]
    assert stored(database, other) == []
