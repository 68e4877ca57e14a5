"""No learned ranker: its table and waiting jobs go, as no data set showed its gain."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_1240"
down_revision = "2026_11_28_1010"


def upgrade() -> None:
    """Drop what only the trained rankers used."""
    op.drop_table("rankers")
    for table, column in (("jobs", "kind"), ("duties", "duty")):
        rows = sa.table(table, sa.column(column))
        op.execute(rows.delete().where(rows.c[column] == "learn-order"))
