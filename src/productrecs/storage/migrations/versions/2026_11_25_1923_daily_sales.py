"""Store what each product sold on each of the last days before its forecast."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1923"
down_revision = "2026_11_25_1922"


def upgrade() -> None:
    """Add a column that the previous release does not look at; the next run fills it."""
    op.add_column("item_forecasts", sa.Column("daily", sa.Text()))
