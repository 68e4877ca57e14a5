"""Shopper sketches of impressions, and clicks after searches."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0232"
down_revision = "2026_11_22_0200"


def upgrade() -> None:
    """Create three views of the log, and add columns the previous release leaves alone."""
    for table, column in (
        ("outcomes", sa.Column("search", sa.BigInteger(), nullable=True)),
        ("outcomes", sa.Column("intent", sa.Text(), server_default="", nullable=False)),
        (
            "attribution_marks",
            sa.Column("language", sa.String(16), server_default="", nullable=False),
        ),
    ):
        op.add_column(table, column)
    _create(
        "shopper_days",
        [_text("widget"), _text("source")],
        [_crowd("shown"), _crowd("clicked")],
    )
    counts = ("clicks", "shoppers", "positions", "position_sum")
    _create(
        "search_days",
        [_text("intent")],
        [_text("text"), *map(_count, counts), _crowd("who")],
    )
    _create(
        "search_credit_days",
        [_text("intent"), sa.Column("currency", sa.String(length=8), nullable=False)],
        [
            *map(_count, ("carts", "lines", "units")),
            sa.Column("revenue", sa.Double(), nullable=False),
        ],
    )


def _create(
    name: str, key: Sequence[sa.Column[Any]], rest: Sequence[sa.Column[Any]]
) -> None:
    op.create_table(
        name,
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        *key,
        *rest,
        sa.PrimaryKeyConstraint(
            "store_id", "day", *(column.name for column in key), name=op.f(f"pk_{name}")
        ),
        sqlite_with_rowid=False,
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _crowd(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)
