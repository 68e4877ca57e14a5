"""Tables of billing: metered calls of each store and month."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# The one foreign key: a process that counts holds nothing of the store, so that a count
# could come in just when the store is deleted, and stay.
metered_calls = sa.Table(
    "metered_calls",
    metadata,
    store_id_column(),
    sa.Column("month", sa.String(7), primary_key=True),  # of UTC, such as 2026-11
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.ForeignKeyConstraint(["store_id"], ["stores.store_id"], ondelete="CASCADE"),
)
