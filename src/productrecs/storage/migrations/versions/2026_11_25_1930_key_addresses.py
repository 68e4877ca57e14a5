"""Store from which address a secret key was last used."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1930"
down_revision = "2026_11_25_1924"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    op.add_column("key_uses", sa.Column("address", sa.String(64)))
