"""Access token calls: how often each token was used."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_0312"
down_revision = "2026_11_29_0310"


def upgrade() -> None:
    """Add a column that the previous release does not write."""
    calls = sa.Column("calls", sa.BigInteger(), nullable=False, server_default="0")
    op.add_column("access_tokens", calls)
