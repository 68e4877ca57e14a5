"""Webhook events left out: the events that an address does not get."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0310"
down_revision = "2026_11_29_0235"


def upgrade() -> None:
    """Add a column that the previous release does not write."""
    op.add_column("webhook_endpoints", sa.Column("left_out", sa.Text()))
