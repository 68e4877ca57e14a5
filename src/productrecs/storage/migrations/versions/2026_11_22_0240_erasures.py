"""Erasure table: the shoppers that a store asked to erase."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0240"
down_revision = "2026_11_22_0233"


def upgrade() -> None:
    """Add two tables and a column that the previous release does not look at."""
    op.create_table(
        "erasures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("erasure_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("names", sa.Text(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("cleared_seq", sa.BigInteger(), nullable=True),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "erasure_id", name=op.f("pk_erasures")),
    )
    op.create_table(
        "erased_names",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("erased_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_erased_names")),
        sqlite_with_rowid=False,
    )
    column = sa.Column("erasures", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("store_heads", column)
