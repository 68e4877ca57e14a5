"""Tables of the dashboard: users, sessions, links, invitations and the audit log."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

dashboard_users = sa.Table(
    "dashboard_users",
    metadata,
    store_id_column(),
    sa.Column("user_id", sa.String(32), primary_key=True),
    sa.Column("email", sa.String(320)),  # normalised; null: logs in with the domain
    sa.Column("role", sa.String(16), nullable=False),  # owner editor viewer
    sa.Column("password_hash", sa.String(255)),  # Argon2id; null: none chosen yet
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("store_id", "email"),
    sa.Index(None, "email"),
)

# Of a token only its SHA-256 is stored, in hex.
dashboard_sessions = sa.Table(
    "dashboard_sessions",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.String(200)),  # the browser, as it names itself
    sa.Column("address", sa.String(64)),
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
)

# Who changed what; `entry_id` begins with the time, so it sorts.
audit_log = sa.Table(
    "audit_log",
    metadata,
    store_id_column(),
    sa.Column("entry_id", sa.String(32), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

dashboard_resets = sa.Table(
    "dashboard_resets",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

# The shared secret of an authenticator app (TOTP), which the server needs as it is.
dashboard_second_factors = sa.Table(
    "dashboard_second_factors",
    metadata,
    store_id_column(),
    sa.Column("user_id", sa.String(32), primary_key=True),
    sa.Column("secret", sa.String(64), nullable=False),  # base32
    sa.Column("enabled_at", sa.BigInteger),  # null: no code has confirmed it yet
    sa.Column("last_step", sa.BigInteger, nullable=False),  # of the last code used
    sa.Column("recovery", sa.Text, nullable=False),  # JSON: hashes of codes not used yet
)

# Logins whose password was right and whose code is awaited.
dashboard_challenges = sa.Table(
    "dashboard_challenges",
    metadata,
    store_id_column(),
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("user_id", sa.String(32), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)
