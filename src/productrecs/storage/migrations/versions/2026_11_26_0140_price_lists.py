"""Price lists: the prices of items in them, and how many items each list of a store has."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0140"
down_revision = "2026_11_26_0130"


def upgrade() -> None:
    """Add two columns that the previous release does not look at."""
    for table, name, empty in (
        ("items", "prices", "[]"),
        ("store_heads", "price_lists", "{}"),
    ):
        column = sa.Column(name, sa.Text(), server_default=empty, nullable=False)
        op.add_column(table, column)
