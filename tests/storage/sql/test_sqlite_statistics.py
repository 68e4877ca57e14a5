"""SQLite query plans: one order and one shopper are found without a full scan."""

import pytest

from productrecs.storage.sql.database import Database

QUESTIONS = {
    "the lines of an order": (
        "SELECT * FROM purchase_lines WHERE store_id = ? AND order_id IN (?)",
        "order_id=?",
    ),
    "the lines of many orders": (
        "SELECT * FROM purchase_lines WHERE store_id = ? AND order_id IN (?, ?, ?, ?, ?)",
        "order_id=?",
    ),
    "what a shopper did since": (
        "SELECT * FROM events WHERE store_id = ? AND person = ? AND seq > ?",
        "person=? AND seq>?",
    ),
    "what a shopper bought since": (
        "SELECT * FROM purchase_lines WHERE store_id = ? AND person = ? AND seq > ?",
        "person=? AND seq>?",
    ),
    "giving a session's events to a customer": (
        "UPDATE events SET person = ? WHERE store_id = ? AND person = ?",
        "person=?",
    ),
    "the sessions of a customer": (
        "UPDATE shopper_links SET customer = ? WHERE store_id = ? AND customer = ?",
        "customer=?",
    ),
    "what changed in the catalog": (
        "SELECT * FROM items WHERE store_id = ? AND change_seq > ?",
        "change_seq>?",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_sqlite_uses_the_index_of_each_query(
    question: str, sqlite_database: Database
) -> None:
    sql, index_use = QUESTIONS[question]

    plan = plan_of(sqlite_database, sql)

    assert index_use in plan


def test_without_statistics_sqlite_would_read_the_whole_store(
    sqlite_database: Database,
) -> None:
    with sqlite_database.transaction() as transaction:
        transaction.exec_driver_sql("DELETE FROM sqlite_stat1")
        transaction.exec_driver_sql("ANALYZE sqlite_schema")

    sql, index_use = QUESTIONS["the lines of many orders"]

    assert index_use not in plan_of(sqlite_database, sql)


def plan_of(database: Database, sql: str) -> str:
    with database.reading() as connection:
        nothing = (None,) * sql.count("?")
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", nothing)
        return " ".join(str(row[3]) for row in rows)
