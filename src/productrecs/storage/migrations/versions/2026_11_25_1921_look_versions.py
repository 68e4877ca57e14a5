"""Keep what a look was before each change, and who changed it."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_25_1921"
down_revision = "2026_11_25_1920"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "look_versions",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("look_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("image_url", sa.Text(), nullable=False),
        sa.Column("picture_id", sa.String(32)),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("hotspots", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.String(320)),
        sa.PrimaryKeyConstraint("store_id", "look_id", "version", name="pk_look_versions"),
    )
    op.add_column("looks", sa.Column("updated_by", sa.String(320)))
