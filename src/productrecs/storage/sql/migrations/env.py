"""Alembic environment: runs the migrations in the transaction that `migrate` opened."""

from alembic import context

from productrecs.storage.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata
)
context.run_migrations()
