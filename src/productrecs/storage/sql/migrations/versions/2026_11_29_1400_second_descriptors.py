"""Second descriptors: a picture's descriptor by the next or the previous encoder."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_29_1400"
down_revision = "2026_11_29_1100"


def upgrade() -> None:
    """Add columns that the previous release does not write."""
    op.add_column("pictures", sa.Column("other_embedder", sa.String(80)))
    op.add_column("pictures", sa.Column("other_descriptor", sa.LargeBinary()))
