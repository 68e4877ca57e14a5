"""Tables of merchandising: rules, and who changed them when."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

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
    sa.Column("rule", sa.Text, nullable=False),  # JSON: as it was left, or last was
)
