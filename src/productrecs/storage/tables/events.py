"""Tables of events: the event log, deduplication receipts, links, and file imports."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# Append-only, but for `person`, which follows a session to the customer it belongs to.
events = sa.Table(
    "events",
    metadata,
    store_id_column(),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("item", sa.BigInteger),  # items.number
    sa.Column("shopper", sa.Text, nullable=False),  # user_id, else session_id: attribution
    sa.Column("person", sa.Text, nullable=False),  # shopper through shopper_links
    sa.Column("session", sa.Text),
    sa.Column("term", sa.Text),  # a query, a category, an attribute's value
    sa.Column("value", sa.Double),
    sa.Column("currency", sa.String(8)),
    sa.Column("quantity", sa.BigInteger),  # null is unknown, never 1
    sa.Column("source", sa.Text),
    sa.Column("position", sa.BigInteger),
    sa.Column("widget", sa.Text),
    sa.Column("imported", sa.Boolean, nullable=False),
    # All that a shopper's history asks for: their rows lie scattered over the whole log.
    sa.Index(None, "store_id", "person", "seq", "kind", "item", "ts", "session"),
    sqlite_with_rowid=False,
)

event_receipts = sa.Table(
    "event_receipts",
    metadata,
    store_id_column(),
    sa.Column("event_id", sa.String(64), primary_key=True),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "received_at"),
    sqlite_with_rowid=False,
)

shopper_links = sa.Table(
    "shopper_links",
    metadata,
    store_id_column(),
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("customer", sa.Text, nullable=False),
    sa.Column("since_seq", sa.BigInteger, nullable=False),
    sa.Index(None, "store_id", "customer"),
    sa.Index(None, "store_id", "since_seq"),
    sqlite_with_rowid=False,
)

# How far each file was read, by its digest: a repeated or broken-off import goes on there.
imports = sa.Table(
    "imports",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("lines_done", sa.BigInteger, nullable=False),
    sa.Column("lines_added", sa.BigInteger, nullable=False, server_default="0"),  # new ones
    sa.Column("lines_changed", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("submitted_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
