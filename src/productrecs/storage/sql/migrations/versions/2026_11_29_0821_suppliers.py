"""Suppliers: from whom products are ordered, in which packs, and from which amount on."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0821"
down_revision = "2026_11_29_0820"


def upgrade() -> None:
    """Add tables that the previous release does not look at."""
    op.create_table(
        "suppliers",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("lead_time_days", sa.Integer()),
        sa.Column("order_every_days", sa.Integer()),
        sa.Column("minimum_order", sa.Double(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "product_terms",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("item", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("supplier", sa.String(100), nullable=False),
        sa.Column("pack_size", sa.Integer(), nullable=False),
        sa.Column("minimum_quantity", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
