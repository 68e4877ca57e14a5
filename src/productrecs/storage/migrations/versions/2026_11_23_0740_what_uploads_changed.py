"""Upload counts: changed lines, and rows without a readable time."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_0740"
down_revision = "2026_11_23_0720"


def upgrade() -> None:
    """Add counts, with defaults for the rows that the previous release writes."""
    for table, name in (
        ("imports", "lines_changed"),
        ("uploads", "lines_updated"),
        ("uploads", "rows_undated"),
    ):
        count = sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        op.add_column(table, count)
    none = sa.Column("undated", sa.Text(), nullable=False, server_default="[]")
    op.add_column("uploads", none)
    # What was told of finished uploads until now stays told.
    op.execute("UPDATE uploads SET lines_updated = rows - rows_skipped - lines_imported")
