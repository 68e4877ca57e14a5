"""Table of idempotency keys: calls that were carried out, and their replies."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# For a day: a retry gets the first call's answer.
named_calls = sa.Table(
    "named_calls",
    metadata,
    store_id_column(),
    sa.Column("what", sa.String(16), primary_key=True),  # items, uploads
    sa.Column("name", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),  # of the body
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("stored_at", sa.BigInteger, nullable=False),
)
