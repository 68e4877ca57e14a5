"""Insight results: what background jobs compute, such as customer segments."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1930"
down_revision = "2026_11_21_1920"


def upgrade() -> None:
    """Add a table that the previous release does not look at; the background fills it."""
    op.create_table(
        "insights",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.Column("applied_seq", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_insights")),
    )
