"""Idempotency keys: replies to calls with an Idempotency-Key, for a day."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0608"
down_revision = "2026_11_22_0546"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "named_calls",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "what", "name", name=op.f("pk_named_calls")),
    )
