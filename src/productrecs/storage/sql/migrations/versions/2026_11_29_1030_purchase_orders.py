"""Purchase orders: goods that were ordered and have not arrived."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_1030"
down_revision = "2026_11_29_0821"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "purchase_order_lines",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("supplier", sa.String(100), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("expected_day", sa.String(10), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
