"""Tables of accounts: stores, their counters, and pointers to their trained models."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

stores = sa.Table(
    "stores",
    metadata,
    store_id_column(),
    sa.Column("domain", sa.String(255), nullable=False, unique=True),
    sa.Column("email", sa.String(320)),
    sa.Column("password_hash", sa.String(255)),  # moved to dashboard_users; not written
    sa.Column("plan", sa.String(32), nullable=False),
    sa.Column("publishable_key", sa.String(64), nullable=False, unique=True),
    sa.Column("secret_hash", sa.String(64), unique=True),  # SHA-256 in hex, never the key
    sa.Column("origins", sa.Text, nullable=False),  # JSON array of full origins
    sa.Column("settings", sa.Text, nullable=False),  # JSON object: only what was set
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("plan_ends_at", sa.BigInteger),  # null: it does not end
    sa.Column("suspended_at", sa.BigInteger),  # when an operator suspended the store
    # Of the secret key: its last four letters and when it was made; null: not known.
    sa.Column("secret_end", sa.String(4)),
    sa.Column("secret_made_at", sa.BigInteger),
    # The key before, while both are accepted.
    sa.Column("old_secret_hash", sa.String(64)),
    sa.Column("old_secret_end", sa.String(4)),
    sa.Column("old_secret_expires_at", sa.BigInteger),
)

# When each secret key was last used, to about ten minutes; `key_id` begins its hash.
key_uses = sa.Table(
    "key_uses",
    metadata,
    store_id_column(),
    sa.Column("key_id", sa.String(16), primary_key=True),
    sa.Column("used_at", sa.BigInteger, nullable=False),
)

# One row a store, locked by every write of that store: it hands out `seq` in commit order.
store_heads = sa.Table(
    "store_heads",
    metadata,
    store_id_column(),
    sa.Column("seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("catalog_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("catalog_size", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("next_number", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("model_id", sa.String(64)),
    sa.Column("search_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("synced_at", sa.BigInteger),  # when the whole catalog was last pushed again
    sa.Column("rules_seq", sa.BigInteger, nullable=False, server_default="0"),
    # Pictures: the catalog's changes that they follow, their own changes, what serves.
    sa.Column("pictured_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("picture_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("visual_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("visual_id", sa.String(64)),
    sa.Column("visual_taught_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("looks_seq", sa.BigInteger, nullable=False, server_default="0"),
    # How often shoppers were erased: caches of the log's facts start over at a change.
    sa.Column("erasures", sa.BigInteger, nullable=False, server_default="0"),
)

# How the merchant's own system is connected; a row from the first such call on.
store_connections = sa.Table(
    "store_connections",
    metadata,
    store_id_column(),
    sa.Column("platform", sa.String(32)),  # null before the first connect
    sa.Column("platform_chosen", sa.Boolean, nullable=False),  # named, not the default
    sa.Column("plugin_version", sa.Text),
    sa.Column("store_url", sa.Text),
    sa.Column("first_connected_at", sa.BigInteger),
)

models = sa.Table(
    "models",
    metadata,
    store_id_column(),
    sa.Column("model_id", sa.String(64), primary_key=True),
    sa.Column("applied_seq", sa.BigInteger, nullable=False),
    sa.Column("catalog_seq", sa.BigInteger, nullable=False),
    sa.Column("settings_hash", sa.String(64), nullable=False),
    sa.Column("trained_at", sa.BigInteger, nullable=False),
)

# The one table that is about the whole installation: counters that views poll.
counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)
