"""Planning tables: suppliers, their terms, and the calendar of sales.

What the merchant knows in advance, for the demand forecast and what to order.
"""

import sqlalchemy as sa

from productrecs.storage.sql.tables.account_and_job_tables import metadata, store_id_column

# From whom products are ordered; null: as the store's settings say.
suppliers = sa.Table(
    "suppliers",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(100), primary_key=True),
    sa.Column("lead_time_days", sa.Integer),
    sa.Column("order_every_days", sa.Integer),
    sa.Column("minimum_order", sa.Double, nullable=False),  # money of one order
    sa.Column("budget", sa.Double),  # the most money of one order; null: no limit
    sqlite_with_rowid=False,
)

# The terms on which a product is ordered.
product_terms = sa.Table(
    "product_terms",
    metadata,
    store_id_column(),
    sa.Column("item", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("supplier", sa.String(100), nullable=False),  # suppliers.name
    sa.Column("pack_size", sa.Integer, nullable=False),
    sa.Column("minimum_quantity", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

# Goods that the merchant has ordered and that have not arrived.
purchase_order_lines = sa.Table(
    "purchase_order_lines",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("item", sa.BigInteger, nullable=False),  # items.number
    sa.Column("supplier", sa.String(100), nullable=False),  # "": unknown
    sa.Column("quantity", sa.Integer, nullable=False),
    sa.Column("expected_day", sa.String(10), nullable=False),  # 2026-03-01
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Campaigns and closed days that the merchant entered, for the demand forecast.
calendar_entries = sa.Table(
    "calendar_entries",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),  # campaign closure
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("first_day", sa.String(10), nullable=False),  # 2026-03-01
    sa.Column("last_day", sa.String(10), nullable=False),
    sa.Column("category", sa.Text, nullable=False),  # "": all products
    sa.Column("expected_change", sa.Double),  # in per cent; null: as past campaigns
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("price_change", sa.Double),  # in per cent; null: prices as usual
)
