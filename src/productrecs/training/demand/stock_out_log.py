"""Stock tracking: records when an item sold out; the catalog knows only the present."""

from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.training.demand.repository import DemandRepository

_RETENTION_MS: Final = 800 * DAY_MS


def track_stock_outs(database: Database, store_id: StoreId, now_ms: int) -> int:
    """Note which items ran out or came back since the last look; return how many."""
    with database.reading() as connection:
        repository = DemandRepository(connection, store_id)
        noted = {one.item for one in repository.stock_outs(now_ms) if one.until is None}
        begun, ended = _changes(noted, repository.sold_out())
    if not begun and not ended:
        return 0
    with database.transaction() as transaction:
        repository = DemandRepository(transaction, store_id)
        if not repository.exists():
            return 0
        repository.begin_stock_outs(begun, now_ms)
        repository.end_stock_outs(ended, now_ms)
        repository.forget_stock_outs(now_ms - _RETENTION_MS)
    return len(begun) + len(ended)


def _changes(noted: set[int], out: set[int]) -> tuple[list[int], list[int]]:
    return sorted(out - noted), sorted(noted - out)
