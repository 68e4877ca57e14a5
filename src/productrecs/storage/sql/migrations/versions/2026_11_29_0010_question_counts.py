"""Question counts: how often search asked for an attribute, and was answered."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0010"
down_revision = "2026_11_28_2345"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "question_counts",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("attribute", sa.Text(), primary_key=True),
        sa.Column("offered", sa.BigInteger(), nullable=False),
        sa.Column("answered", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
