"""Table of pictures: descriptors of the items' pictures; pixels are not stored."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row an item with an address. `due_at` is null only while nothing is to be fetched;
# `seq` is that of `store_heads.picture_seq` at which the descriptor last changed.
pictures = sa.Table(
    "pictures",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # pending indexed failed
    sa.Column("reason", sa.Text),  # of failed, and of pending that failed before
    sa.Column("attempts", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("etag", sa.String(200)),
    sa.Column("modified", sa.String(200)),
    sa.Column("fetched_at", sa.BigInteger),
    sa.Column("embedder", sa.String(80)),  # that made the descriptor
    sa.Column("descriptor", sa.LargeBinary),  # packed; stays until a newer one is made
    sa.Column("seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("digest", sa.BigInteger),  # of the file; null where an older release saw it
    sa.Index(None, "due_at"),
    sa.Index(None, "store_id", "state"),
)
