"""Store repository: the base of those that read or change the rows of one store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from productrecs.storage.sql.dialects import RawSql, put_row, raw_connection

if TYPE_CHECKING:
    from collections.abc import Collection

    import sqlalchemy as sa

    from productrecs.core.ids import StoreId


class StoreRepository:
    """The SQL of one subject, for one store, inside one transaction."""

    def __init__(self, connection: sa.Connection, store_id: StoreId) -> None:
        """Access `store_id`'s rows only."""
        self._connection = connection
        self._store_id = store_id

    @property
    def _raw(self) -> RawSql:
        """The driver's connection, for SQL that is text."""
        return raw_connection(self._connection)

    def _put_row(
        self,
        table: sa.Table,
        *,
        sums: Collection[str] = (),
        keeps: Collection[str] = (),
        **values: Any,
    ) -> None:
        """Store a row of the store, as `put_row` does."""
        put_row(
            self._connection,
            table,
            sums=sums,
            keeps=keeps,
            store_id=self._store_id,
            **values,
        )
