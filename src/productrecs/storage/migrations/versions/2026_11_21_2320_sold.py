"""Recent sales of each item, beside its forecast."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_2320"
down_revision = "2026_11_21_2030"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    op.add_column("item_forecasts", sa.Column("sold", sa.Text(), nullable=True))
