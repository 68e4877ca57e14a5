"""Planned prices: a product's price on days ahead, told in advance."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_2340"
down_revision = "2026_11_29_2050"


def upgrade() -> None:
    """Add columns that the previous release does not write."""
    op.add_column("items", sa.Column("planned_price", sa.Double()))
    op.add_column("items", sa.Column("planned_price_from", sa.String(40)))
    op.add_column("items", sa.Column("planned_price_until", sa.String(40)))
