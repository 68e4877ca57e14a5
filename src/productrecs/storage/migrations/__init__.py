"""How does a database come to the present schema? Forward, under a lock, at start."""

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from productrecs.core.errors import UnsafeStorageError
from productrecs.storage.database import Database


def migrate(database: Database) -> bool:
    """Bring `database` to this program's schema; return whether anything was done.

    One process migrates, others wait for it; a kill in between leaves either the old
    schema or the new one.

    Raises:
        UnsafeStorageError: when the database belongs to a newer program.
    """
    script = ScriptDirectory.from_config(_config(None))
    with database.reading() as connection:
        if _revision(connection, script) == script.get_current_head():
            return False
    with database.transaction() as transaction:
        database.dialect.lock_migrations(transaction)
        if _revision(transaction, script) == script.get_current_head():
            return False
        command.upgrade(_config(transaction), "head")
        database.dialect.after_migration(transaction)
    return True


def _revision(connection: sa.Connection, script: ScriptDirectory) -> str | None:
    found = MigrationContext.configure(connection).get_current_revision()
    known = {revision.revision for revision in script.walk_revisions()}
    if found is not None and found not in known:
        message = (
            f"this database was written by a newer ProductRecs (schema {found}). Start the "
            "newer program, or restore a backup that was made before the upgrade"
        )
        raise UnsafeStorageError(message)
    return found


def _config(connection: sa.Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", "productrecs.storage:migrations")
    config.attributes["connection"] = connection
    return config
