"""Settled days: sums by day that stay when the day's events are purged."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0515"
down_revision = "2026_11_28_0425"

_LOOKS = (
    "UPDATE outcomes SET look = COALESCE((SELECT term FROM events "
    "WHERE events.store_id = outcomes.store_id AND events.seq = outcomes.touch), '') "
    "WHERE widget = 'look'"
)


def upgrade() -> None:
    """Add columns that the previous release does not look at."""
    for name, kind, default in (
        ("settled_before", sa.BigInteger(), "0"),
        ("settled_day", sa.String(10), ""),
    ):
        op.add_column(
            "attribution_marks",
            sa.Column(name, kind, nullable=False, server_default=default),
        )
    op.add_column(
        "outcomes", sa.Column("look", sa.Text(), nullable=False, server_default="")
    )
    op.execute(_LOOKS)
