"""Experiments: tests of variants of a placement or of search."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0200"
down_revision = "2026_11_26_0150"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "experiments",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("started_seq", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("winner", sa.String(length=8), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_experiments")),
    )
