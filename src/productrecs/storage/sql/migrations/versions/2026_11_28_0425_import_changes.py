"""Import changes: what each import changed, so that it can be undone."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0425"
down_revision = "2026_11_28_0410"


def upgrade() -> None:
    """Add a table and a column that the previous release does not look at."""
    op.create_table(
        "import_changes",
        sa.Column("store_id", sa.String(32), nullable=False),
        sa.Column("import_id", sa.String(32), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "import_id", "first_seq", name="pk_import_changes"
        ),
    )
    op.add_column(
        "imports",
        sa.Column("lines_repeated", sa.BigInteger(), nullable=False, server_default="0"),
    )
