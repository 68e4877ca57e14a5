"""Upload tables: order histories that were sent, before and after their import."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1200"
down_revision = "2026_11_21_1000"


def upgrade() -> None:
    """Add a table that the previous release does not look at."""
    op.create_table(
        "uploads",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("upload_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("rows_done", sa.BigInteger(), nullable=False),
        sa.Column("lines_imported", sa.BigInteger(), nullable=False),
        sa.Column("rows_skipped", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "upload_id", name=op.f("pk_uploads")),
        sa.UniqueConstraint("store_id", "number", name=op.f("uq_uploads_store_id_number")),
    )
    op.create_index(op.f("ix_uploads_status"), "uploads", ["status"])
