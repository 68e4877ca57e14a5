"""Store the events of bots apart, and how often stored events became a bot's."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_2210"
down_revision = "2026_11_25_2200"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "bot_events",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=True),
        sa.Column("shopper", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("term", sa.Text(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("currency", sa.String(8), nullable=True),
        sa.Column("quantity", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("widget", sa.Text(), nullable=True),
        sa.Column("imported", sa.Boolean(), nullable=False),
        sa.Column("bot", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "seq", name=op.f("pk_bot_events")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_bot_events_store_id_person"), "bot_events", ["store_id", "person"]
    )
    op.create_index(
        op.f("ix_bot_events_store_id_ts_bot"), "bot_events", ["store_id", "ts", "bot"]
    )
    column = sa.Column("bots", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("store_heads", column)
