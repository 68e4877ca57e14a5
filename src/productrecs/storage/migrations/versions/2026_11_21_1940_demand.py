"""Demand forecasts: forecasts, the draft of a run, and days without stock."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1940"
down_revision = "2026_11_21_1930"


def upgrade() -> None:
    """Add four tables that the previous release does not look at."""
    op.create_table(
        "forecast_runs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("generated_at", sa.BigInteger(), nullable=False),
        sa.Column("first_day", sa.String(length=10), nullable=False),
        sa.Column("target_mode", sa.String(length=16), nullable=False),
        sa.Column("history", sa.Text(), nullable=False),
        sa.Column("total", sa.Text(), nullable=False),
        sa.Column("accuracy", sa.Text(), nullable=True),
        sa.Column("judged", sa.Text(), nullable=True),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.Column("learned", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_forecast_runs")),
    )
    op.create_table(
        "item_forecasts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("method", sa.String(length=16), nullable=False),
        sa.Column("days", sa.Text(), nullable=False),
        sa.Column("expected", sa.Double(), nullable=False),
        sa.Column("spread", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "item", name=op.f("pk_item_forecasts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "forecast_drafts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_forecast_drafts")),
    )
    op.create_table(
        "stock_outs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "item", "since", name=op.f("pk_stock_outs")),
        sqlite_with_rowid=False,
    )
