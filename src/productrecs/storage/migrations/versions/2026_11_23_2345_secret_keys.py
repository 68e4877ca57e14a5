"""Let two secret keys overlap, and store their ends and last uses."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_2345"
down_revision = "2026_11_23_2340"


def upgrade() -> None:
    """Add columns and a table that the previous release does not look at."""
    for name, kind in (
        ("secret_end", sa.String(4)),
        ("secret_made_at", sa.BigInteger()),
        ("old_secret_hash", sa.String(64)),
        ("old_secret_end", sa.String(4)),
        ("old_secret_expires_at", sa.BigInteger()),
    ):
        op.add_column("stores", sa.Column(name, kind))
    op.create_table(
        "key_uses",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "key_id", name="pk_key_uses"),
    )
