"""Removed rows: what a removal deletes, kept with its audit log entry for an undo."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.storage.sql.sequence_and_item_numbers import increment_existing_counter
from productrecs.storage.sql.tables import metadata


class RowsNotRestorableError(ProductRecsError):
    """The rows cannot be stored again: something has taken their place."""


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """Rows of one table; `counter` of `store_heads` tells views to read them again."""

    table: str
    counter: str
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def read(
        cls,
        connection: sa.Connection,
        store_id: StoreId,
        table: str,
        counter: str,
        key: Mapping[str, object],
    ) -> "RemovedRows | None":
        """Return the store's rows with these values; None if there are none."""
        columns = metadata.tables[table].c
        query = sa.select(metadata.tables[table]).where(
            columns.store_id == store_id,
            *(sa.cast(columns[name], sa.Text) == str(value) for name, value in key.items()),
        )
        rows = [
            {name: value for name, value in row.items() if name != "store_id"}
            for row in connection.execute(query).mappings()
        ]
        return cls(table, counter, rows) if rows else None

    def as_json(self) -> str:
        """Return the form that the audit log stores."""
        return json.dumps(asdict(self))

    def restore(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Store the rows again.

        Raises:
            RowsNotRestorableError: when others have their keys.
        """
        table = metadata.tables[self.table]
        increment_existing_counter(transaction, store_id, self.counter)
        keys = [column.name for column in table.primary_key if column.name != "store_id"]
        for row in self.rows:
            taken = sa.select(sa.func.count()).where(
                table.c.store_id == store_id, *(table.c[name] == row[name] for name in keys)
            )
            if transaction.execute(taken).scalar():
                message = "it cannot be undone any more: another one has its name or number"
                raise RowsNotRestorableError(message)
            transaction.execute(table.insert().values(store_id=store_id, **row))


def parse_removed_rows(text: str) -> RemovedRows:
    """Return the rows that `as_json` stored."""
    return RemovedRows(**json.loads(text))
