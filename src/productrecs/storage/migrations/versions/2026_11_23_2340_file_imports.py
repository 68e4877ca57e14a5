"""Let merchants import files in the dashboard."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_23_2340"
down_revision = "2026_11_23_1930"


def upgrade() -> None:
    """Add the table of file imports."""
    op.create_table(
        "file_imports",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("import_id", sa.String(32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("file_name", sa.String(255), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sent_by", sa.String(320), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("choices", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("preview", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("rejects", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "import_id", name="pk_file_imports"),
        sa.UniqueConstraint("store_id", "number", name="uq_file_imports_store_id_number"),
    )
    op.create_index("ix_file_imports_status", "file_imports", ["status"])
