"""Count what is shown and clicked in looks, by product."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_24_0035"
down_revision = "2026_11_24_0025"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "look_days",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "item", name="pk_look_days"),
        sqlite_with_rowid=False,
    )
