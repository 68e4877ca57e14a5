"""Store repository: the base of those that read or change the rows of one store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from productrecs.storage.sql.dialects import RawConnection, put_row, raw_connection

if TYPE_CHECKING:
    from collections.abc import Collection

    from productrecs.core.ids import StoreId


class StoreScopedRepository:
    """The SQL of one subject, for one store, inside one transaction."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Access `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    @property
    def _raw(self) -> RawConnection:
        """The driver's connection, for SQL that is text."""
        return raw_connection(self._connection)

    def _put_row(
        self,
        table: sa.Table,
        *,
        summed_columns: Collection[str] = (),
        kept_columns: Collection[str] = (),
        **values: Any,
    ) -> None:
        """Store a row of the store, as `put_row` does."""
        put_row(
            self._connection,
            table,
            summed_columns=summed_columns,
            kept_columns=kept_columns,
            store_id=self._store_id,
            **values,
        )

    def _own_rows(self, table: sa.Table, **equal: Any) -> sa.ColumnElement[bool]:
        """Return the condition of the store's rows of a table that have these values."""
        values = {"store_id": self._store_id, **equal}
        return sa.and_(*(table.c[name] == value for name, value in values.items()))

    def _insert_row(self, table: sa.Table, **values: Any) -> None:
        """Store a new row of the store."""
        self._connection.execute(table.insert().values(store_id=self._store_id, **values))

    def _update_rows(
        self, table: sa.Table, *conditions: sa.ColumnElement[bool], **values: Any
    ) -> int:
        """Change the store's rows that meet the conditions; return how many."""
        query = table.update().where(self._own_rows(table), *conditions)
        return self._connection.execute(query.values(**values)).rowcount

    def _delete_rows(
        self, table: sa.Table, *conditions: sa.ColumnElement[bool], **equal: Any
    ) -> int:
        """Delete the store's rows that meet the conditions; return how many."""
        query = table.delete().where(self._own_rows(table, **equal), *conditions)
        return self._connection.execute(query).rowcount
