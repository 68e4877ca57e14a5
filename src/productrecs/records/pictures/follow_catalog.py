"""Catalog follower of pictures: notes which pictures the catalog refers to."""

from typing import Final

from productrecs.core.ids import StoreId
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.safe_url import absolute_url
from productrecs.storage.database import Database

_BATCH: Final = 1_000
_BATCHES: Final = 10  # of one transaction, or more where one change has more items
_AFTER_ALL: Final = 2**62


def follow_catalog(database: Database, store_id: StoreId, now_ms: int) -> bool:
    """Note the addresses of some changed items; return whether all are noted.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.transaction(synced=False) as transaction:
        repository = PictureRepository(transaction, store_id)
        standing, domain = repository.standing(), repository.domain()
        place, batches = (standing.pictured_seq, _AFTER_ALL), 0
        while True:
            changed = repository.changed_items(place, _BATCH)
            wanted = [(n, absolute_url(url, domain)) for _, n, url in changed if url]
            repository.add_wanted(wanted, now_ms)
            repository.forget([number for _, number, url in changed if not url])
            if len(changed) < _BATCH:
                repository.mark_followed(standing.catalog_seq)
                return True
            place, batches = changed[-1][:2], batches + 1
            before = place[0] - 1  # of the last change there may be more
            if batches >= _BATCHES and before > standing.pictured_seq:
                repository.mark_followed(before)
                return False
