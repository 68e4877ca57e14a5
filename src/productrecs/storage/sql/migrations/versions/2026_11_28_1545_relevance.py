"""Relevance: the query set, judgements and measures of a store's search."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_1545"
down_revision = "2026_11_28_1325"


def upgrade() -> None:
    """Add tables and a column that the previous release does not look at."""
    for name, columns in _TABLES.items():
        op.create_table(
            name,
            sa.Column("store_id", sa.String(32), primary_key=True),
            *columns,
            sqlite_with_rowid=False,
        )
    op.add_column("dashboard_users", sa.Column("search_mails", sa.Boolean()))


_TABLES = {
    "relevance_queries": (
        sa.Column("intent", sa.String(256), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(8), nullable=False),
        sa.Column("searches", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("results", sa.Text()),
        sa.Column("ndcg", sa.Double()),
    ),
    "relevance_judgements": (
        sa.Column("intent", sa.String(256), primary_key=True),
        sa.Column("item", sa.BigInteger(), primary_key=True),
        sa.Column("by_hand", sa.Boolean(), primary_key=True),
        sa.Column("grade", sa.SmallInteger(), nullable=False),
        sa.Column("shoppers", sa.BigInteger(), nullable=False),
        sa.Column("judged_at", sa.BigInteger(), nullable=False),
    ),
    "relevance_measures": (
        sa.Column("measured_at", sa.BigInteger(), primary_key=True),
        sa.Column("ndcg", sa.Double()),
        sa.Column("no_results", sa.Double()),
        sa.Column("click_through", sa.Double()),
        sa.Column("queries", sa.BigInteger(), nullable=False),
        sa.Column("judged_queries", sa.BigInteger(), nullable=False),
        sa.Column("ndcg_before", sa.Double()),
        sa.Column("ndcg_same", sa.Double()),
        sa.Column("is_alarm", sa.Boolean(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("versions", sa.Text(), nullable=False),
    ),
}
