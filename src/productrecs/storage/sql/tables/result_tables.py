"""Result tables: attribution, tests, insights, forecasts, and the relevance of search.

All of it is computed from records, except the queries and grades that a merchant sets.
"""

import sqlalchemy as sa

from productrecs.storage.sql.tables.account_and_job_tables import metadata, store_id_column

# Tables of attribution: sales and carts attributed to recommendations and searches.
# All of it is derived from the log: `attribution_marks.seq` is the position read.
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


def _place_columns() -> tuple[sa.Column[str], ...]:
    """Return what sums by day and place have in common: widget and source may be empty."""
    return (
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("widget", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, primary_key=True),
    )


attribution_marks = sa.Table(
    "attribution_marks",
    metadata,
    store_id_column(),
    sa.Column("seq", sa.BigInteger, nullable=False),  # -1: being deleted, to recompute
    sa.Column("zone", sa.String(64), nullable=False),  # the time zone of its days
    sa.Column("version", sa.Integer, nullable=False),  # of the rows' format
    sa.Column("language", sa.String(16), nullable=False, server_default=""),  # of intents
    # Events of earlier days may be purged: their sums are never computed again.
    sa.Column("settled_before", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("settled_day", sa.String(10), nullable=False, server_default=""),
)

# Every live add-to-cart and line bought; `touch` null: not attributed.
outcomes = sa.Table(
    "outcomes",
    metadata,
    store_id_column(),
    sa.Column("fact", sa.BigInteger, primary_key=True),  # events.seq, or line_seq
    sa.Column("kind", sa.SmallInteger, nullable=False),  # add-to-cart or buy
    sa.Column("day", sa.String(10), nullable=False),  # the store's, such as 2026-03-01
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("item", sa.BigInteger, nullable=False),  # items.number
    sa.Column("basket", sa.BigInteger),
    sa.Column("units", sa.BigInteger, nullable=False),  # unknown counts as 1
    sa.Column("value", sa.Double, nullable=False),  # unknown counts as 0
    sa.Column("currency", sa.String(8), nullable=False),  # empty: the store's
    sa.Column("touch", sa.BigInteger),  # events.seq of the click or impression
    sa.Column("clicked", sa.Boolean),
    sa.Column("touched_at", sa.BigInteger),
    sa.Column("widget", sa.Text, nullable=False),  # of the touchpoint; empty: unknown
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),  # 0: unknown
    sa.Column("search", sa.BigInteger),  # events.seq of the click on a search's result
    sa.Column("intent", sa.Text, nullable=False, server_default=""),  # of that search
    sa.Column("look", sa.Text, nullable=False, server_default=""),  # of the touchpoint
    sa.Index(None, "store_id", "day"),
    sqlite_with_rowid=False,
)

