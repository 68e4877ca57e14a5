"""Bundles: sets of products that a merchant offers together, or has rejected."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0130"
down_revision = "2026_11_26_0110"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "bundles",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("bundle_id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "bundle_id", name=op.f("pk_bundles")),
    )
