"""Search counts: searches by day and query intent."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1910"
down_revision = "2026_11_21_1900"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "search_counts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("intent", sa.String(length=256), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("searches", sa.BigInteger(), nullable=False),
        sa.Column("empty", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "intent", name=op.f("pk_search_counts")),
        sqlite_with_rowid=False,
    )
