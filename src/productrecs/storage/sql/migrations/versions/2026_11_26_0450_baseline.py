"""Baseline: every table as of 26 November 2026; nothing older was released.

A later change of a table is a migration of its own. A database of an earlier schema is
refused with the remedy (`productrecs.storage.sql.migrations`).
"""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_26_0450"
down_revision = None


def upgrade() -> None:
    """Make every table and index."""
    op.create_table(
        "attribution_marks",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=16), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_attribution_marks")),
    )
    op.create_table(
        "audit_log",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("entry_id", sa.String(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "entry_id", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "bot_events",
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
        sa.Column("bot", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "seq", name=op.f("pk_bot_events")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_bot_events_store_id_person"),
        "bot_events",
        ["store_id", "person"],
        unique=False,
    )
    op.create_index(
        op.f("ix_bot_events_store_id_ts_bot"),
        "bot_events",
        ["store_id", "ts", "bot"],
        unique=False,
    )
    op.create_table(
        "bundles",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("bundle_id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "bundle_id", name=op.f("pk_bundles")),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_table(
        "credit_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("carts_clicked", sa.BigInteger(), nullable=False),
        sa.Column("cart_value", sa.Double(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("lines_clicked", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("revenue_clicked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id",
            "day",
            "widget",
            "source",
            "position",
            "currency",
            name=op.f("pk_credit_days"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dashboard_challenges",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("from_shop", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint(
            "store_id", "token_hash", name=op.f("pk_dashboard_challenges")
        ),
    )
    op.create_table(
        "dashboard_invitations",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "token_hash", name=op.f("pk_dashboard_invitations")
        ),
    )
    op.create_table(
        "dashboard_resets",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "token_hash", name=op.f("pk_dashboard_resets")),
    )
    op.create_table(
        "dashboard_second_factors",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("enabled_at", sa.BigInteger(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "user_id", name=op.f("pk_dashboard_second_factors")
        ),
    )
    op.create_table(
        "dashboard_sessions",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("from_shop", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint(
            "store_id", "token_hash", name=op.f("pk_dashboard_sessions")
        ),
    )
    op.create_table(
        "dashboard_users",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("stock_mails", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "user_id", name=op.f("pk_dashboard_users")),
        sa.UniqueConstraint(
            "store_id", "email", name=op.f("uq_dashboard_users_store_id_email")
        ),
    )
    op.create_index(
        op.f("ix_dashboard_users_email"), "dashboard_users", ["email"], unique=False
    )
    op.create_table(
        "duties",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("duty", sa.String(length=32), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "duty", name=op.f("pk_duties")),
    )
    op.create_table(
        "erased_names",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("erased_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_erased_names")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "erasures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("erasure_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("names", sa.Text(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("cleared_seq", sa.BigInteger(), nullable=True),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "erasure_id", name=op.f("pk_erasures")),
    )
    op.create_table(
        "event_hours",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "hour", "kind", name=op.f("pk_event_hours")),
        sqlite_with_rowid=False,
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
        "event_watches",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_event_watches")),
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
        op.f("ix_events_store_id_person_seq_kind_item_ts_session"),
        "events",
        ["store_id", "person", "seq", "kind", "item", "ts", "session"],
        unique=False,
    )
    op.create_table(
        "experiment_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("test", sa.String(length=64), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "test", "day", name=op.f("pk_experiment_days")),
    )
    op.create_table(
        "experiments",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("started_seq", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("winner", sa.String(length=8), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_experiments")),
    )
    op.create_table(
        "explorations",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("shopper", sa.Text(), nullable=False),
        sa.Column("about", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("chance", sa.Double(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "shopper", "about", "item", name=op.f("pk_explorations")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "exposures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("test", sa.String(length=64), nullable=False),
        sa.Column("arm", sa.String(length=8), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "identity", "test", "arm", name=op.f("pk_exposures")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_exposures_store_id_test_first_at"),
        "exposures",
        ["store_id", "test", "first_at"],
        unique=False,
    )
    op.create_table(
        "file_imports",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("import_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sent_by", sa.String(length=320), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("choices", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("preview", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("rejects", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "import_id", name=op.f("pk_file_imports")),
        sa.UniqueConstraint(
            "store_id", "number", name=op.f("uq_file_imports_store_id_number")
        ),
    )
    op.create_index(
        op.f("ix_file_imports_status"), "file_imports", ["status"], unique=False
    )
    op.create_table(
        "forecast_drafts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_forecast_drafts")),
    )
    op.create_table(
        "forecast_runs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("generated_at", sa.BigInteger(), nullable=False),
        sa.Column("first_day", sa.String(length=10), nullable=False),
        sa.Column("target_mode", sa.String(length=16), nullable=False),
        sa.Column("history", sa.Text(), nullable=False),
        sa.Column("total", sa.Text(), nullable=False),
        sa.Column("accuracy", sa.Text(), nullable=True),
        sa.Column("judged", sa.Text(), nullable=True),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.Column("learned", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("alerted", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_forecast_runs")),
    )
    op.create_table(
        "imports",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("lines_done", sa.BigInteger(), nullable=False),
        sa.Column("lines_added", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lines_changed", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "kind", "digest", name=op.f("pk_imports")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "insights",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.Column("applied_seq", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_insights")),
    )
    op.create_table(
        "item_credit_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("carts_clicked", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("lines_clicked", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("revenue_clicked", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "item", "currency", name=op.f("pk_item_credit_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "item_forecasts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("method", sa.String(length=16), nullable=False),
        sa.Column("days", sa.Text(), nullable=False),
        sa.Column("expected", sa.Double(), nullable=False),
        sa.Column("spread", sa.Double(), nullable=False),
        sa.Column("sold", sa.Text(), nullable=True),
        sa.Column("ahead", sa.LargeBinary(), nullable=True),
        sa.Column("daily", sa.Text(), nullable=True),
        sa.Column("paid", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "item", name=op.f("pk_item_forecasts")),
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
        sa.Column("brand", sa.Text(), nullable=True),
        sa.Column("gtin", sa.Text(), nullable=True),
        sa.Column("color", sa.Text(), server_default="[]", nullable=False),
        sa.Column("size", sa.Text(), server_default="[]", nullable=False),
        sa.Column("material", sa.Text(), server_default="[]", nullable=False),
        sa.Column("attributes", sa.Text(), server_default="[]", nullable=False),
        sa.Column("list_price", sa.Double(), nullable=True),
        sa.Column("prices", sa.Text(), server_default="[]", nullable=False),
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
        "job_totals",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("retried", sa.BigInteger(), nullable=False),
        sa.Column("dead", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.BigInteger(), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "kind", name=op.f("pk_job_totals")),
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
        "key_uses",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "key_id", name=op.f("pk_key_uses")),
    )
    op.create_table(
        "leases",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("task", sa.String(length=32), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "task", name=op.f("pk_leases")),
    )
    op.create_table(
        "live_events",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("entry_id", sa.String(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("session", sa.String(length=128), nullable=False),
        sa.Column("item", sa.String(length=128), nullable=False),
        sa.Column("client", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "entry_id", name=op.f("pk_live_events")),
    )
    op.create_table(
        "login_attempts",
        sa.Column("name_hash", sa.String(length=64), nullable=False),
        sa.Column("full_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name_hash", name=op.f("pk_login_attempts")),
    )
    op.create_index(
        op.f("ix_login_attempts_full_at"), "login_attempts", ["full_at"], unique=False
    )
    op.create_table(
        "look_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "item", name=op.f("pk_look_days")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "look_pictures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("picture_id", sa.String(length=32), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("width", sa.BigInteger(), nullable=False),
        sa.Column("height", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "picture_id", name=op.f("pk_look_pictures")),
        info={"rows_at_once": 20},
    )
    op.create_table(
        "look_versions",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("look_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("image_url", sa.Text(), nullable=False),
        sa.Column("picture_id", sa.String(length=32), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("hotspots", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.String(length=320), nullable=True),
        sa.PrimaryKeyConstraint(
            "store_id", "look_id", "version", name=op.f("pk_look_versions")
        ),
    )
    op.create_table(
        "looks",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("look_id", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("image_url", sa.Text(), nullable=False),
        sa.Column("picture_id", sa.String(length=32), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("hotspots", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.String(length=320), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "look_id", name=op.f("pk_looks")),
    )
    op.create_index(
        op.f("ix_looks_store_id_state"), "looks", ["store_id", "state"], unique=False
    )
    op.create_table(
        "metering_rounds",
        sa.Column("sheet", sa.String(length=16), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sheet", name=op.f("pk_metering_rounds")),
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
        "named_calls",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "what", "name", name=op.f("pk_named_calls")),
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
        "outcome_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("cart_value", sa.Double(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=False),
        sa.Column("orders_credited", sa.BigInteger(), nullable=False),
        sa.Column("orders_clicked", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "currency", name=op.f("pk_outcome_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcomes",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("fact", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("basket", sa.BigInteger(), nullable=True),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("touch", sa.BigInteger(), nullable=True),
        sa.Column("clicked", sa.Boolean(), nullable=True),
        sa.Column("touched_at", sa.BigInteger(), nullable=True),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("search", sa.BigInteger(), nullable=True),
        sa.Column("intent", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("store_id", "fact", name=op.f("pk_outcomes")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_outcomes_store_id_day"), "outcomes", ["store_id", "day"], unique=False
    )
    op.create_table(
        "pictures",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("etag", sa.String(length=200), nullable=True),
        sa.Column("modified", sa.String(length=200), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), nullable=True),
        sa.Column("embedder", sa.String(length=80), nullable=True),
        sa.Column("descriptor", sa.LargeBinary(), nullable=True),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "number", name=op.f("pk_pictures")),
    )
    op.create_index(op.f("ix_pictures_due_at"), "pictures", ["due_at"], unique=False)
    op.create_index(
        op.f("ix_pictures_store_id_state"), "pictures", ["store_id", "state"], unique=False
    )
    op.create_table(
        "placements",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "name", name=op.f("pk_placements")),
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
        op.f("ix_purchase_lines_store_id_person_seq_void_item_ts_session"),
        "purchase_lines",
        ["store_id", "person", "seq", "void", "item", "ts", "session"],
        unique=False,
    )
    op.create_index(
        op.f("ix_purchase_lines_store_id_seq"),
        "purchase_lines",
        ["store_id", "seq"],
        unique=False,
    )
    op.create_table(
        "rankers",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("trained_at", sa.BigInteger(), nullable=False),
        sa.Column("serves", sa.Boolean(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("trees", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_rankers")),
    )
    op.create_table(
        "rule_changes",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "change_id", name=op.f("pk_rule_changes")),
    )
    op.create_table(
        "rules",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("starts", sa.String(length=40), nullable=True),
        sa.Column("ends", sa.String(length=40), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("strength", sa.Double(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "rule_id", name=op.f("pk_rules")),
    )
    op.create_table(
        "search_counts",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("intent", sa.String(length=256), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("searches", sa.BigInteger(), nullable=False),
        sa.Column("empty", sa.BigInteger(), nullable=False),
        sa.Column("unnamed", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("shoppers", sa.LargeBinary(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "intent", name=op.f("pk_search_counts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "search_credit_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("currency", sa.String(length=8), nullable=False),
        sa.Column("carts", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("units", sa.BigInteger(), nullable=False),
        sa.Column("revenue", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "intent", "currency", name=op.f("pk_search_credit_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "search_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("shoppers", sa.BigInteger(), nullable=False),
        sa.Column("positions", sa.BigInteger(), nullable=False),
        sa.Column("position_sum", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "day", "intent", name=op.f("pk_search_days")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "search_rules",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("starts", sa.String(length=40), nullable=True),
        sa.Column("ends", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "rule_id", name=op.f("pk_search_rules")),
    )
    op.create_table(
        "shopper_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("shown", sa.LargeBinary(), nullable=False),
        sa.Column("clicked", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "widget", "source", name=op.f("pk_shopper_days")
        ),
        sqlite_with_rowid=False,
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
    op.create_index(
        op.f("ix_shopper_links_store_id_since_seq"),
        "shopper_links",
        ["store_id", "since_seq"],
        unique=False,
    )
    op.create_table(
        "sightings",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("value", sa.String(length=255), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "kind", "value", name=op.f("pk_sightings")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "stock_outs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", "item", "since", name=op.f("pk_stock_outs")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "store_connections",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("platform", sa.String(length=32), nullable=True),
        sa.Column("platform_chosen", sa.Boolean(), nullable=False),
        sa.Column("plugin_version", sa.Text(), nullable=True),
        sa.Column("store_url", sa.Text(), nullable=True),
        sa.Column("first_connected_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_store_connections")),
    )
    op.create_table(
        "store_heads",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("catalog_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("catalog_size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("price_lists", sa.Text(), server_default="{}", nullable=False),
        sa.Column("model_id", sa.String(length=64), nullable=True),
        sa.Column("search_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("synced_at", sa.BigInteger(), nullable=True),
        sa.Column("rules_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("pictured_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("picture_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("visual_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("visual_id", sa.String(length=64), nullable=True),
        sa.Column("visual_taught_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("looks_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("placements_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("index_id", sa.String(length=64), nullable=True),
        sa.Column("erasures", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bots", sa.BigInteger(), server_default="0", nullable=False),
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
        sa.Column("plan_ends_at", sa.BigInteger(), nullable=True),
        sa.Column("suspended_at", sa.BigInteger(), nullable=True),
        sa.Column("secret_end", sa.String(length=4), nullable=True),
        sa.Column("secret_made_at", sa.BigInteger(), nullable=True),
        sa.Column("old_secret_hash", sa.String(length=64), nullable=True),
        sa.Column("old_secret_end", sa.String(length=4), nullable=True),
        sa.Column("old_secret_made_at", sa.BigInteger(), nullable=True),
        sa.Column("old_secret_expires_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("store_id", name=op.f("pk_stores")),
        sa.UniqueConstraint("domain", name=op.f("uq_stores_domain")),
        sa.UniqueConstraint("publishable_key", name=op.f("uq_stores_publishable_key")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_stores_secret_hash")),
    )
    op.create_table(
        "synonyms",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("synonym_id", sa.BigInteger(), nullable=False),
        sa.Column("texts", sa.Text(), nullable=False),
        sa.Column("one_way", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "synonym_id", name=op.f("pk_synonyms")),
    )
    op.create_table(
        "touch_days",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("widget", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "store_id", "day", "widget", "source", "position", name=op.f("pk_touch_days")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "uploads",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("upload_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("rows_done", sa.BigInteger(), nullable=False),
        sa.Column("lines_imported", sa.BigInteger(), nullable=False),
        sa.Column("lines_updated", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rows_undated", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("undated", sa.Text(), server_default="[]", nullable=False),
        sa.Column("rows_skipped", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "upload_id", name=op.f("pk_uploads")),
        sa.UniqueConstraint("store_id", "number", name=op.f("uq_uploads_store_id_number")),
    )
    op.create_index(op.f("ix_uploads_status"), "uploads", ["status"], unique=False)
    op.create_table(
        "widget_configs",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("custom_css", sa.Text(), nullable=True),
        sa.Column("scoped", sa.Boolean(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("store_id", "type", name=op.f("pk_widget_configs")),
    )
    op.create_table(
        "metered_calls",
        sa.Column("store_id", sa.String(length=32), nullable=False),
        sa.Column("month", sa.String(length=7), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["store_id"],
            ["stores.store_id"],
            name=op.f("fk_metered_calls_store_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("store_id", "month", name=op.f("pk_metered_calls")),
    )
