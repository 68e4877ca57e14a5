"""Whose clicks say enough to learn an order from, and were last asked a day ago?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.training.ranking.repository import touched, trained_at


@dataclass(frozen=True, slots=True)
class Enough:
    """From how much on an order is learned."""

    clicks: int = 2_000
    shown: int = 20_000


ENOUGH: Final = Enough()


def stores_to_order(
    database: Database, stores: Iterable[Store], now_ms: int
) -> list[StoreId]:
    """Return the stores whose order should be learned now: once a day, from enough on."""
    with database.reading() as connection:
        counts, learned = touched(connection), trained_at(connection)
    found = []
    for store in stores:
        shown, clicked = counts.get(store.store_id, (0, 0))
        plenty = shown >= ENOUGH.shown and clicked >= ENOUGH.clicks
        since = now_ms - learned.get(store.store_id, 0)
        if store.settings.learned_order and plenty and abs(since) >= DAY_MS:
            found.append(store.store_id)
    return found
