"""Add daily sums of attributed outcomes by product."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0110"
down_revision = "2026_11_25_2220"


def upgrade() -> None:
    """Add a table that attribution fills when it recomputes its results."""
    op.create_table(
        "item_credit_days",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("carts_clicked", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("lines_clicked", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("revenue_clicked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "item", "currency", name=op.f("pk_item_credit_days")
        ),
        sqlite_with_rowid=False,
    )
