"""Relevance tables: the query set of a store's search, its judgements and its measures."""

import sqlalchemy as sa

from productrecs.storage.sql.tables.account_tables import metadata, store_id_column

# The queries by which search is measured, by intent (as in `search_counts`).
relevance_queries = sa.Table(
    "relevance_queries",
    metadata,
    store_id_column(),
    sa.Column("intent", sa.String(256), primary_key=True),  # stems, blanks between
    sa.Column("text", sa.Text, nullable=False),  # as measured
    sa.Column("origin", sa.String(8), nullable=False),  # top, tail, hand or removed
    sa.Column("searches", sa.BigInteger, nullable=False),  # in the log's last days
    sa.Column("weight", sa.Double, nullable=False),  # the searches that it stands for
    sa.Column("added_at", sa.BigInteger, nullable=False),
    # Of the last measure: JSON numbers of the first items; null: not measured yet.
    sa.Column("results", sa.Text),
    sa.Column("ndcg", sa.Double),  # null: no judged product
    sqlite_with_rowid=False,
)

# How well a product fits a query. A judgement by hand counts before that of clicks.
relevance_judgements = sa.Table(
    "relevance_judgements",
    metadata,
    store_id_column(),
    sa.Column("intent", sa.String(256), primary_key=True),
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("by_hand", sa.Boolean, primary_key=True),
    sa.Column("grade", sa.SmallInteger, nullable=False),  # 0 bad, 1 fair, 2 good
    sa.Column("shoppers", sa.BigInteger, nullable=False),  # who clicked; 0 by hand
    sa.Column("judged_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The history of measures.
relevance_measures = sa.Table(
    "relevance_measures",
    metadata,
    store_id_column(),
    sa.Column("measured_at", sa.BigInteger, primary_key=True),
    sa.Column("ndcg", sa.Double),  # null: no query has a judged product
    sa.Column("no_results", sa.Double),  # share; null: no query
    sa.Column("click_through", sa.Double),  # of the last days' searchers; null: unknown
    sa.Column("queries", sa.BigInteger, nullable=False),
    sa.Column("judged_queries", sa.BigInteger, nullable=False),
    # Of the queries that this measure and the one before have in common, by these
    # judgements: the results before, and these.
    sa.Column("ndcg_before", sa.Double),
    sa.Column("ndcg_same", sa.Double),
    sa.Column("is_alarm", sa.Boolean, nullable=False),
    sa.Column("changes", sa.Text, nullable=False),  # JSON: what changed since the last
    sa.Column("versions", sa.Text, nullable=False),  # JSON: of catalog, rules, settings
    sqlite_with_rowid=False,
)
