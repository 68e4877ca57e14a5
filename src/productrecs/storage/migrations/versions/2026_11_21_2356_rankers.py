"""Ranker table: the learned order of lists, with its backtest."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_2356"
down_revision = "2026_11_21_2355"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "rankers",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("trained_at", sa.BigInteger(), nullable=False),
        sa.Column("serves", sa.Boolean(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("trees", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_rankers")),
    )
