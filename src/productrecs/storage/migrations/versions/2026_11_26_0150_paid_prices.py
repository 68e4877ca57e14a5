"""Paid prices: the mean price that was paid for each forecast product."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0150"
down_revision = "2026_11_26_0140"


def upgrade() -> None:
    """Add a column; while it is empty, today's price counts."""
    op.add_column("item_forecasts", sa.Column("paid", sa.Double()))
