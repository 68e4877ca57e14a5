"""Schema upgrade: brings the database to the current schema at start, under a lock."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from productrecs.core.errors import OutdatedSchemaError, UnsafeStorageError
from productrecs.storage.sql.database import Database

_LENGTH: Final = len("2026_11_26_0450")
# A migration's file begins with its revision, so the newest is known without alembic, whose
# import takes longer than all else that a process does before it can use its database.
KNOWN: Final = tuple(
    sorted(file.name[:_LENGTH] for file in Path(__file__).parent.glob("versions/2*.py"))
)
_BASELINE_DAY: Final = "27 November 2026"  # the last one before the baseline was made


def migrate(database: Database) -> bool:
    """Bring `database` to this program's schema; return whether anything was done.

    One process migrates, others wait for it; a kill in between leaves either the old
    schema or the new one.

    Raises:
        UnsafeStorageError: when the database belongs to a newer program, or to one from
            before the baseline.
    """
    with database.reading() as connection:
        if _known_revision(connection) == KNOWN[-1]:
            return False
    with database.transaction() as transaction:
        database.dialect.lock_migrations(transaction)
        if _known_revision(transaction) == KNOWN[-1]:
            return False
        _upgrade(transaction)
        database.dialect.update_planner_statistics(transaction)
    return True


def is_current(database: Database) -> bool:
    """Return whether `database` has this program's schema; nothing is changed.

    Raises:
        UnsafeStorageError: when the database belongs to a newer program.
    """
    with database.reading() as connection:
        return _known_revision(connection) == KNOWN[-1]


def has_schema(database: Database) -> bool:
    """Return whether `database` has been migrated to any schema of this program.

    Raises:
        UnsafeStorageError: when the database belongs to a newer program.
    """
    with database.reading() as connection:
        return _known_revision(connection) is not None


def check_schema_is_current(database: Database) -> None:
    """Refuse a database that has another schema than this program's; change nothing.

    Raises:
        OutdatedSchemaError: when it is behind, or empty.
        UnsafeStorageError: when it belongs to a newer program.
    """
    with database.reading() as connection:
        found = _known_revision(connection)
    if found == KNOWN[-1]:
        return
    if found is None:
        message = (
            "the database is empty: start the service, or create the first store with "
            "productrecs store create --domain DOMAIN"
        )
        raise OutdatedSchemaError(message)
    message = (
        f"the database has the schema {found} of an earlier release, and this program "
        f"needs {KNOWN[-1]}: run `productrecs migrate` after a backup"
    )
    raise OutdatedSchemaError(message)


def is_known(revision: str) -> bool:
    """Return whether this program can migrate a database of the schema `revision`."""
    return revision in KNOWN


def _known_revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    if found is not None and found not in KNOWN:
        raise UnsafeStorageError(
            _too_new_message(found) if found > KNOWN[0] else _too_old_message(found)
        )
    return found


def _too_new_message(schema: str) -> str:
    return (
        f"this database was written by a newer ProductRecs (schema {schema}). Start the "
        "newer program, or restore a backup that was made before the upgrade"
    )


def _too_old_message(schema: str) -> str:
    return (
        f"this database was written by a ProductRecs from before {_BASELINE_DAY} (schema "
        f"{schema}), which this program cannot migrate. Migrate it with a version of that "
        "day first"
    )


def _upgrade(transaction: sa.Connection) -> None:
    from alembic import command  # noqa: PLC0415 - see `KNOWN`
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "productrecs.storage.sql:migrations")
    config.attributes["connection"] = transaction
    command.upgrade(config, "head")
