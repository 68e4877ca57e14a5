"""Supplier budgets: the most money of an order from one supplier."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_2050"
down_revision = "2026_11_29_1400"


def upgrade() -> None:
    """Add a column that the previous release does not write."""
    op.add_column("suppliers", sa.Column("budget", sa.Double()))
