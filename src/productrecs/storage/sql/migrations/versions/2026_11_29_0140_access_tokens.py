"""Access tokens: what an assistant of the merchant sends."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0140"
down_revision = "2026_11_29_0010"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "access_tokens",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("token_id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("confirmation_key", sa.String(64), nullable=False),
        sa.Column("creator", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sqlite_with_rowid=False,
    )
