"""Where it is kept which shopper stood in which arm of a holdout test, and since when."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row for each name that a shopper was met by. `unit` is the first of their names: what
# is drawn, and what results are counted by.
exposures = sa.Table(
    "exposures",
    metadata,
    store_id_column(),
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("test", sa.String(64), primary_key=True),
    sa.Column("arm", sa.String(8), primary_key=True),  # shown, held_out
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "test", "first_at"),
    sqlite_with_rowid=False,
)
