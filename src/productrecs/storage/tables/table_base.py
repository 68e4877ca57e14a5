"""Table base: shared metadata, constraint names, and the `store_id` column."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def store_id_column() -> sa.Column[str]:
    """Return the first column of every table: whose row it is, and first in its key."""
    return sa.Column("store_id", sa.String(32), primary_key=True)
