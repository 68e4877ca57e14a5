"""Billing: the end of a store's plan, its suspension, and its usage by month."""

import time

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1830"
down_revision = "2026_11_21_1800"

_TRIAL_MS = 14 * 24 * 60 * 60 * 1000


def upgrade() -> None:
    """Add columns and a table that the previous release does not look at.

    A trial that was begun before plans were enforced begins now: nobody was told that it
    would end.
    """
    op.add_column("stores", sa.Column("plan_ends_at", sa.BigInteger(), nullable=True))
    op.add_column("stores", sa.Column("suspended_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "metered_calls",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("month", sa.String(length=7), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "month", name=op.f("pk_metered_calls")),
        sa.ForeignKeyConstraint(
            ["store_id"],
            ["stores.store_id"],
            name=op.f("fk_metered_calls_store_id"),
            ondelete="CASCADE",
        ),
    )
    ends_at = time.time_ns() // 1_000_000 + _TRIAL_MS
    stores = sa.table("stores", sa.column("plan"), sa.column("plan_ends_at"))
    begun = stores.update().where(stores.c.plan == "trial").values(plan_ends_at=ends_at)
    op.execute(begun)
