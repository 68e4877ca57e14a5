"""Look tables: pictures of several products, each with its hotspot."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_2030"
down_revision = "2026_11_21_2000"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "looks",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("look_id", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("image_url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("hotspots", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "look_id", name=op.f("pk_looks")),
    )
    op.create_index(op.f("ix_looks_store_id_state"), "looks", ["store_id", "state"])
    column = sa.Column("looks_seq", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("store_heads", column)
