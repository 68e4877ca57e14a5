"""Broken variant: an API process seldom looks for changes, and says that it is current."""

from productrecs.http.caches import store_cache
from productrecs.tenancy.accounts.store import Store


async def _refresh(_cache: store_cache.StoreCache, _store: Store) -> None:
    """Leave also what this process itself has written to the next poll."""


store_cache.POLL_SECONDS = 9.0  # type: ignore[misc]  # the fault itself
store_cache.STALE_AFTER_SECONDS = 60.0  # type: ignore[misc]
store_cache.StoreCache.refresh = _refresh  # type: ignore[assignment, method-assign]
