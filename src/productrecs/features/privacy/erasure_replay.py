"""Erasure replay: after a restore, erases again every shopper in the erasure ledger."""

from collections.abc import Mapping

from productrecs.core.ids import StoreId
from productrecs.features.privacy import erasure_ledger
from productrecs.features.privacy.erasure import Eraser
from productrecs.features.privacy.repository import all_names
from productrecs.records.erasures.erased_names import name_digest
from productrecs.records.erasures.repository import ErasedNameRepository
from productrecs.tenancy.accounts.store_management import all_stores


def replay_erasures(eraser: Eraser) -> int:
    """Erase again everybody in the ledger whom the records still contain.

    Return how many ids that were. The service must not run: its next start continues
    with what is left.

    Raises:
        OSError, StorageError: call it again.
    """
    count = 0
    erasures = erasure_ledger.read_erasures(eraser.data)
    for store in all_stores(eraser.database):
        if store.store_id in erasures:
            count += _erase_of(eraser, store.store_id, erasures[store.store_id])
    return count


def _erase_of(eraser: Eraser, store_id: StoreId, erasures: Mapping[str, int]) -> int:
    with eraser.database.reading() as connection:
        known = ErasedNameRepository(connection, store_id).moments()
        missing = {
            name: moment
            for name, moment in erasures.items()
            if known.get(name, -1) < moment
        }
        if not missing:
            return 0
        names = {
            name
            for name in all_names(connection, store_id)
            if name_digest(store_id, name) in missing
        }
    for name in sorted(names):
        eraser.ask(store_id, name)
    with eraser.database.transaction() as transaction:
        ErasedNameRepository(transaction, store_id).add(missing)
    if names:
        eraser.go_on(store_id)
    return len(names)
