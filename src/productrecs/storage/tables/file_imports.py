"""Table of file imports: files that a merchant sent in the dashboard, and their results."""

import sqlalchemy as sa

from productrecs.storage.tables.base import metadata, store_id_column

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
    sa.UniqueConstraint("store_id", "number"),
    sa.Index(None, "status"),
)
