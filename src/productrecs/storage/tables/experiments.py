"""Tables of experiments: exposures, explored items, and daily results of tests."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row for each known name of a shopper. `unit` is the first of their names: the arm is
# drawn from it, and results are counted by it.
exposures = sa.Table(
    "exposures",
    metadata,
    store_id_column(),
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("test", sa.String(64), primary_key=True),
    sa.Column("arm", sa.String(8), primary_key=True),  # shown, held_out
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "test", "first_at"),
    sqlite_with_rowid=False,
)

# Explored products: one row a day for each shopper, list and product.
explorations = sa.Table(
    "explorations",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),  # of UTC
    sa.Column("shopper", sa.Text, primary_key=True),  # empty: unknown
    sa.Column("about", sa.BigInteger, primary_key=True),  # items.number; -1: no product
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("place", sa.SmallInteger, nullable=False),  # from 1
    sa.Column("chance", sa.Double, nullable=False),  # of this product in such a list
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# A test's result on each day; a later result of the same day replaces it.
experiment_days = sa.Table(
    "experiment_days",
    metadata,
    store_id_column(),
    sa.Column("test", sa.String(64), primary_key=True),
    sa.Column("day", sa.String(10), primary_key=True),  # the store's
    sa.Column("computed_at", sa.BigInteger, nullable=False),
    sa.Column("result", sa.Text, nullable=False),  # JSON
)
