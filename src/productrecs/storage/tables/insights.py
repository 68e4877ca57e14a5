"""Table of insights: results that background jobs computed from a store's records."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row for each kind of result: the last one.
insights = sa.Table(
    "insights",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("computed_at", sa.BigInteger, nullable=False),
    sa.Column("applied_seq", sa.BigInteger, nullable=False),  # how far the log was read
    sa.Column("result", sa.Text, nullable=False),  # JSON
)
