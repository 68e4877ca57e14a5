"""Table of items: every product id that a store ever sent, with its catalog fields."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# `number` is dense per store and never changes; events, models and views speak in numbers.
# `present` says whether the id is in the catalog; an event may name it long before.
items = sa.Table(
    "items",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),
    sa.Column("present", sa.Boolean, nullable=False),
    sa.Column("change_seq", sa.BigInteger, nullable=False),
    sa.Column("sku", sa.Text),
    sa.Column("title", sa.Text, nullable=False, server_default=""),
    sa.Column("product_url", sa.Text),
    sa.Column("image_url", sa.Text),
    sa.Column("price", sa.Double),
    sa.Column("availability", sa.String(16)),  # as given; null when absent
    sa.Column("stock_qty", sa.BigInteger),
    sa.Column("cost", sa.Double),
    sa.Column("categories", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("category_ids", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("description", sa.Text),
    sa.Column("available_from", sa.String(40)),
    sa.Column("available_until", sa.String(40)),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("store_id", "item_id"),
    sa.Index(None, "store_id", "change_seq"),
)
