"""Look pictures: pictures that merchants upload for looks."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0010"
down_revision = "2026_11_21_2356"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "look_pictures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("picture_id", sa.String(length=32), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("width", sa.BigInteger(), nullable=False),
        sa.Column("height", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "picture_id", name=op.f("pk_look_pictures")),
    )
    op.add_column("looks", sa.Column("picture_id", sa.String(length=32), nullable=True))
