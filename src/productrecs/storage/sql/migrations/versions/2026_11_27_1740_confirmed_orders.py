"""Confirmed orders: which key sent a purchase, and when it was last changed."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_1740"
down_revision = "2026_11_26_0450"


def upgrade() -> None:
    """Add two columns that the previous release does not look at."""
    op.add_column("purchase_lines", sa.Column("updated_at", sa.BigInteger()))
    op.add_column(
        "purchase_lines",
        sa.Column("unconfirmed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
