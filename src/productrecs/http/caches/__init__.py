"""Caches: open stores, recommendation lists, search results, activity counts."""
