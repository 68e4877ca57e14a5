"""Where looks are kept: a picture's address, and which products are where in it."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# `store_heads.looks_seq` grows with every change: views poll it, and ids come from it.
looks = sa.Table(
    "looks",
    metadata,
    store_id_column(),
    sa.Column("look_id", sa.BigInteger, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),  # whose page it stands on
    sa.Column("image_url", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("hotspots", sa.Text, nullable=False),  # JSON: label, x, y, w, h, item id
    sa.Column("state", sa.String(16), nullable=False),  # draft published archived
    sa.Column("published_at", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "state"),
)
