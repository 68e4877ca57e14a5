"""Integration tables: connections, widget settings and the time of the last sync."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_1000"
down_revision = "2026_11_21_0900"


def upgrade() -> None:
    """Add two tables and a column that the previous release does not look at."""
    op.add_column("store_heads", sa.Column("synced_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "store_connections",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("platform", sa.String(length=32), nullable=True),
        sa.Column("platform_chosen", sa.Boolean(), nullable=False),
        sa.Column("plugin_version", sa.Text(), nullable=True),
        sa.Column("store_url", sa.Text(), nullable=True),
        sa.Column("first_connected_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_store_connections")),
    )
    op.create_table(
        "widget_configs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("custom_css", sa.Text(), nullable=True),
        sa.Column("scoped", sa.Boolean(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "type", name=op.f("pk_widget_configs")),
    )
