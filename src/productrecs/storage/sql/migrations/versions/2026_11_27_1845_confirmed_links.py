"""Confirmed links: which customer ids the shop's server linked itself."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_1845"
down_revision = "2026_11_27_1830"


def upgrade() -> None:
    """Add a column that the previous release leaves at its default."""
    op.add_column(
        "shopper_links",
        sa.Column("confirmed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
