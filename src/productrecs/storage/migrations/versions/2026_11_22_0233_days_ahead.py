"""Packed forecasts: a compact form of which ten thousand are read at once."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0233"
down_revision = "2026_11_22_0232"


def upgrade() -> None:
    """Add a column that the previous release leaves empty; the next run fills it."""
    op.add_column("item_forecasts", sa.Column("ahead", sa.LargeBinary(), nullable=True))
