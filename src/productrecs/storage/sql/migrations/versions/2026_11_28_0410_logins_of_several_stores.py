"""Logins of several stores: which users are one person, and whose e-mail is confirmed."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0410"
down_revision = "2026_11_28_0408"


def upgrade() -> None:
    """Add columns that the previous release leaves empty: a login of one store."""
    op.add_column("dashboard_users", sa.Column("login_id", sa.String(32)))
    op.add_column("dashboard_users", sa.Column("confirmed_at", sa.BigInteger()))
    op.add_column("dashboard_users", sa.Column("entered_at", sa.BigInteger()))
    op.create_index("ix_dashboard_users_login_id", "dashboard_users", ["login_id"])
    for table in ("dashboard_resets", "dashboard_invitations"):
        op.add_column(table, sa.Column("mailed", sa.Boolean()))
