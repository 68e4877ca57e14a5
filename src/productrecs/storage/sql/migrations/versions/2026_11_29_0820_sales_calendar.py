"""Sales calendar: campaigns and closed days that the merchant entered."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0820"
down_revision = "2026_11_29_0730"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "calendar_entries",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("first_day", sa.String(10), nullable=False),
        sa.Column("last_day", sa.String(10), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("expected_change", sa.Double()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
