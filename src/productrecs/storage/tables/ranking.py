"""Table of rankers: the ranking model that each store's clicks have trained."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row a store, replaced whole.
rankers = sa.Table(
    "rankers",
    metadata,
    store_id_column(),
    sa.Column("trained_at", sa.BigInteger, nullable=False),
    sa.Column("serves", sa.Boolean, nullable=False),  # found better than the blend
    sa.Column("report", sa.Text, nullable=False),  # JSON: the backtest's result
    sa.Column("trees", sa.Text, nullable=False),  # JSON: engines.ranking.Trees
)
