"""Tables: the schema; migrations create it, and a test compares the two.

Every primary key begins with `store_id`, so that the schema shards by store.
"""

from productrecs.storage.tables.accounts import (
    counters,
    key_uses,
    models,
    store_connections,
    store_heads,
    stores,
)
from productrecs.storage.tables.attribution import (
    attribution_marks,
    credit_days,
    event_hours,
    look_days,
    outcome_days,
    outcomes,
    search_credit_days,
    search_days,
    shopper_days,
    touch_days,
)
from productrecs.storage.tables.base import metadata
from productrecs.storage.tables.billing import metered_calls
from productrecs.storage.tables.catalog import items
from productrecs.storage.tables.dashboard import (
    audit_log,
    dashboard_challenges,
    dashboard_invitations,
    dashboard_resets,
    dashboard_second_factors,
    dashboard_sessions,
    dashboard_users,
)
from productrecs.storage.tables.demand import (
    forecast_drafts,
    forecast_runs,
    item_forecasts,
    stock_outs,
)
from productrecs.storage.tables.erasures import erased_names, erasures
from productrecs.storage.tables.events import event_receipts, events, imports, shopper_links
from productrecs.storage.tables.experiments import experiment_days, explorations, exposures
from productrecs.storage.tables.file_imports import file_imports
from productrecs.storage.tables.idempotency import named_calls
from productrecs.storage.tables.insights import insights
from productrecs.storage.tables.jobs import jobs
from productrecs.storage.tables.key_misuse import sightings
from productrecs.storage.tables.live_events import event_watches, live_events
from productrecs.storage.tables.looks import look_pictures, looks
from productrecs.storage.tables.merchandising import rule_changes, rules
from productrecs.storage.tables.pictures import pictures
from productrecs.storage.tables.purchases import order_receipts, purchase_lines
from productrecs.storage.tables.ranking import rankers
from productrecs.storage.tables.search import search_counts, search_rules, synonyms
from productrecs.storage.tables.uploads import uploads
from productrecs.storage.tables.widgets import widget_configs

__all__ = [
    "attribution_marks",
    "audit_log",
    "counters",
    "credit_days",
    "dashboard_challenges",
    "dashboard_invitations",
    "dashboard_resets",
    "dashboard_second_factors",
    "dashboard_sessions",
    "dashboard_users",
    "erased_names",
    "erasures",
    "event_hours",
    "event_receipts",
    "event_watches",
    "events",
    "experiment_days",
    "explorations",
    "exposures",
    "file_imports",
    "forecast_drafts",
    "forecast_runs",
    "imports",
    "insights",
    "item_forecasts",
    "items",
    "jobs",
    "key_uses",
    "live_events",
    "look_days",
    "look_pictures",
    "looks",
    "metadata",
    "metered_calls",
    "models",
    "named_calls",
    "order_receipts",
    "outcome_days",
    "outcomes",
    "pictures",
    "purchase_lines",
    "rankers",
    "rule_changes",
    "rules",
    "search_counts",
    "search_credit_days",
    "search_days",
    "search_rules",
    "shopper_days",
    "shopper_links",
    "sightings",
    "stock_outs",
    "store_connections",
    "store_heads",
    "stores",
    "synonyms",
    "touch_days",
    "uploads",
    "widget_configs",
]
