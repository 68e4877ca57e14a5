"""Feed fetches: how often each product feed was fetched, and what it held."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_1930"
down_revision = "2026_11_28_1545"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "feed_fetches",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("feed", sa.String(16), primary_key=True),
        sa.Column("day", sa.Integer(), primary_key=True),
        sa.Column("fetches", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("products", sa.BigInteger(), nullable=False),
        sa.Column("left_out", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
