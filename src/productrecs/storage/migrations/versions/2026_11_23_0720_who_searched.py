"""Searchers: who searched, and which orders followed a click."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_0720"
down_revision = "2026_11_23_0700"


def upgrade() -> None:
    """Add columns that the previous release leaves alone; until now calls named nobody."""
    unnamed = sa.Column("unnamed", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("search_counts", unnamed)
    shoppers = sa.Column("shoppers", sa.LargeBinary(), server_default="", nullable=False)
    op.add_column("search_counts", shoppers)
    orders = sa.Column(
        "orders_clicked", sa.BigInteger(), server_default="0", nullable=False
    )
    op.add_column("outcome_days", orders)
    op.execute("UPDATE search_counts SET unnamed = searches")
