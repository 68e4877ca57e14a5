"""Refused identities: how many calls sent a signed identity that proves nothing."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0408"
down_revision = "2026_11_28_0405"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "refused_identities",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "reason", name=op.f("pk_refused_identities")
        ),
        sqlite_with_rowid=False,
    )
