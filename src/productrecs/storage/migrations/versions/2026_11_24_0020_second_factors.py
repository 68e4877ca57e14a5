"""Let users of the dashboard log in with a second factor."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_24_0020"
down_revision = "2026_11_23_2355"


def upgrade() -> None:
    """Add tables that the previous release does not look at."""
    op.create_table(
        "dashboard_second_factors",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("enabled_at", sa.BigInteger()),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "user_id", name="pk_dashboard_second_factors"),
    )
    op.create_table(
        "dashboard_challenges",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "token_hash", name="pk_dashboard_challenges"),
    )
