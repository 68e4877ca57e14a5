"""Scheduled feeds: addresses that products are fetched from, and the log of fetches."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_2340"
down_revision = "2026_11_28_2330"


def upgrade() -> None:
    """Add tables and a column that the previous release does not look at."""
    op.create_table(
        "scheduled_feeds",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("header", sa.Text(), nullable=False),
        sa.Column("every_minutes", sa.Integer(), nullable=False),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("choices", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("modified", sa.Text()),
        sa.Column("digest", sa.String(64)),
        sa.Column("import_id", sa.String(32)),
        sa.Column("failures", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_scheduled_feeds_next_at", "scheduled_feeds", ["next_at"])
    op.create_table(
        "scheduled_feed_fetches",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("import_id", sa.String(32)),
        sqlite_with_rowid=False,
    )
    op.add_column("dashboard_users", sa.Column("feed_mails", sa.Boolean()))
