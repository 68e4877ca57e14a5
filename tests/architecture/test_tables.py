"""Tables: each key begins with the store, and the migrations create exactly them.

docs/sharding.md says which tables a sharded database keeps whole; the rest can be sharded.
"""

import re

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import KNOWN
from productrecs.storage.sql.tables import metadata
from tests.support.project import ROOT

WHOLE_INSTALLATION = {
    "login_attempts": "names that anybody may type, hashed: they may be of no store",
    "counters": "a few rows that every process polls: which views are behind",
    "metering_rounds": "only the previous release writes it, a row for each process",
}

NOT_SHARDED = {
    *WHOLE_INSTALLATION,
    "alembic_version",
    "stores",  # on every shard: its domains and keys are unique over all stores
    "jobs",  # a worker locks the next job, whichever store's it is
    "duties",
    "job_totals",
}


def across_shards(tables: sa.MetaData) -> list[str]:
    """Return the constraints of sharded tables that no shard can check alone."""
    sharded = [table for table in tables.sorted_tables if table.name not in NOT_SHARDED]
    unique = [
        (table.name, [column.name for column in one.columns])
        for table in sharded
        for one in (*table.constraints, *table.indexes)
        if isinstance(one, sa.UniqueConstraint)
        or (isinstance(one, sa.Index) and one.unique)
    ]
    return [
        f"{name}: {columns}" for name, columns in unique if "store_id" not in columns
    ] + [
        f"{table.name}: {key.target_fullname}"
        for table in sharded
        for key in table.foreign_keys
        if key.target_fullname != "stores.store_id"
    ]


def not_by_store(tables: sa.MetaData) -> set[str]:
    return {
        table.name
        for table in tables.sorted_tables
        if next((column.name for column in table.primary_key), None) != "store_id"
    }


def differences(database: Database, tables: sa.MetaData) -> list[object]:
    """Return what a new migration would have to change to arrive at `tables`."""
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, tables))


def test_every_primary_key_begins_with_the_store() -> None:
    assert not_by_store(metadata) == WHOLE_INSTALLATION.keys()


def test_a_key_that_does_not_begin_with_the_store_is_caught() -> None:
    tables = sa.MetaData()
    for name, key in {"good": ["store_id", "n"], "turned": ["n", "store_id"]}.items():
        sa.Table(name, tables, *[sa.Column(one, sa.Text, primary_key=True) for one in key])
    sa.Table("keyless", tables, sa.Column("store_id", sa.Text))

    assert not_by_store(tables) == {"turned", "keyless"}


def test_a_shard_checks_the_constraints_of_its_stores_alone() -> None:
    assert across_shards(metadata) == []


def test_the_guide_to_sharding_names_the_tables_that_stay_whole() -> None:
    guide = (ROOT / "docs" / "sharding.md").read_text("utf-8")
    whole = re.search(r"NOT IN \(([^)]*)\)", guide)

    assert whole is not None
    assert {*re.findall(r"'(\w+)'", whole[1])} == NOT_SHARDED
    assert NOT_SHARDED - {"alembic_version"} <= metadata.tables.keys()


def test_a_constraint_across_shards_is_caught() -> None:
    tables = sa.MetaData()
    sa.Table("stores", tables, sa.Column("store_id", sa.Text, primary_key=True))
    sa.Table(
        "visits",
        tables,
        sa.Column("store_id", sa.Text, sa.ForeignKey("stores.store_id"), primary_key=True),
        sa.Column("name", sa.Text, sa.ForeignKey("people.name"), unique=True),
    )
    sa.Table("people", tables, sa.Column("name", sa.Text, primary_key=True))

    assert len(across_shards(tables)) == 2


def test_migrations_make_exactly_the_tables(database: Database) -> None:
    assert differences(database, metadata) == []


def test_a_table_without_its_migration_is_caught(database: Database) -> None:
    tables = sa.MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        table.to_metadata(tables)
    tables.tables["stores"].append_column(sa.Column("mood", sa.Text))
    sa.Table("wishes", tables, sa.Column("store_id", sa.Text, primary_key=True))

    assert len(differences(database, tables)) == 2


def test_migrations_are_one_line_named_by_their_files() -> None:
    config = Config()
    config.set_main_option("script_location", "productrecs.storage.sql:migrations")
    script = ScriptDirectory.from_config(config)

    line = [revision.revision for revision in script.walk_revisions()][::-1]

    assert tuple(line) == KNOWN
    assert script.get_heads() == [KNOWN[-1]]
