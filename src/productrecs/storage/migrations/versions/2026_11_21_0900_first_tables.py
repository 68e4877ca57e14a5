"""First tables: stores, catalog, events, purchases, jobs and model pointers."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_21_0900"
down_revision = None


def upgrade() -> None:
    """Make every table of the first release."""
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_table(
        "duties",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("duty", sa.String(length=32), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "duty", name=op.f("pk_duties")),
    )
    op.create_table(
        "event_receipts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("event_id", sa.String(length=64), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "event_id", name=op.f("pk_event_receipts")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_event_receipts_store_id_received_at"),
        "event_receipts",
        ["store_id", "received_at"],
        unique=False,
    )
    op.create_table(
        "events",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=True),
        sa.Column("shopper", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("term", sa.Text(), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("currency", sa.String(length=8), nullable=True),
        sa.Column("quantity", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("widget", sa.Text(), nullable=True),
        sa.Column("imported", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "seq", name=op.f("pk_events")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_events_store_id_person_seq"),
        "events",
        ["store_id", "person", "seq"],
        unique=False,
    )
    op.create_table(
        "imports",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("lines_done", sa.BigInteger(), nullable=False),
        sa.Column("lines_added", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "kind", "digest", name=op.f("pk_imports")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "items",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("change_seq", sa.BigInteger(), nullable=False),
        sa.Column("sku", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("product_url", sa.Text(), nullable=True),
        sa.Column("image_url", sa.Text(), nullable=True),
        sa.Column("price", sa.Double(), nullable=True),
        sa.Column("availability", sa.String(length=16), nullable=True),
        sa.Column("stock_qty", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("categories", sa.Text(), server_default="[]", nullable=False),
        sa.Column("category_ids", sa.Text(), server_default="[]", nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("available_from", sa.String(length=40), nullable=True),
        sa.Column("available_until", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "number", name=op.f("pk_items")),
        sa.UniqueConstraint("store_id", "item_id", name=op.f("uq_items_store_id_item_id")),
    )
    op.create_index(
        op.f("ix_items_store_id_change_seq"),
        "items",
        ["store_id", "change_seq"],
        unique=False,
    )
    op.create_table(
        "jobs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_at", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("progress", sa.Double(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "job_id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_state_run_at", "jobs", ["state", "run_at"], unique=False)
    op.create_index(
        "uq_jobs_one_queued",
        "jobs",
        ["store_id", "key"],
        unique=True,
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "uq_jobs_one_running",
        "jobs",
        ["store_id", "key"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "models",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("model_id", sa.String(length=64), nullable=False),
        sa.Column("applied_seq", sa.BigInteger(), nullable=False),
        sa.Column("catalog_seq", sa.BigInteger(), nullable=False),
        sa.Column("settings_hash", sa.String(length=64), nullable=False),
        sa.Column("trained_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "model_id", name=op.f("pk_models")),
    )
    op.create_table(
        "order_receipts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("order_id", sa.String(length=255), nullable=False),
        sa.Column("receipt", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "order_id", name=op.f("pk_order_receipts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "purchase_lines",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("line_seq", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("basket", sa.BigInteger(), nullable=True),
        sa.Column("order_id", sa.Text(), nullable=True),
        sa.Column("receipt", sa.Integer(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("channel", sa.SmallInteger(), nullable=False),
        sa.Column("void", sa.Boolean(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=True),
        sa.Column("price", sa.Double(), nullable=True),
        sa.Column("total", sa.Double(), nullable=True),
        sa.Column("currency", sa.String(length=8), nullable=True),
        sa.Column("shopper", sa.Text(), nullable=True),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("imported", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "line_seq", name=op.f("pk_purchase_lines")),
        sa.UniqueConstraint(
            "store_id",
            "order_id",
            "receipt",
            "item",
            "line",
            name=op.f("uq_purchase_lines_store_id_order_id_receipt_item_line"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_purchase_lines_store_id_person_seq"),
        "purchase_lines",
        ["store_id", "person", "seq"],
        unique=False,
    )
    op.create_index(
        op.f("ix_purchase_lines_store_id_seq"),
        "purchase_lines",
        ["store_id", "seq"],
        unique=False,
    )
    op.create_table(
        "shopper_links",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("customer", sa.Text(), nullable=False),
        sa.Column("since_seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "session", name=op.f("pk_shopper_links")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_shopper_links_store_id_customer"),
        "shopper_links",
        ["store_id", "customer"],
        unique=False,
    )
    op.create_table(
        "store_heads",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("catalog_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("catalog_size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("model_id", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_store_heads")),
    )
    op.create_table(
        "stores",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("domain", sa.String(length=255), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=True),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("plan", sa.String(length=32), nullable=False),
        sa.Column("publishable_key", sa.String(length=64), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=True),
        sa.Column("origins", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_stores")),
        sa.UniqueConstraint("domain", name=op.f("uq_stores_domain")),
        sa.UniqueConstraint("publishable_key", name=op.f("uq_stores_publishable_key")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_stores_secret_hash")),
    )
