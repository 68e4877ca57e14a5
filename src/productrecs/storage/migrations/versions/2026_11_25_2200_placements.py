"""Placements: a merchant's named places for lists."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_2200"
down_revision = "2026_11_25_1930"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.add_column(
        "store_heads",
        sa.Column("placements_seq", sa.BigInteger(), server_default="0", nullable=False),
    )
    op.create_table(
        "placements",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_placements")),
    )
