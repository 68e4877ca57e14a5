"""Excess: events and purchases beyond their network's share of a day."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_1815"
down_revision = "2026_11_27_1755"


def upgrade() -> None:
    """Add a column to both logs; the previous release takes everything as usual."""
    for table in ("events", "purchase_lines"):
        op.add_column(
            table,
            sa.Column("excess", sa.Boolean(), nullable=False, server_default=sa.false()),
        )
