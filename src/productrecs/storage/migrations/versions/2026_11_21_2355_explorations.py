"""Exploration table: new products that lists explored, with their probability."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_2355"
down_revision = "2026_11_21_2320"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "explorations",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("shopper", sa.Text(), nullable=False),
        sa.Column("about", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("chance", sa.Double(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "shopper", "about", "item", name=op.f("pk_explorations")
        ),
        sqlite_with_rowid=False,
    )
