"""Broken variant: an API process seldom looks for changes, and says that it is current."""

from productrecs.serving import open_stores
from productrecs.tenancy.accounts.store import Store


async def _refresh(_cache: open_stores.OpenStores, _store: Store) -> None:
    """Leave also what this process itself has written to the next poll."""


open_stores.POLL_SECONDS = 9.0  # type: ignore[misc]  # the fault itself
open_stores.STALE_AFTER_SECONDS = 60.0  # type: ignore[misc]
open_stores.OpenStores.refresh = _refresh  # type: ignore[assignment, method-assign]
