"""Tables of looks: a picture's address, and the positions of products in it."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# `store_heads.looks_seq` grows with every change: views poll it, and ids come from it.
looks = sa.Table(
    "looks",
    metadata,
    store_id_column(),
    sa.Column("look_id", sa.BigInteger, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),  # on whose page it is shown
    sa.Column("image_url", sa.Text, nullable=False),  # empty where the picture is ours
    sa.Column("picture_id", sa.String(32)),  # of `look_pictures`
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("hotspots", sa.Text, nullable=False),  # JSON: label, x, y, w, h, item id
    sa.Column("state", sa.String(16), nullable=False),  # draft published archived
    sa.Column("published_at", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "state"),
)

# The uploaded pictures of looks, re-encoded. Large rows: read few at a time.
look_pictures = sa.Table(
    "look_pictures",
    metadata,
    store_id_column(),
    sa.Column("picture_id", sa.String(32), primary_key=True),  # of the content
    sa.Column("content", sa.LargeBinary, nullable=False),  # a JPEG
    sa.Column("width", sa.BigInteger, nullable=False),
    sa.Column("height", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    info={"rows_at_once": 20},
)
