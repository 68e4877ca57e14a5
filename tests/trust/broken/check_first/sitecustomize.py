"""Broken variant: checks the catalog limit outside the transaction that stores."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from productrecs.http.routes.server import item_changes
from productrecs.records.catalog.catalog_push import CatalogLimitError
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store_management import catalog_limit

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

_change = getattr(item_changes, "_change_catalog")  # noqa: B009 - its own
_read = getattr(item_changes, "_read_push")  # noqa: B009 - its own
_pushed: dict[int, int] = {}


async def _noted(request: Any, exchange: RequestContext, key: str | None) -> Any:
    found = await _read(request, exchange, key)
    task = asyncio.current_task()
    _pushed[id(task)] = sum(patch.item_id.startswith("new") for patch in found.patches)
    return found


def _look(exchange: RequestContext, new: int) -> None:
    services, store = exchange.context.services, exchange.known_caller.store
    with services.database.reading() as connection:
        size = CatalogRepository(connection, store.store_id).size()
        accounts = AccountRepository(connection)
        limit = catalog_limit(accounts, store.store_id, services.settings.plans)
    if new and limit is not None and size + new > limit:
        message = "too many"
        raise CatalogLimitError(message)


async def _looking_first(exchange: RequestContext, change: Any) -> Any:
    new = _pushed.pop(id(asyncio.current_task()), 0)
    await asyncio.to_thread(_look, exchange, new)
    return await _change(exchange, lambda log, now_ms, _limit: change(log, now_ms, None))


setattr(item_changes, "_read_push", _noted)  # noqa: B010 - the fault itself
setattr(item_changes, "_change_catalog", _looking_first)  # noqa: B010 - the fault itself
