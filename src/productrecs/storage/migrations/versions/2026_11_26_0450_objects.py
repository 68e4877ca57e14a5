"""Object storage: the serving snapshot of each search index, and leases of machines."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0450"
down_revision = "2026_11_26_0200"


def upgrade() -> None:
    """Add a column and a table that the previous release does not look at."""
    op.add_column("store_heads", sa.Column("index_id", sa.String(64)))
    op.create_table(
        "leases",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "task", name=op.f("pk_leases")),
    )
