"""Assistant calls: how often shopping assistants called each operation of the catalog."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_2330"
down_revision = "2026_11_28_2245"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "assistant_calls",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("agent", sa.String(100), primary_key=True),
        sa.Column("operation", sa.String(24), primary_key=True),
        sa.Column("day", sa.Integer(), primary_key=True),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
