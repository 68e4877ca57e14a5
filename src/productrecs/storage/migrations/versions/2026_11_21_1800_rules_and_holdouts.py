"""Merchandising rules, their change history, and the exposures of holdout tests."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1800"
down_revision = "2026_11_21_1730"


def upgrade() -> None:
    """Add three tables and a column that the previous release does not look at."""
    op.add_column(
        "store_heads",
        sa.Column("rules_seq", sa.BigInteger(), server_default="0", nullable=False),
    )
    op.create_table(
        "rules",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("starts", sa.String(length=40), nullable=True),
        sa.Column("ends", sa.String(length=40), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("strength", sa.Double(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "rule_id", name=op.f("pk_rules")),
    )
    op.create_table(
        "rule_changes",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "change_id", name=op.f("pk_rule_changes")),
    )
    op.create_table(
        "exposures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("test", sa.String(length=64), nullable=False),
        sa.Column("arm", sa.String(length=8), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "identity", "test", "arm", name=op.f("pk_exposures")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_exposures_store_id_test_first_at"),
        "exposures",
        ["store_id", "test", "first_at"],
    )
