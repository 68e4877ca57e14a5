"""Webhooks: the merchant's addresses, their messages, and which facts are messages."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_2345"
down_revision = "2026_11_28_2340"


def upgrade() -> None:
    """Add tables that the previous release does not look at."""
    op.create_table(
        "webhook_endpoints",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("endpoint_id", sa.String(24), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_number", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "webhook_messages",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("endpoint_id", sa.String(24), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("tried_at", sa.BigInteger()),
        sa.Column("reply", sa.Text()),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_webhook_messages_pending",
        "webhook_messages",
        ["next_at"],
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "webhook_positions",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("source", sa.String(40), primary_key=True),
        sa.Column("position", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
