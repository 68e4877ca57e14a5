"""Account tables: stores, users, billing, jobs and keyed calls; and the shared metadata."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def store_id_column() -> sa.Column[str]:
    """Return the first column of every table: whose row it is, and first in its key."""
    return sa.Column("store_id", sa.String(32), primary_key=True)


# Tables of accounts: stores, their counters, and pointers to their trained models.

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
    sa.Column("plan_ends_at", sa.BigInteger),  # null: no end
    sa.Column("suspended_at", sa.BigInteger),  # when an operator suspended the store
    # The secret key's last four letters and its creation time; null: unknown.
    sa.Column("secret_end", sa.String(4)),
    sa.Column("secret_made_at", sa.BigInteger),
    # The replaced key, during the overlap.
    sa.Column("old_secret_hash", sa.String(64)),
    sa.Column("old_secret_end", sa.String(4)),
    sa.Column("old_secret_made_at", sa.BigInteger),
    sa.Column("old_secret_expires_at", sa.BigInteger),
)

# When each secret key was last used, to about ten minutes; `key_id` begins its hash.
key_uses = sa.Table(
    "key_uses",
    metadata,
    store_id_column(),
    sa.Column("key_id", sa.String(16), primary_key=True),
    sa.Column("used_at", sa.BigInteger, nullable=False),
    sa.Column("address", sa.String(64)),  # the client's address
)

# One row per store, locked by each of its writes: it assigns `seq` in commit order.
store_heads = sa.Table(
    "store_heads",
    metadata,
    store_id_column(),
    sa.Column("seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("catalog_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("catalog_size", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("next_number", sa.BigInteger, nullable=False, server_default="0"),
    # JSON: the number of items in each price list.
    sa.Column("price_lists", sa.Text, nullable=False, server_default="{}"),
    sa.Column("model_id", sa.String(64)),
    sa.Column("search_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("synced_at", sa.BigInteger),  # when the whole catalog was last pushed again
    sa.Column("rules_seq", sa.BigInteger, nullable=False, server_default="0"),
    # Pictures: the processed catalog position, their changes, and the serving model.
    sa.Column("pictured_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("picture_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("visual_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("visual_id", sa.String(64)),
    sa.Column("visual_taught_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("looks_seq", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("placements_seq", sa.BigInteger, nullable=False, server_default="0"),
    # The search index in the object store; null where every machine has the same folder.
    sa.Column("index_id", sa.String(64)),
    # Number of erased shoppers: a change invalidates caches of the log.
    sa.Column("erasures", sa.BigInteger, nullable=False, server_default="0"),
    # How often stored events became a bot's or were purged: it invalidates the same caches.
    sa.Column("bots", sa.BigInteger, nullable=False, server_default="0"),
    # When the last order came with the secret key; null: none yet. To the hour.
    sa.Column("confirmed_order_at", sa.BigInteger),
)

# The connection to the merchant's shop system; created at its first call.
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

# Which process does a task that only one of all machines may do, and until when.
leases = sa.Table(
    "leases",
    metadata,
    store_id_column(),
    sa.Column("task", sa.String(32), primary_key=True),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

# The only table without a store: counters of the installation that views poll.
counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)


# Tables of the dashboard: users, sessions, links, invitations and the audit log.

# A row is one login in one store. The rows of a person with several stores have one
# `login_id`; their e-mail, password, second factor and confirmation are equal.

dashboard_users = sa.Table(
    "dashboard_users",
    metadata,
    store_id_column(),
    sa.Column("user_id", sa.String(32), primary_key=True),
    sa.Column("email", sa.String(320)),  # normalised; null: logs in with the domain
    sa.Column("role", sa.String(16), nullable=False),  # owner editor viewer
    sa.Column("password_hash", sa.String(255)),  # Argon2id; null: not set yet
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("stock_mails", sa.Boolean),  # whether stock e-mails are sent; null: no
    sa.Column("search_mails", sa.Boolean),  # the same for alarms of search relevance
    sa.Column("feed_mails", sa.Boolean),  # the same for a scheduled feed that needs a look
    sa.Column("weekly_mails", sa.Boolean),  # the same for the weekly report
    sa.Column("weekly_mailed_at", sa.BigInteger),  # the last one, or when it was asked for
    sa.Column("login_id", sa.String(32)),  # null: the login opens this store alone
    sa.Column("confirmed_at", sa.BigInteger),  # when a mailed link proved the e-mail
    sa.Column("entered_at", sa.BigInteger),  # when the last session in the store began
    sa.UniqueConstraint("store_id", "email"),
    sa.Index(None, "email"),
    sa.Index(None, "login_id"),
)

# Tokens are stored only as SHA-256, in hex.
dashboard_sessions = sa.Table(
    "dashboard_sessions",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.String(200)),  # the browser's user agent
    sa.Column("address", sa.String(64)),
    sa.Column("from_shop", sa.Boolean),  # began with a link of the plugin; null: no
)

# Invitations into a store's team, and those to register a store: `NEW_STORE` is their id.
dashboard_invitations = sa.Table(
    "dashboard_invitations",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("email", sa.String(320)),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("maker", sa.String(32)),  # user id; null: an operator
    sa.Column("mailed", sa.Boolean),  # the link went to the e-mail alone; null: no
)

# What an assistant of the merchant sends: `role` says whether it may change the store.
access_tokens = sa.Table(
    "access_tokens",
    metadata,
    store_id_column(),
    sa.Column("token_id", sa.String(16), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("token_hash", sa.String(64), nullable=False),
    sa.Column("confirmation_key", sa.String(64), nullable=False),
    sa.Column("creator", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),  # null: never
    sa.Column("calls", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

# Audit log; `entry_id` begins with the time, so it sorts.
audit_log = sa.Table(
    "audit_log",
    metadata,
    store_id_column(),
    sa.Column("entry_id", sa.String(32), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("undo", sa.Text),  # `RemovedRows` as JSON, until it is undone
)

# Links that set a password, or confirm an e-mail.
dashboard_resets = sa.Table(
    "dashboard_resets",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("mailed", sa.Boolean),  # the link went to the e-mail alone; null: no
)

# The shared secret of an authenticator app (TOTP), which the server needs unhashed:
# encrypted, else in base32.
dashboard_second_factors = sa.Table(
    "dashboard_second_factors",
    metadata,
    store_id_column(),
    sa.Column("user_id", sa.String(32), primary_key=True),
    sa.Column("secret", sa.String(255), nullable=False),
    sa.Column("enabled_at", sa.BigInteger),  # null: no code has confirmed it yet
    sa.Column("last_step", sa.BigInteger, nullable=False),  # of the last code used
    sa.Column("recovery", sa.Text, nullable=False),  # JSON: hashes of codes not used yet
)

# Token buckets of failed logins and the like, shared by every process. The name (an e-mail,
# an address) is hashed: it may be a stranger's, or a mistyped password.
login_attempts = sa.Table(
    "login_attempts",
    metadata,
    sa.Column("name_hash", sa.String(64), primary_key=True),
    sa.Column("full_at", sa.BigInteger, nullable=False),  # no failure counts after this
    sa.Index(None, "full_at"),
)

# Logins with a correct password that wait for their code.
dashboard_challenges = sa.Table(
    "dashboard_challenges",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("from_shop", sa.Boolean),  # as of a session
)


# Tables of billing: metered calls of each store and month.

# The only foreign key: counting takes no lock on the store, so a count could
# otherwise arrive during the store's deletion, and remain.
metered_calls = sa.Table(
    "metered_calls",
    metadata,
    store_id_column(),
    sa.Column("month", sa.String(7), primary_key=True),  # of UTC, such as 2026-11
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.ForeignKeyConstraint(["store_id"], ["stores.store_id"], ondelete="CASCADE"),
)


# Table of key misuse: foreign origins, leaked secret keys and inhuman rates.

# Origins outside the allowlist, secret keys in public places, programs as shoppers.
sightings = sa.Table(
    "sightings",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("value", sa.String(255), primary_key=True),  # an origin; empty: unknown
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),  # to about an hour
    sqlite_with_rowid=False,
)


# Table of signed identities that proved nothing: how many calls sent one. The rows of the
# installation (*) count calls with a key that no store has.
refused_identities = sa.Table(
    "refused_identities",
    metadata,
    store_id_column(),
    sa.Column("day", sa.Integer, primary_key=True),  # of UTC, since 1970
    sa.Column("reason", sa.String(16), primary_key=True),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


# Table of idempotency keys: executed calls, and their replies.

# Retained for a day: a retry gets the first call's reply.
named_calls = sa.Table(
    "named_calls",
    metadata,
    store_id_column(),
    sa.Column("what", sa.String(16), primary_key=True),  # items, uploads
    sa.Column("name", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),  # of the body
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("stored_at", sa.BigInteger, nullable=False),
)


# Tables of jobs: the job queue, when periodic tasks last ran, and job totals.

# Times are the machine's (operational) clock, never the business clock of replays.
jobs = sa.Table(
    "jobs",
    metadata,
    store_id_column(),
    sa.Column("job_id", sa.String(32), primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("key", sa.String(128), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # queued running done dead
    sa.Column("payload", sa.Text, nullable=False),  # JSON
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("run_at", sa.BigInteger, nullable=False),
    sa.Column("token", sa.String(32)),  # fences a worker that lost its lease
    sa.Column("leased_until", sa.BigInteger),
    sa.Column("progress", sa.Double),
    sa.Column("error", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger),
    sa.Index("ix_jobs_state_run_at", "state", "run_at"),
    sa.Index(
        "uq_jobs_one_queued",
        "store_id",
        "key",
        unique=True,
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    ),
    sa.Index(
        "uq_jobs_one_running",
        "store_id",
        "key",
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    ),
)

# The schedule: a store's periodic task is not due again before `due_at`.
duties = sa.Table(
    "duties",
    metadata,
    store_id_column(),
    sa.Column("duty", sa.String(32), primary_key=True),
    sa.Column("due_at", sa.BigInteger, nullable=False),
)

# Outcomes of all jobs by kind; rows belong to the installation.
job_totals = sa.Table(
    "job_totals",
    metadata,
    store_id_column(),
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("done", sa.BigInteger, nullable=False),
    sa.Column("retried", sa.BigInteger, nullable=False),  # attempts that failed
    sa.Column("dead", sa.BigInteger, nullable=False),
    sa.Column("milliseconds", sa.BigInteger, nullable=False),  # total of all attempts
    sa.Column("done_at", sa.BigInteger),  # time of the last success
)

# What each kind of data takes, by day: weeks of the installation, the last of a store.
data_sizes = sa.Table(
    "data_sizes",
    metadata,
    store_id_column(),
    sa.Column("day", sa.String(10), primary_key=True),  # UTC
    sa.Column("part", sa.String(16), primary_key=True),  # storage.storage_usage.DataKind
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("month_rows", sa.BigInteger, nullable=False),  # of the last 30 days
    sa.Column("old_rows", sa.BigInteger, nullable=False),  # older than a year
    sa.Column("bytes", sa.BigInteger, nullable=False),
)


# Table of widget settings: only the values that the merchant set.

widget_configs = sa.Table(
    "widget_configs",
    metadata,
    store_id_column(),
    sa.Column("type", sa.String(32), primary_key=True),  # recs, search, ...
    sa.Column("settings", sa.Text, nullable=False),  # JSON object: only what was set
    sa.Column("custom_css", sa.Text),
    sa.Column("scoped", sa.Boolean),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

# Only the release before this one writes it; the next release removes it.
metering_rounds = sa.Table(
    "metering_rounds",
    metadata,
    sa.Column("sheet", sa.String(16), primary_key=True),
    sa.Column("round", sa.BigInteger, nullable=False),
)
