"""Picture table: the descriptors of items' pictures."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_2000"
down_revision = "2026_11_21_1940"


def upgrade() -> None:
    """Make the table, and the counters that it is followed by."""
    op.create_table(
        "pictures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("etag", sa.String(length=200), nullable=True),
        sa.Column("modified", sa.String(length=200), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), nullable=True),
        sa.Column("embedder", sa.String(length=80), nullable=True),
        sa.Column("descriptor", sa.LargeBinary(), nullable=True),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("store_id", "number", name=op.f("pk_pictures")),
    )
    op.create_index(op.f("ix_pictures_due_at"), "pictures", ["due_at"])
    op.create_index(op.f("ix_pictures_store_id_state"), "pictures", ["store_id", "state"])
    for name in ("pictured_seq", "picture_seq", "visual_seq"):
        column = sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)
        op.add_column("store_heads", column)
    op.add_column("store_heads", sa.Column("visual_id", sa.String(64), nullable=True))
