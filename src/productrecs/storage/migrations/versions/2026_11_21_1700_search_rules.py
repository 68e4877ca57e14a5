"""Search rule tables: synonyms, rules, and a change counter for other processes."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1700"
down_revision = "2026_11_21_1230"


def upgrade() -> None:
    """Add two tables and a counter that the previous release does not look at."""
    op.add_column(
        "store_heads",
        sa.Column("search_seq", sa.BigInteger(), server_default="0", nullable=False),
    )
    op.create_table(
        "synonyms",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("synonym_id", sa.BigInteger(), nullable=False),
        sa.Column("texts", sa.Text(), nullable=False),
        sa.Column("one_way", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "synonym_id", name=op.f("pk_synonyms")),
    )
    op.create_table(
        "search_rules",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("starts", sa.String(length=40), nullable=True),
        sa.Column("ends", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "rule_id", name=op.f("pk_search_rules")),
    )
