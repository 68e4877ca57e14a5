"""Table of uploads: order histories, and how far each is imported."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

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
    sa.Column("attempts", sa.Integer, nullable=False),  # since it last got further
    sa.UniqueConstraint("store_id", "number"),
    sa.Index(None, "status"),
)
