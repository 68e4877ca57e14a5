"""Store which sessions began with a link of a store's plugin."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_2220"
down_revision = "2026_11_25_2210"


def upgrade() -> None:
    """Add two columns that the previous release does not look at."""
    op.add_column("dashboard_sessions", sa.Column("from_shop", sa.Boolean))
    op.add_column("dashboard_challenges", sa.Column("from_shop", sa.Boolean))
