"""Mail slots: the products that mails show, and how often slots were opened."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_2245"
down_revision = "2026_11_28_1930"


def upgrade() -> None:
    """Add two tables that the previous release does not look at."""
    op.create_table(
        "mail_choices",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("day", sa.Integer(), primary_key=True),
        sa.Column("recipient", sa.BigInteger(), primary_key=True),
        sa.Column("mail", sa.String(32), primary_key=True),
        sa.Column("products", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "mail_days",
        sa.Column("store_id", sa.String(32), primary_key=True),
        sa.Column("day", sa.Integer(), primary_key=True),
        sa.Column("slot", sa.String(64), primary_key=True),
        sa.Column("pictures", sa.BigInteger(), nullable=False),
        sa.Column("proxy_pictures", sa.BigInteger(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
