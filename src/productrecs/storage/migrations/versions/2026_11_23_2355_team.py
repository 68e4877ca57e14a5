"""Let several people use a store's dashboard, and log what they change."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_2355"
down_revision = "2026_11_23_2345"


def upgrade() -> None:
    """Add tables and columns that the previous release does not look at."""
    op.add_column("dashboard_sessions", sa.Column("agent", sa.String(200)))
    op.add_column("dashboard_sessions", sa.Column("address", sa.String(64)))
    op.create_table(
        "dashboard_invitations",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("email", sa.String(320)),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "token_hash", name="pk_dashboard_invitations"),
    )
    op.create_table(
        "audit_log",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("entry_id", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "entry_id", name="pk_audit_log"),
    )
