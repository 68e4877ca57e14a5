"""Tables of the live view of events: which stores are watched, and what came lately."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

# A row says that somebody looks: every API process then notes the store's events.
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
    sa.Column("client", sa.String(16), nullable=False),  # a hash of address and browser
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # JSON as it came, cut where long
)
