"""Note how far an import of products came, so that it can go on from there."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1922"
down_revision = "2026_11_25_1921"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    op.add_column("file_imports", sa.Column("mark", sa.Text()))
