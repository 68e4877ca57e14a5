"""Show merchants their events as they come."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_24_0025"
down_revision = "2026_11_24_0020"


def upgrade() -> None:
    """Add the tables of the live view."""
    op.create_table(
        "event_watches",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name="pk_event_watches"),
    )
    op.create_table(
        "live_events",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("entry_id", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("session", sa.String(128), nullable=False),
        sa.Column("item", sa.String(128), nullable=False),
        sa.Column("client", sa.String(16), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "entry_id", name="pk_live_events"),
    )
