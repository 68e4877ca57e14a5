"""Tables of search: synonyms, search rules, and counts of searches."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# `store_heads.search_seq` grows with every change of either: views poll it, and ids come
# from it.
synonyms = sa.Table(
    "synonyms",
    metadata,
    store_id_column(),
    sa.Column("synonym_id", sa.BigInteger, primary_key=True),
    sa.Column("texts", sa.Text, nullable=False),  # JSON: what means the same
    sa.Column("one_way", sa.Boolean, nullable=False),  # the first finds the others
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

search_rules = sa.Table(
    "search_rules",
    metadata,
    store_id_column(),
    sa.Column("rule_id", sa.BigInteger, primary_key=True),
    sa.Column("action", sa.String(16), nullable=False),  # pin hide redirect
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("items", sa.Text, nullable=False),  # JSON: ids, of pin and hide
    sa.Column("address", sa.Text),  # of redirect
    sa.Column("starts", sa.String(40)),
    sa.Column("ends", sa.String(40)),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# Counts of searches, by the store's day and by intent.
search_counts = sa.Table(
    "search_counts",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),  # 2026-03-01
    sa.Column("intent", sa.String(256), primary_key=True),  # stems, blanks between
    sa.Column("text", sa.Text, nullable=False),  # as last typed by a shopper
    sa.Column("searches", sa.BigInteger, nullable=False),
    sa.Column("empty", sa.BigInteger, nullable=False),  # that found nothing
    # Searches whose call named no shopper, and the crowd (`engines/crowd`) of the others.
    sa.Column("unnamed", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("shoppers", sa.LargeBinary, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)
