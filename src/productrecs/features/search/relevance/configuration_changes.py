"""Configuration changes: what changed since a measure of search relevance, in words.

A change that a user of the dashboard or the command line made is named by its line of the
audit log. Others, by the shop's server, are named by what they changed.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from productrecs.features.search.relevance.repository import (
    ConfigurationChange,
    RelevanceRepository,
    StoredMeasure,
)
from productrecs.storage.sql.audit_log import AuditEntry, AuditLogRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.store_counters_and_versions import view_versions_by_store
from productrecs.tenancy.accounts.store import Store

SEARCH_SETTINGS: Final = (
    "language",
    "search_sold_out",
    "search_meaning",
    "search_query_filters",
    "search_collapse",
)
AUDITED_ACTIONS: Final = MappingProxyType(
    {
        "search": (
            "Saved a synonym or search rule",
            "Removed a synonym or search rule",
            "Undid a removal",
        ),
        "rules": (
            "Saved a rule",
            "Switched a rule on or off",
            "Removed a rule",
            "Undid a change of a rule",
            "Undid a removal",
        ),
        "settings": ("Changed list settings", "Changed the store's settings"),
        "catalog": ("Started an import", "Undid an import"),
    }
)
"""The actions of the audit log that change each part of the configuration."""

_UNNAMED: Final = MappingProxyType(
    {
        "search": "synonyms or search rules were changed",
        "rules": "merchandising rules were changed",
    }
)
_MAX_LINES: Final = 5
_MAX_DETAIL: Final = 160
_MAX_TITLES: Final = 3


def search_configuration_versions(database: Database, store: Store) -> dict[str, Any]:
    """Return the versions of what decides the results of search."""
    reader = database.raw_reader()
    try:
        versions = view_versions_by_store(reader, [store.store_id])[store.store_id]
    finally:
        reader.close()
    return {
        "catalog": versions.catalog_seq,
        "model": versions.model_id,
        "rules": versions.rules_seq,
        "search": versions.search_seq,
        "settings": search_settings(store),
    }


def search_settings(store: Store) -> dict[str, Any]:
    """Return the settings that decide the results of search."""
    return {name: getattr(store.settings, name) for name in SEARCH_SETTINGS}


def configuration_changes_since(
    database: Database,
    store: Store,
    last: StoredMeasure,
    versions: Mapping[str, Any],
) -> Iterator[ConfigurationChange]:
    """Yield what changed between the last measure and the present `versions`."""
    old = last.versions
    with database.reading() as connection:
        entries = AuditLogRepository(connection, store.store_id).since(last.measured_at)
        repository = RelevanceRepository(connection, store.store_id)
        count, titles = repository.changed_item_count_and_titles(
            int(old.get("catalog") or 0), _MAX_TITLES
        )
    for kind, unnamed in _UNNAMED.items():
        if versions[kind] != old.get(kind):
            audited = list(_audited_changes(kind, entries))
            yield from audited or [ConfigurationChange(unnamed, kind)]
    settings = list(_setting_changes(old.get("settings", {}), versions["settings"]))
    if settings:
        yield from list(_audited_changes("settings", entries)) or settings
    if versions["catalog"] != old.get("catalog"):
        yield from _audited_changes("catalog", entries)
        yield from _product_changes(count, titles)
    if versions["model"] != old.get("model"):
        yield ConfigurationChange("search learned from newer clicks", "model")


def _audited_changes(kind: str, entries: list[AuditEntry]) -> Iterator[ConfigurationChange]:
    entries = [entry for entry in entries if entry.action in AUDITED_ACTIONS[kind]]
    for entry in entries[:_MAX_LINES]:
        detail = entry.detail
        if len(detail) > _MAX_DETAIL:
            detail = f"{detail[:_MAX_DETAIL].rstrip()} …"
        text = f"{entry.action} ({detail})" if detail else entry.action
        yield ConfigurationChange(text, kind, entry.entry_id)
    if len(entries) > _MAX_LINES:
        more = len(entries) - _MAX_LINES
        yield ConfigurationChange(f"{more} more such changes", kind, entries[-1].entry_id)


def _setting_changes(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[ConfigurationChange]:
    for name, value in now.items():
        if name in before and value != before[name]:
            text = f"the setting {name} was changed from {before[name]} to {value}"
            yield ConfigurationChange(text, "settings")


def _product_changes(count: int, titles: list[str]) -> Iterator[ConfigurationChange]:
    if count:
        products = "product was" if count == 1 else "products were"
        named = ", ".join(titles) + (" and others" if count > len(titles) else "")
        text = f"{count:,} {products} changed or removed ({named})"
        yield ConfigurationChange(text, "catalog")
