"""Table of key misuse: foreign origins and leaked secret keys seen in calls."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# Pages outside the allowlist, and secret keys in public places.
sightings = sa.Table(
    "sightings",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("value", sa.String(255), primary_key=True),  # an origin; empty: unknown
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),  # to about an hour
    sqlite_with_rowid=False,
)
