"""Tables of demand: forecasts, drafts of running forecasts, and stock-outs."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# The newest run of each store; it replaces the one before, whole.
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

# One row for each time that an item could not be bought for want of stock.
stock_outs = sa.Table(
    "stock_outs",
    metadata,
    store_id_column(),
    sa.Column("item", sa.BigInteger, primary_key=True),  # items.number
    sa.Column("since", sa.BigInteger, primary_key=True),  # when it was first seen so
    sa.Column("until", sa.BigInteger),  # null: it still is
    sqlite_with_rowid=False,
)
