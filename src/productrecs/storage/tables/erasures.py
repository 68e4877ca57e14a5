"""Tables of erasures: digests of the erased ids, never the ids themselves."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# One row for each erasure request. `names` is set only while it is in progress.
erasures = sa.Table(
    "erasures",
    metadata,
    store_id_column(),
    sa.Column("erasure_id", sa.BigInteger, primary_key=True),  # a place in the log
    sa.Column("asked_at", sa.BigInteger, nullable=False),
    sa.Column("names", sa.Text),  # JSON; null once their records are gone
    sa.Column("events", sa.BigInteger, nullable=False),  # that were deleted
    sa.Column("lines", sa.BigInteger, nullable=False),  # that lost their customer
    sa.Column("cleared_seq", sa.BigInteger),  # where the log was when they were gone
    sa.Column("done_at", sa.BigInteger),  # when nothing made from them was left either
)

erased_names = sa.Table(
    "erased_names",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(32), primary_key=True),  # records.erasures.digest_of
    sa.Column("erased_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
