"""Store repository: the base of those that read or change the rows of one store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.storage.sql.dialects import RawSql, raw_connection

if TYPE_CHECKING:
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
