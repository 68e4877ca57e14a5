"""Job totals: the number of jobs of each kind that succeeded, were retried or failed."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1730"
down_revision = "2026_11_21_1700"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "job_totals",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("retried", sa.BigInteger(), nullable=False),
        sa.Column("dead", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.BigInteger(), nullable=False),
        sa.Column("done_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("store_id", "kind", name=op.f("pk_job_totals")),
    )
