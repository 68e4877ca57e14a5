"""Key misuse: unknown origins that sent requests, and leaked secret keys."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0546"
down_revision = "2026_11_22_0240"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "sightings",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "kind", "value", name=op.f("pk_sightings")),
        sqlite_with_rowid=False,
    )
