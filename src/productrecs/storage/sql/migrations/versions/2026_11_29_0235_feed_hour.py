"""Feed hour: when a daily feed is fetched."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0235"
down_revision = "2026_11_29_0230"


def upgrade() -> None:
    """Add a column that the previous release does not write."""
    op.add_column("scheduled_feeds", sa.Column("hour", sa.Integer()))
