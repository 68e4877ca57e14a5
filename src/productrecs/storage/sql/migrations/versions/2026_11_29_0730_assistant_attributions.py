"""Assistant attributions: how often assistants searched with each source and campaign."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0730"
down_revision = "2026_11_29_0312"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "assistant_attributions",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("parameter", sa.String(16), primary_key=True),
        sa.Column("value", sa.String(40), primary_key=True),
        sa.Column("day", sa.Integer(), primary_key=True),
        sa.Column("searches", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
