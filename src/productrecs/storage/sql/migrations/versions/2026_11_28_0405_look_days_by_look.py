"""Count what is shown and clicked in looks by look, too."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0405"
down_revision = "2026_11_28_0400"


def upgrade() -> None:
    """Make the table again: attribution fills it from the log, as its version changed."""
    op.drop_table("look_days")
    op.create_table(
        "look_days",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("look", sa.Text(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "look", "item", name="pk_look_days"),
        sqlite_with_rowid=False,
    )
