"""Holdout results: the result of each test, by day."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1920"
down_revision = "2026_11_21_1910"


def upgrade() -> None:
    """Add a table that the previous release does not look at; the background fills it."""
    op.create_table(
        "experiment_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("test", sa.String(length=64), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "test", "day", name=op.f("pk_experiment_days")),
    )
