"""Count failed logins for all processes; store when a replaced secret key was made."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1920"
down_revision = "2026_11_25_1910"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "login_attempts",
        sa.Column("name_hash", sa.String(64), nullable=False),
        sa.Column("full_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name_hash", name="pk_login_attempts"),
    )
    op.create_index("ix_login_attempts_full_at", "login_attempts", ["full_at"])
    op.add_column("stores", sa.Column("old_secret_made_at", sa.BigInteger()))
