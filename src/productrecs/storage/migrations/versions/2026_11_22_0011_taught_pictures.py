"""Visual training position: up to which event visits were used to train similarity."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_22_0011"
down_revision = "2026_11_22_0010"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    column = sa.Column(
        "visual_taught_seq", sa.BigInteger(), server_default="0", nullable=False
    )
    op.add_column("store_heads", column)
