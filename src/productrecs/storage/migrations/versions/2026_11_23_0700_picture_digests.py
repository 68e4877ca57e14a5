"""Picture digests: the digest of each picture file; a photo search finds the same file."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_0700"
down_revision = "2026_11_22_0608"


def upgrade() -> None:
    """Add a column that the previous release does not look at.

    A picture that was seen before gets its digest when it is next fetched, whole.
    """
    op.add_column("pictures", sa.Column("digest", sa.BigInteger(), nullable=True))
