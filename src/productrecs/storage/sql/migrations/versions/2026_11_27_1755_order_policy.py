"""Order policy: when confirmed orders last came, and an index of unconfirmed lines."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_1755"
down_revision = "2026_11_27_1740"


def upgrade() -> None:
    """Add a column and a small index that the previous release does not look at."""
    op.add_column("store_heads", sa.Column("confirmed_order_at", sa.BigInteger()))
    op.create_index(
        "ix_purchase_lines_unconfirmed",
        "purchase_lines",
        ["store_id", "void", "seq"],
        sqlite_where=sa.text("unconfirmed"),
        postgresql_where=sa.text("unconfirmed"),
    )
