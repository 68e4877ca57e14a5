"""Let a user be told by e-mail what to order, each product once."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1924"
down_revision = "2026_11_25_1923"


def upgrade() -> None:
    """Add columns that the previous release does not look at."""
    op.add_column("dashboard_users", sa.Column("stock_mails", sa.Boolean()))
    op.add_column("forecast_runs", sa.Column("alerted", sa.Text()))
