"""Table of widget settings: only the values that the merchant set."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

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
