"""Campaign prices: by how much a campaign changes the prices of its products."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_1100"
down_revision = "2026_11_29_1030"


def upgrade() -> None:
    """Add a column that the previous release does not write."""
    op.add_column("calendar_entries", sa.Column("price_change", sa.Double()))
