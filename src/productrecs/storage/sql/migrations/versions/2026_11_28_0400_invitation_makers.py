"""Invitation makers: an invitation ends when its maker may invite no more."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0400"
down_revision = "2026_11_27_1845"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    op.add_column("dashboard_invitations", sa.Column("maker", sa.String(32)))
