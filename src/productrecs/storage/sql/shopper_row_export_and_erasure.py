"""Shopper rows: what exports and erasures of shoppers do to a table with their ids."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId

_CHUNK: Final = 400


class TableWithShopperIds:
    """One store's rows of a table with shopper ids, in one transaction; never commits."""

    def __init__(
        self,
        transaction: sa.Connection,
        store_id: StoreId,
        table: sa.Table,
        *,
        shopper: str = "person",
        columns: Sequence[sa.ColumnElement[Any]] = (),
    ) -> None:
        """Read and change `store_id`'s rows only.

        `shopper` is the column with a row's shopper, `columns` what `rows_of` returns: all.
        """
        self._transaction = transaction
        self._store_id = store_id
        self._table = table
        self._shopper = table.c[shopper]
        self._columns = columns or tuple(table.c)
        self._key = list(table.primary_key.columns)[-1]

    def rows_of(self, shopper_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a shopper with these ids, in the table's order."""
        for some in chunks(shopper_ids):
            query = (
                sa.select(*self._columns)
                .where(self._table.c.store_id == self._store_id, self._shopper.in_(some))
                .order_by(*self._table.primary_key.columns)
                .execution_options(stream_results=True)
            )
            for row in self._transaction.execute(query):
                yield row._asdict()

    def distinct_names(self, column: str) -> Iterator[str]:
        """Yield the distinct names in a column of all rows."""
        name = self._table.c[column]
        query = (
            sa.select(name)
            .where(self._table.c.store_id == self._store_id, name.is_not(None))
            .distinct()
            .execution_options(stream_results=True)
        )
        yield from self._transaction.execute(query).scalars()

    def keys_of_sessions(self, sessions: Sequence[str]) -> list[int]:
        """Return the keys of the rows from these sessions, whoever's they are.

        Reads all of the store's rows: there is no index of sessions.
        """
        return [
            int(found)
            for some in chunks(sessions)
            for found in self._transaction.execute(
                sa.select(self._key).where(
                    self._table.c.store_id == self._store_id,
                    self._table.c.session.in_(some),
                )
            ).scalars()
        ]

    def clear_sessions(self, keys: Sequence[int]) -> None:
        """Clear the session of these rows."""
        for some in chunks(keys):
            changed = self._table.update().where(
                self._table.c.store_id == self._store_id, self._key.in_(some)
            )
            self._transaction.execute(changed.values(session=None))


def chunks(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield parts of `values` that fit into one statement."""
    remaining = iter(values)
    while some := list(itertools.islice(remaining, _CHUNK)):
        yield some
