"""Weekly report: which users get one by mail, and when they got the last."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0230"
down_revision = "2026_11_29_0140"


def upgrade() -> None:
    """Add columns that the previous release does not look at."""
    op.add_column("dashboard_users", sa.Column("weekly_mails", sa.Boolean()))
    op.add_column("dashboard_users", sa.Column("weekly_mailed_at", sa.BigInteger()))
