"""Can the tables be spread over machines by store?"""

from __future__ import annotations

import sqlalchemy as sa

from productrecs.storage.tables import metadata

WHOLE_INSTALLATION = {
    "counters": "a few rows that every process polls: which views are behind",
}


def not_by_store(tables: sa.MetaData) -> set[str]:
    return {
        table.name
        for table in tables.sorted_tables
        if next((column.name for column in table.primary_key), None) != "store_id"
    }


def test_every_primary_key_begins_with_the_store() -> None:
    assert not_by_store(metadata) == WHOLE_INSTALLATION.keys()


def test_a_key_that_does_not_begin_with_the_store_is_caught() -> None:
    tables = sa.MetaData()
    for name, key in {"good": ["store_id", "n"], "turned": ["n", "store_id"]}.items():
        sa.Table(name, tables, *[sa.Column(one, sa.Text, primary_key=True) for one in key])
    sa.Table("keyless", tables, sa.Column("store_id", sa.Text))

    assert not_by_store(tables) == {"turned", "keyless"}
