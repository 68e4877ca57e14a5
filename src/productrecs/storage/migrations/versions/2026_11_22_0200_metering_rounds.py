"""Metering rounds: how far each process has stored its counted calls."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0200"
down_revision = "2026_11_22_0011"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "metering_rounds",
        sa.Column("sheet", sa.String(length=16), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sheet", name=op.f("pk_metering_rounds")),
    )
