"""Attribution: sales and carts that followed a recommendation, and their daily totals."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1900"
down_revision = "2026_11_21_1830"


def upgrade() -> None:
    """Add tables that the previous release does not look at; the background fills them."""
    op.create_table(
        "attribution_marks",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_attribution_marks")),
    )
    op.create_table(
        "outcomes",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("fact", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("basket", sa.BigInteger(), nullable=True),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("touch", sa.BigInteger(), nullable=True),
        sa.Column("clicked", sa.Boolean(), nullable=True),
        sa.Column("touched_at", sa.BigInteger(), nullable=True),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "fact", name=op.f("pk_outcomes")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_outcomes_store_id_day"), "outcomes", ["store_id", "day"])
    op.create_table(
        "credit_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("carts_clicked", sa.BigInteger(), nullable=False),
        sa.Column("cart_value", sa.Double(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("lines_clicked", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("revenue_clicked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id",
            "day",
            "widget",
            "source",
            "position",
            "currency",
            name=op.f("pk_credit_days"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcome_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("cart_value", sa.Double(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=False),
        sa.Column("orders_credited", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "currency", name=op.f("pk_outcome_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "touch_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "widget", "source", "position", name=op.f("pk_touch_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "event_hours",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "hour", "kind", name=op.f("pk_event_hours")),
        sqlite_with_rowid=False,
    )
