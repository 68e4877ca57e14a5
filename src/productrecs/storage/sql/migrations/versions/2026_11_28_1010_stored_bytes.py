"""Data sizes: what each kind of data takes, by day."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_1010"
down_revision = "2026_11_28_0945"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "data_sizes",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("part", sa.String(16), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("month_rows", sa.BigInteger(), nullable=False),
        sa.Column("old_rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "part", name="pk_data_sizes"),
    )
