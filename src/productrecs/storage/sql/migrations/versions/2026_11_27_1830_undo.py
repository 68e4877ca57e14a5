"""Undo: the removed rows of an audit log entry, which an undo stores again."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_27_1830"
down_revision = "2026_11_27_1815"


def upgrade() -> None:
    """Add a column that the previous release does not look at."""
    op.add_column("audit_log", sa.Column("undo", sa.Text()))
