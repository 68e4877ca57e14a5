"""Record tables: items, events, orders, searches, rules, looks, imports and erasures."""

from typing import Any

import sqlalchemy as sa

from productrecs.storage.sql.tables.account_and_job_tables import metadata, store_id_column

# Table of items: every product id that a store ever sent, with its catalog fields.

# `number` is dense per store and never changes; events, models and views speak in numbers.
# `present` says whether the id is in the catalog; an event may name it long before.
items = sa.Table(
    "items",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),
    sa.Column("present", sa.Boolean, nullable=False),
    sa.Column("change_seq", sa.BigInteger, nullable=False),
    sa.Column("sku", sa.Text),
    sa.Column("title", sa.Text, nullable=False, server_default=""),
    sa.Column("product_url", sa.Text),
    sa.Column("image_url", sa.Text),
    sa.Column("price", sa.Double),
    sa.Column("availability", sa.String(16)),  # as given; null when absent
    sa.Column("stock_qty", sa.BigInteger),
    sa.Column("cost", sa.Double),
    sa.Column("categories", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("category_ids", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("description", sa.Text),
    sa.Column("available_from", sa.String(40)),
    sa.Column("available_until", sa.String(40)),
    sa.Column("brand", sa.Text),
    sa.Column("gtin", sa.Text),
    sa.Column("color", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("size", sa.Text, nullable=False, server_default="[]"),  # JSON
    sa.Column("material", sa.Text, nullable=False, server_default="[]"),  # JSON
    # JSON: pairs of a name and its values, in the order in which they were pushed.
    sa.Column("attributes", sa.Text, nullable=False, server_default="[]"),
    sa.Column("list_price", sa.Double),  # before a reduction
    # JSON: triples of a price list's name, the price and the price before a reduction.
    sa.Column("prices", sa.Text, nullable=False, server_default="[]"),
    sa.Column("planned_price", sa.Double),  # told in advance, for the demand forecast
    sa.Column("planned_price_from", sa.String(40)),
    sa.Column("planned_price_until", sa.String(40)),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("store_id", "item_id"),
    sa.Index(None, "store_id", "change_seq"),
)


# Tables of events: the event log, deduplication receipts, links, and file imports.

# Append-only except `person`, which changes when a session is linked to a customer. Ids are
# half of a row, so equal ones are stored once: `event_session`, `event_shopper` read them.
events = sa.Table(
    "events",
    metadata,
    store_id_column(),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("item", sa.BigInteger),  # items.number
    # user_id, else session_id: attribution. Empty: the same as the session.
    sa.Column("shopper", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),  # shopper through shopper_links
    sa.Column("session", sa.Text),  # null: none. Empty: the same as `person`
    sa.Column("term", sa.Text),  # a query, a category, an attribute's value
    sa.Column("value", sa.Double),
    sa.Column("currency", sa.String(8)),
    sa.Column("quantity", sa.BigInteger),  # null is unknown, never 1
    sa.Column("source", sa.Text),
    sa.Column("position", sa.BigInteger),
    sa.Column("widget", sa.Text),
    sa.Column("imported", sa.Boolean, nullable=False),
    # Beyond its network's share of the day: models do not learn from it.
    sa.Column("excess", sa.Boolean, nullable=False, server_default=sa.false()),
    # Covers a shopper's history, whose rows are scattered over the whole log.
    sa.Index(None, "store_id", "person", "seq", "kind", "item", "ts", "session"),
    sqlite_with_rowid=False,
)

# Events of bots, left out of everything that reads `events`. Their columns are those of
# `events`, so that the first events of a bot can be moved here when its rate shows.
bot_events = sa.Table(
    "bot_events",
    metadata,
    store_id_column(),
    *(
        sa.Column(
            column.name,
            column.type,
            nullable=column.nullable,
            primary_key=column.primary_key,
        )
        for column in events.c
        if column.name not in {"store_id", "excess"}
    ),
    sa.Column("bot", sa.String(64), nullable=False),  # its name, or "inhuman rate"
    sa.Index(None, "store_id", "person"),
    sa.Index(None, "store_id", "ts", "bot"),
    sqlite_with_rowid=False,
)


def event_session(table: str = "events") -> str:
    """Return the SQL of an event's session."""
    return f"CASE {table}.session WHEN '' THEN {table}.person ELSE {table}.session END"


def event_shopper(table: str = "events") -> str:
    """Return the SQL of an event's shopper: the customer if known, else the session."""
    columns = (f"NULLIF({table}.{name}, '')" for name in ("shopper", "session"))
    return f"COALESCE({', '.join(columns)}, {table}.person)"


def event_columns(table: sa.Table) -> list[sa.ColumnElement[Any]]:
    """Return the columns of `events` or `bot_events`, with the ids written out."""
    written = {"session": event_session, "shopper": event_shopper}
    return [
        sa.literal_column(written[column.name](table.name), column.type).label(column.name)
        if column.name in written
        else column
        for column in table.c
    ]


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
    # Said by the shop's server: `session` is the customer's former id, or their own.
    sa.Column("confirmed", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index(None, "store_id", "customer"),
    sa.Index(None, "store_id", "since_seq"),
    sqlite_with_rowid=False,
)

# Import progress by file digest: a repeated or interrupted import resumes there.
imports = sa.Table(
    "imports",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("lines_done", sa.BigInteger, nullable=False),
    sa.Column("lines_added", sa.BigInteger, nullable=False, server_default="0"),  # new ones
    sa.Column("lines_changed", sa.BigInteger, nullable=False, server_default="0"),
    # Lines that the file has again, and that replaced their earlier ones.
    sa.Column("lines_repeated", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("submitted_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


# Tables of purchases: purchase lines and order receipts; a purchase is stored once.

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
    sa.Column("void", sa.Boolean, nullable=False),  # replaced by another channel
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("quantity", sa.BigInteger),  # null is unknown, never 1; negative is a return
    sa.Column("price", sa.Double),
    sa.Column("total", sa.Double),
    sa.Column("currency", sa.String(8)),
    sa.Column("shopper", sa.Text),
    sa.Column("person", sa.Text),
    sa.Column("session", sa.Text),
    sa.Column("imported", sa.Boolean, nullable=False),
    # When the line was last received or changed; null: before the column existed.
    sa.Column("updated_at", sa.BigInteger),
    # Sent by the publishable key, and not confirmed by the secret key or a file.
    sa.Column("unconfirmed", sa.Boolean, nullable=False, server_default=sa.false()),
    # Beyond its network's share of the day: models do not learn from it.
    sa.Column("excess", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("store_id", "order_id", "receipt", "item", "line"),
    sa.Index(None, "store_id", "seq"),
    sa.Index(None, "store_id", "person", "seq", "void", "item", "ts", "session"),
    sqlite_with_rowid=False,
)
sa.Index(
    "ix_purchase_lines_unconfirmed",
    *(purchase_lines.c.store_id, purchase_lines.c.void, purchase_lines.c.seq),
    sqlite_where=purchase_lines.c.unconfirmed,
    postgresql_where=purchase_lines.c.unconfirmed,
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


# Table of uploads: order histories, and how far each is imported.

# The file is in the data folder, named by the upload's id, until the result is stored.
uploads = sa.Table(
    "uploads",
    metadata,
    store_id_column(),
    sa.Column("upload_id", sa.String(32), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),  # 1, 2, ...: the order they came in
    sa.Column("status", sa.String(16), nullable=False),  # queued running done failed
    sa.Column("submitted_at", sa.BigInteger, nullable=False),  # the business clock
    sa.Column("format", sa.Text, nullable=False),  # JSON: how the file is written
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("rows_done", sa.BigInteger, nullable=False),  # the last row that is stored
    sa.Column("lines_imported", sa.BigInteger, nullable=False),
    sa.Column("lines_updated", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("rows_undated", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("undated", sa.Text, nullable=False, server_default="[]"),  # JSON: the first
    sa.Column("rows_skipped", sa.BigInteger, nullable=False),
    sa.Column("errors", sa.Text, nullable=False),  # JSON: the first of them
    sa.Column("attempts", sa.Integer, nullable=False),  # since the last progress
    sa.UniqueConstraint("store_id", "number"),
    sa.Index(None, "status"),
)

# What each transaction of a file import changed, so that the import can be undone.
import_changes = sa.Table(
    "import_changes",
    metadata,
    store_id_column(),
    sa.Column("import_id", sa.String(32), primary_key=True),
    sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    # JSON: pairs of a row's number and its earlier values; null: it is new. Or counts.
    sa.Column("before", sa.Text, nullable=False),
)


# Table of file imports: files that a merchant sent in the dashboard, and their results.

# The file is in the upload folder, named by the import's id, until the result is stored.
file_imports = sa.Table(
    "file_imports",
    metadata,
    store_id_column(),
    sa.Column("import_id", sa.String(32), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),  # 1, 2, ...: the order they came in
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("file_name", sa.String(255), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("sent_by", sa.String(320), nullable=False),
    sa.Column("submitted_at", sa.BigInteger, nullable=False),  # the business clock
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("choices", sa.Text, nullable=False),  # JSON: kind, format and column mapping
    sa.Column("progress", sa.Double, nullable=False),  # 0 to 1
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("preview", sa.Text, nullable=False),  # JSON: the dry run; emptied at the end
    sa.Column("result", sa.Text, nullable=False),  # JSON: counts, notes, first errors
    sa.Column("rejects", sa.Text, nullable=False),  # CSV: the rows that failed, and why
    sa.Column("mark", sa.Text),  # JSON: how far an import of products came
    sa.UniqueConstraint("store_id", "number"),
    sa.Index(None, "status"),
)


# The address that a store's products are fetched from, if it has one.
scheduled_feeds = sa.Table(
    "scheduled_feeds",
    metadata,
    store_id_column(),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("header", sa.Text, nullable=False),  # encrypted where there is a key
    sa.Column("every_minutes", sa.Integer, nullable=False),
    sa.Column("is_complete", sa.Boolean, nullable=False),  # lacks no product that is sold
    sa.Column("next_at", sa.BigInteger, nullable=False),  # the machine's clock
    sa.Column("choices", sa.Text, nullable=False),  # JSON, as in file_imports
    sa.Column("etag", sa.Text),
    sa.Column("modified", sa.Text),  # Last-Modified
    sa.Column("digest", sa.String(64)),  # SHA-256 of the last file
    sa.Column("import_id", sa.String(32)),  # of the last file
    sa.Column("failures", sa.Integer, nullable=False),  # since the last success
    sa.Column("hour", sa.Integer),  # of a daily fetch, in the store's time zone
    sa.Index(None, "next_at"),
    sqlite_with_rowid=False,
)

# The fetches of a scheduled feed in the last 30 days.
scheduled_feed_fetches = sa.Table(
    "scheduled_feed_fetches",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("fetched_at", sa.BigInteger, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),  # received unchanged failed
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),  # bytes
    sa.Column("import_id", sa.String(32)),
    sqlite_with_rowid=False,
)

# Tables of the live view of events: which stores are watched, and what came lately.

# While a row exists, every API process records the store's events.
event_watches = sa.Table(
    "event_watches",
    metadata,
    store_id_column(),
    sa.Column("until", sa.BigInteger, nullable=False),
)

# The last events of a watched store, for an hour; `entry_id` begins with the time.
live_events = sa.Table(
    "live_events",
    metadata,
    store_id_column(),
    sa.Column("entry_id", sa.String(32), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("verdict", sa.String(16), nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("session", sa.String(128), nullable=False),
    sa.Column("item", sa.String(128), nullable=False),
    sa.Column("client", sa.String(16), nullable=False),  # a hash of address and user agent
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # JSON as received, truncated
)


# Tables of search: synonyms, search rules, and counts of searches.

# `store_heads.search_seq` grows with every change of either: views poll it, and ids come
# from it.
synonyms = sa.Table(
    "synonyms",
    metadata,
    store_id_column(),
    sa.Column("synonym_id", sa.BigInteger, primary_key=True),
    sa.Column("texts", sa.Text, nullable=False),  # JSON: the synonyms
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
    sa.Column("empty", sa.BigInteger, nullable=False),  # searches without results
    # Searches without a shopper, and the sketch of the other searches' shoppers.
    sa.Column("unnamed", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("shoppers", sa.LargeBinary, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

# Questions that narrow results, by the store's day and by what they ask for.
question_counts = sa.Table(
    "question_counts",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("attribute", sa.Text, primary_key=True),  # the kind of filter of an answer
    sa.Column("offered", sa.BigInteger, nullable=False),
    sa.Column("answered", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


# Tables of merchandising: rules, and their history.

# `store_heads.rules_seq` grows with every change: views poll it, and ids come from it.
rules = sa.Table(
    "rules",
    metadata,
    store_id_column(),
    sa.Column("rule_id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("action", sa.String(16), nullable=False),  # exclude boost bury pin
    sa.Column("target", sa.Text, nullable=False),  # JSON: which products
    sa.Column("places", sa.Text, nullable=False),  # JSON: in which lists
    sa.Column("starts", sa.String(40)),
    sa.Column("ends", sa.String(40)),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("strength", sa.Double),  # of boost and bury
    sa.Column("position", sa.Integer),  # of pin, from 1
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

rule_changes = sa.Table(
    "rule_changes",
    metadata,
    store_id_column(),
    sa.Column("change_id", sa.BigInteger, primary_key=True),
    sa.Column("rule_id", sa.BigInteger, nullable=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("what", sa.String(16), nullable=False),  # added changed removed
    sa.Column("rule", sa.Text, nullable=False),  # JSON: new state, or last before removal
)

# `store_heads.placements_seq` grows with every change: views poll it, versions are from it.
placements = sa.Table(
    "placements",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),  # JSON: strategy, filters, limits
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

# Bundles and rejected proposals; `placements_seq` is their counter too.
bundles = sa.Table(
    "bundles",
    metadata,
    store_id_column(),
    sa.Column("bundle_id", sa.BigInteger, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),  # JSON: items, name, state, discount
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

# Tests of variants of a placement or of search; `placements_seq` grows with their changes.
experiments = sa.Table(
    "experiments",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),  # from placements_seq
    sa.Column("subject", sa.Text, nullable=False),  # search, or placement:NAME
    sa.Column("content", sa.Text, nullable=False),  # JSON: variants, goal
    sa.Column("state", sa.String(8), nullable=False),  # draft, running, paused, ended
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger),
    sa.Column("started_seq", sa.BigInteger, nullable=False),  # of the log
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("winner", sa.String(8), nullable=False),  # the chosen arm; empty: none
)


# Tables of looks: a picture's address, and the positions of products in it.

# `store_heads.looks_seq` grows with every change: views poll it, and ids come from it.
looks = sa.Table(
    "looks",
    metadata,
    store_id_column(),
    sa.Column("look_id", sa.BigInteger, primary_key=True),
    sa.Column("item_id", sa.Text, nullable=False),  # on whose page it is shown
    sa.Column("image_url", sa.Text, nullable=False),  # empty if we store the picture
    sa.Column("picture_id", sa.String(32)),  # of `look_pictures`
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("hotspots", sa.Text, nullable=False),  # JSON: label, x, y, w, h, item id
    sa.Column("state", sa.String(16), nullable=False),  # draft published archived
    sa.Column("published_at", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("updated_by", sa.String(320)),  # the editor's e-mail; null: a command
    sa.Index(None, "store_id", "state"),
)

# The last earlier versions of each look's content.
look_versions = sa.Table(
    "look_versions",
    metadata,
    store_id_column(),
    sa.Column("look_id", sa.BigInteger, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),  # of `store_heads.looks_seq`
    sa.Column("item_id", sa.Text, nullable=False),
    sa.Column("image_url", sa.Text, nullable=False),
    sa.Column("picture_id", sa.String(32)),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("hotspots", sa.Text, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("updated_by", sa.String(320)),
)

# The uploaded pictures of looks, re-encoded. Large rows: read few at a time.
look_pictures = sa.Table(
    "look_pictures",
    metadata,
    store_id_column(),
    sa.Column("picture_id", sa.String(32), primary_key=True),  # of the content
    sa.Column("content", sa.LargeBinary, nullable=False),  # a JPEG
    sa.Column("width", sa.BigInteger, nullable=False),
    sa.Column("height", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    info={"rows_at_once": 20},
)


# Table of pictures: descriptors of the items' pictures; pixels are not stored.

# One row an item with an address. `due_at` is null only while nothing is to be fetched;
# `seq` is that of `store_heads.picture_seq` at which the descriptor last changed.
pictures = sa.Table(
    "pictures",
    metadata,
    store_id_column(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # pending indexed failed
    sa.Column("reason", sa.Text),  # of failed, and of pending that failed before
    sa.Column("attempts", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("etag", sa.String(200)),
    sa.Column("modified", sa.String(200)),
    sa.Column("fetched_at", sa.BigInteger),
    sa.Column("embedder", sa.String(80)),  # the descriptor's creator
    sa.Column("descriptor", sa.LargeBinary),  # packed; used until a newer one exists
    sa.Column("seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("digest", sa.BigInteger),  # of the file; null for older releases
    sa.Column("other_embedder", sa.String(80)),  # the next encoder, or the previous one
    sa.Column("other_descriptor", sa.LargeBinary),  # of the same file
    sa.Index(None, "due_at"),
    sa.Index(None, "store_id", "state"),
)


# Tables of erasures: digests of the erased ids, never the ids themselves.

# One row for each erasure request. `names` is set only while it is in progress.
erasures = sa.Table(
    "erasures",
    metadata,
    store_id_column(),
    sa.Column("erasure_id", sa.BigInteger, primary_key=True),  # a place in the log
    sa.Column("asked_at", sa.BigInteger, nullable=False),
    sa.Column("names", sa.Text),  # JSON; null once their records are deleted
    sa.Column("events", sa.BigInteger, nullable=False),  # number of deleted events
    sa.Column("lines", sa.BigInteger, nullable=False),  # number of lines without customer
    sa.Column("cleared_seq", sa.BigInteger),  # log position when they were deleted
    sa.Column("done_at", sa.BigInteger),  # when derived data were purged too
)

erased_names = sa.Table(
    "erased_names",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(32), primary_key=True),  # records.erasures.digest_of
    sa.Column("erased_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
