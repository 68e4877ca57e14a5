"""Catalog resync: marks every item as changed, so that all views read it again."""

from collections.abc import Iterator
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.storage.database import Database
from productrecs.storage.store_log import StoreLog

CHUNK: Final = 5_000


def resync_catalog(
    database: Database, store_id: StoreId, chunk: int = CHUNK
) -> Iterator[float]:
    """Note every item, deleted ones too, as just changed; give the share done, from 0 to 1.

    Readers that follow the catalog's changes read all of it again. Nothing of an item
    differs afterwards. `chunk` products make a transaction, so that the store's own
    writes come between; to stop half-way does no harm.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    start, end = 0, 1
    while start < end:
        with database.transaction() as transaction:
            seq = StoreLog(database, transaction, store_id).take(1)
            repository = CatalogRepository(transaction, store_id)
            end = repository.next_number()
            if repository.note_change(range(start, start + chunk), seq):
                repository.moved(seq, 0)
        start += chunk
        yield min(1.0, start / end) if end else 1.0
