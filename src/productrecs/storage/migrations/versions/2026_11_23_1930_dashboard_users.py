"""Let merchants log in: users of the dashboard, their sessions and reset links."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_1930"
down_revision = "2026_11_23_0740"


def upgrade() -> None:
    """Add the tables; who registered with a password owns that store."""
    op.create_table(
        "dashboard_users",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("email", sa.String(320)),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.String(255)),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "user_id", name="pk_dashboard_users"),
        sa.UniqueConstraint("store_id", "email", name="uq_dashboard_users_store_id_email"),
    )
    op.create_index("ix_dashboard_users_email", "dashboard_users", ["email"])
    _tokens("dashboard_sessions", "created_at", "seen_at")
    _tokens("dashboard_resets", "expires_at")
    op.execute(
        "INSERT INTO dashboard_users"
        " (store_id, user_id, email, role, password_hash, created_at)"
        " SELECT store_id, 'owner', lower(trim(email)), 'owner', password_hash, created_at"
        " FROM stores WHERE password_hash IS NOT NULL"
    )


def _tokens(table: str, *moments: str) -> None:
    op.create_table(
        table,
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in moments),
        sa.PrimaryKeyConstraint("store_id", "token_hash", name=f"pk_{table}"),
    )
