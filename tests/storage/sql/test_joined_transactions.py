"""Joined writes: they are committed with the next transaction, once, or not at all."""

import pytest
import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import counters


def note(name: str) -> sa.Insert:
    return counters.insert().values(name=name, value=1)


def add_line(transaction: sa.Connection) -> None:
    transaction.execute(note("line"))


def add_twice(database: Database) -> None:
    """Break the change off: its name is taken."""
    with database.transaction() as transaction:
        transaction.execute(note("change"))
        transaction.execute(note("change"))


def noted(database: Database) -> set[str]:
    with database.reading() as connection:
        names = connection.execute(sa.select(counters.c.name)).scalars()
        return set(names) & {"change", "line", "later"}


def test_a_joined_write_is_stored_once_with_the_next_transaction(
    database: Database,
) -> None:
    chained = database.with_extra_write(add_line)
    waited = chained.has_extra_write
    with chained.transaction() as transaction:
        transaction.execute(note("change"))
    with chained.transaction() as transaction:
        transaction.execute(note("later"))

    assert (waited, chained.has_extra_write) == (True, False)
    assert noted(database) == {"change", "line", "later"}


def test_neither_is_stored_when_one_of_both_fails(database: Database) -> None:
    def fail(_transaction: sa.Connection) -> None:
        raise KeyError

    with (
        pytest.raises(KeyError),
        database.with_extra_write(fail).transaction() as transaction,
    ):
        transaction.execute(note("change"))
    chained = database.with_extra_write(add_line)
    with pytest.raises(sa.exc.IntegrityError):
        add_twice(chained)

    assert noted(database) == set()
    assert chained.has_extra_write


def test_several_joined_writes_run_in_their_order(database: Database) -> None:
    order: list[str] = []

    chained = database.with_extra_write(lambda _: order.append("first")).with_extra_write(
        lambda _: order.append("second")
    )
    with chained.transaction() as transaction:
        transaction.execute(note("change"))

    assert order == ["first", "second"]
    assert noted(database) == {"change"}