# Sums of attributed `outcomes`.
credit_days = sa.Table(
    "credit_days",
    metadata,
    store_id_column(),
    *_place_columns(),
    sa.Column("position", sa.BigInteger, primary_key=True),
    sa.Column("currency", sa.String(8), primary_key=True),
    sa.Column("carts", sa.BigInteger, nullable=False),
    sa.Column("carts_clicked", sa.BigInteger, nullable=False),  # of them after a click
    sa.Column("cart_value", sa.Double, nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("lines_clicked", sa.BigInteger, nullable=False),
    sa.Column("units", sa.BigInteger, nullable=False),
    sa.Column("revenue", sa.Double, nullable=False),
    sa.Column("revenue_clicked", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)

# The same by product.
item_credit_days = sa.Table(
    "item_credit_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("currency", sa.String(8), primary_key=True),
    sa.Column("carts", sa.BigInteger, nullable=False),
    sa.Column("carts_clicked", sa.BigInteger, nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("lines_clicked", sa.BigInteger, nullable=False),
    sa.Column("units", sa.BigInteger, nullable=False),
    sa.Column("revenue", sa.Double, nullable=False),
    sa.Column("revenue_clicked", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)

# Sums of all `outcomes`, attributed or not: the base of attributed shares.
outcome_days = sa.Table(
    "outcome_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("currency", sa.String(8), primary_key=True),
    sa.Column("carts", sa.BigInteger, nullable=False),
    sa.Column("cart_value", sa.Double, nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("units", sa.BigInteger, nullable=False),
    sa.Column("revenue", sa.Double, nullable=False),
    sa.Column("orders", sa.BigInteger, nullable=False),
    sa.Column("orders_credited", sa.BigInteger, nullable=False),  # with an attributed line
    # Of them, those with a line that followed a click.
    sa.Column("orders_clicked", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

# Impressions and clicks by day, widget and position.
touch_days = sa.Table(
    "touch_days",
    metadata,
    store_id_column(),
    *_place_columns(),
    sa.Column("position", sa.BigInteger, primary_key=True),
    sa.Column("shown", sa.BigInteger, nullable=False),
    sa.Column("clicked", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Which products were shown and clicked in which look.
look_days = sa.Table(
    "look_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("look", sa.Text, primary_key=True),  # looks.look_id, as text
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("shown", sa.BigInteger, nullable=False),
    sa.Column("clicked", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Sketches of shoppers shown and clicking (`engines/hyperloglog.py`).
shopper_days = sa.Table(
    "shopper_days",
    metadata,
    store_id_column(),
    *_place_columns(),
    sa.Column("shown", sa.LargeBinary, nullable=False),
    sa.Column("clicked", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Clicks on search results, by intent (as in `search_counts`).
search_days = sa.Table(
    "search_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("intent", sa.Text, primary_key=True),  # stems, blanks between
    sa.Column("text", sa.Text, nullable=False),  # as last typed by a shopper
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sa.Column("shoppers", sa.BigInteger, nullable=False),  # distinct shoppers
    sa.Column("positions", sa.BigInteger, nullable=False),  # clicks with a position
    sa.Column("position_sum", sa.BigInteger, nullable=False),
    sa.Column("who", sa.LargeBinary, nullable=False),  # the sketch of these shoppers
    sqlite_with_rowid=False,
)

# Sums of `outcomes` after a click on the product in search results.
search_credit_days = sa.Table(
    "search_credit_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("intent", sa.Text, primary_key=True),
    sa.Column("currency", sa.String(8), primary_key=True),
    sa.Column("carts", sa.BigInteger, nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("units", sa.BigInteger, nullable=False),
    sa.Column("revenue", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)

# Live events by kind and hour of UTC (milliseconds / 3,600,000).
event_hours = sa.Table(
    "event_hours",
    metadata,
    store_id_column(),
    sa.Column("hour", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.SmallInteger, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


# Tables of experiments: exposures, and daily results of tests.

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


# Table of insights: results that background jobs computed from a store's records.

# One row for each kind of result: the last one.
insights = sa.Table(
    "insights",
    metadata,
    store_id_column(),
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("computed_at", sa.BigInteger, nullable=False),
    sa.Column("applied_seq", sa.BigInteger, nullable=False),  # log position that it covers
    sa.Column("result", sa.Text, nullable=False),  # JSON
)


# Tables of demand: forecasts, drafts of running forecasts, and stock-outs.

# The newest run of each store; it replaces the previous one.
forecast_runs = sa.Table(
    "forecast_runs",
    metadata,
    store_id_column(),
    sa.Column("generated_at", sa.BigInteger, nullable=False),
    sa.Column("first_day", sa.String(10), nullable=False),  # of the forecast, ISO
    sa.Column("target_mode", sa.String(16), nullable=False),  # units order_lines
    sa.Column("history", sa.Text, nullable=False),  # JSON: [[day, actual], ...]
    sa.Column("total", sa.Text, nullable=False),  # JSON: the store's days ahead and sums
    sa.Column("accuracy", sa.Text),  # JSON; null where the history is too short
    sa.Column("judged", sa.Text),  # JSON: the backtest of items; null likewise
    sa.Column("items", sa.BigInteger, nullable=False),
    sa.Column("learned", sa.BigInteger, nullable=False),  # items that the model knows
    sa.Column("seconds", sa.Double, nullable=False),  # that the run took
    sa.Column("alerted", sa.Text),  # JSON: ids of products in alert e-mails
)

item_forecasts = sa.Table(
    "item_forecasts",
    metadata,
    store_id_column(),
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("method", sa.String(16), nullable=False),  # lgbm statistical
    sa.Column("days", sa.Text, nullable=False),  # JSON: [mean, p10, p50, p90] of each day
    sa.Column("expected", sa.Double, nullable=False),  # the sum of the means
    sa.Column("spread", sa.Double, nullable=False),  # of sums, beside chance alone
    sa.Column("sold", sa.Text),  # JSON: in the last 30, 60 and 90 days
    sa.Column("ahead", sa.LargeBinary),  # float32: the means, then p90, of each day
    sa.Column("daily", sa.Text),  # JSON: [days before the run, sold] where any was sold
    sa.Column("paid", sa.Double),  # the mean price in the 90 days before; null: unknown
    sqlite_with_rowid=False,
)

# The draft of an interrupted run; the next attempt continues from it.
forecast_drafts = sa.Table(
    "forecast_drafts",
    metadata,
    store_id_column(),
    sa.Column("fingerprint", sa.String(64), nullable=False),  # of its inputs
    sa.Column("verdict", sa.Text, nullable=False),  # JSON
)

# One row per period in which an item was out of stock.
stock_outs = sa.Table(
    "stock_outs",
    metadata,
    store_id_column(),
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("since", sa.BigInteger, primary_key=True),  # when it was first observed
    sa.Column("until", sa.BigInteger),  # null: ongoing
    sqlite_with_rowid=False,
)

# How often a product feed was fetched on a day, and what the last fetch of it held.
feed_fetches = sa.Table(
    "feed_fetches",
    metadata,
    store_id_column(),
    sa.Column("feed", sa.String(16), primary_key=True),  # the name of its file
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("fetches", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),  # UTC ms
    sa.Column("products", sa.BigInteger, nullable=False),
    sa.Column("left_out", sa.Text, nullable=False),  # JSON: a count and ids by reason
    sqlite_with_rowid=False,
)

# The products that a mail shows, for a week. A recipient is a hash of the shopper's id.
mail_choices = sa.Table(
    "mail_choices",
    metadata,
    store_id_column(),
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("recipient", sa.BigInteger, primary_key=True),  # 0 without a shopper
    sa.Column("mail", sa.String(32), primary_key=True),  # digest of slot and campaign
    sa.Column("products", sa.Text, nullable=False),  # JSON: ids and engines by position
    sqlite_with_rowid=False,
)

# How often the pictures of a mail slot were loaded on a day, and its links clicked.
mail_days = sa.Table(
    "mail_days",
    metadata,
    store_id_column(),
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("slot", sa.String(64), primary_key=True),  # the placement's name
    sa.Column("pictures", sa.BigInteger, nullable=False),
    sa.Column("proxy_pictures", sa.BigInteger, nullable=False),
    sa.Column("clicks", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# How often shopping assistants called an operation of the catalog on a day.
assistant_calls = sa.Table(
    "assistant_calls",
    metadata,
    store_id_column(),
    sa.Column("agent", sa.String(100), primary_key=True),  # the host of its profile
    sa.Column("operation", sa.String(24), primary_key=True),  # by its name as an MCP tool
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),  # UTC ms
    sqlite_with_rowid=False,
)

# How often assistants searched with a parameter of `attribution` on a day.
assistant_attributions = sa.Table(
    "assistant_attributions",
    metadata,
    store_id_column(),
    sa.Column("parameter", sa.String(16), primary_key=True),  # source, medium or campaign
    sa.Column("value", sa.String(40), primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("searches", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The merchant's addresses for webhooks.
webhook_endpoints = sa.Table(
    "webhook_endpoints",
    metadata,
    store_id_column(),
    sa.Column("endpoint_id", sa.String(24), primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("secret", sa.Text, nullable=False),  # encrypted where there is a key
    sa.Column("state", sa.String(8), nullable=False),  # on, off or gone
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_number", sa.BigInteger, nullable=False),  # of its newest message
    sa.Column("left_out", sa.Text),  # the events that it does not get, separated by blanks
    sqlite_with_rowid=False,
)

# The log of webhooks, and the outbox: messages in the order of their numbers.
webhook_messages = sa.Table(
    "webhook_messages",
    metadata,
    store_id_column(),
    sa.Column("endpoint_id", sa.String(24), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("event", sa.String(40), nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # JSON, as it is signed and sent
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(12), nullable=False),  # pending, delivered or failed
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", sa.BigInteger, nullable=False),  # of the next attempt
    sa.Column("tried_at", sa.BigInteger),  # the last attempt; null: none yet
    sa.Column("reply", sa.Text),  # what the last attempt got
    sa.Index(
        "ix_webhook_messages_pending",
        "next_at",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sqlite_with_rowid=False,
)

# Up to where the facts of each kind have become messages.
webhook_positions = sa.Table(
    "webhook_positions",
    metadata,
    store_id_column(),
    sa.Column("source", sa.String(40), primary_key=True),
    sa.Column("position", sa.Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)
