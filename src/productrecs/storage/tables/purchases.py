"""Tables of purchases: purchase lines and order receipts, one truth per purchase."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# `line_seq` is a line's identity, `seq` its last change: readers follow `seq`.
purchase_lines = sa.Table(
    "purchase_lines",
    metadata,
    store_id_column(),
    sa.Column("line_seq", sa.BigInteger, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column(
        "basket", sa.BigInteger
    ),  # shared by the lines of one order; null: no order id
    sa.Column("order_id", sa.Text),
    sa.Column("receipt", sa.Integer, nullable=False),  # 0, 1, ...: the same id again later
    sa.Column("item", sa.BigInteger, nullable=False),  # items.number
    sa.Column("line", sa.Integer, nullable=False),  # 0, 1, ...: the same item again in it
    sa.Column("channel", sa.SmallInteger, nullable=False),  # event 0 < order 1 < csv 2
    sa.Column("void", sa.Boolean, nullable=False),  # another channel took its place
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("quantity", sa.BigInteger),  # null is unknown, never 1; negative is a return
    sa.Column("price", sa.Double),
    sa.Column("total", sa.Double),
    sa.Column("currency", sa.String(8)),
    sa.Column("shopper", sa.Text),
    sa.Column("person", sa.Text),
    sa.Column("session", sa.Text),
    sa.Column("imported", sa.Boolean, nullable=False),
    sa.UniqueConstraint("store_id", "order_id", "receipt", "item", "line"),
    sa.Index(None, "store_id", "seq"),
    sa.Index(None, "store_id", "person", "seq", "void", "item", "ts", "session"),
    sqlite_with_rowid=False,
)

order_receipts = sa.Table(
    "order_receipts",
    metadata,
    store_id_column(),
    sa.Column("order_id", sa.String(255), primary_key=True),
    sa.Column("receipt", sa.Integer, nullable=False),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
