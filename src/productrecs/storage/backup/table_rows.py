"""Table rows: reads, counts and deletes the rows of every table in the schema."""

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from productrecs.storage.tables import metadata

Row = tuple[object, ...]

_AT_ONCE: Final = 5_000


def read_tables(source: sa.Connection) -> Iterator[tuple[sa.Table, Iterator[list[Row]]]]:
    """Yield each table of the schema with its rows, some thousand at a time, by key."""
    for table in metadata.sorted_tables:
        yield table, _read(source, table)


def count_rows(connection: sa.Connection) -> dict[str, int]:
    """Return how many rows each table of the schema has."""
    return {
        table.name: int(
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        )
        for table in metadata.sorted_tables
    }


def delete_rows(transaction: sa.Connection) -> None:
    """Empty every table of the schema."""
    for table in reversed(metadata.sorted_tables):
        transaction.execute(table.delete())


def _read(source: sa.Connection, table: sa.Table) -> Iterator[list[Row]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    result = source.execution_options(stream_results=True).execute(query)
    for page in result.partitions(table.info.get("rows_at_once", _AT_ONCE)):
        yield [tuple(row) for row in page]
