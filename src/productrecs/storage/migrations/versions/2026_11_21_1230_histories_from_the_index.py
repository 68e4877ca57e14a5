"""Covering index for shopper history: it is read from the index alone."""

from alembic import op

revision = "2026_11_21_1230"
down_revision = "2026_11_21_1200"


def upgrade() -> None:
    """Widen two indexes by person and add one of links; on a large log it takes seconds."""
    op.drop_index(op.f("ix_events_store_id_person_seq"), "events")
    op.create_index(
        op.f("ix_events_store_id_person_seq_kind_item_ts_session"),
        "events",
        ["store_id", "person", "seq", "kind", "item", "ts", "session"],
    )
    op.drop_index(op.f("ix_purchase_lines_store_id_person_seq"), "purchase_lines")
    op.create_index(
        op.f("ix_purchase_lines_store_id_person_seq_void_item_ts_session"),
        "purchase_lines",
        ["store_id", "person", "seq", "void", "item", "ts", "session"],
    )
    op.create_index(
        op.f("ix_shopper_links_store_id_since_seq"),
        "shopper_links",
        ["store_id", "since_seq"],
    )
