"""Training repository: SQL of new log entries and the serving models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.files.snapshots import MODELS, PICTURES, SEARCH, SnapshotName
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.tables import (
    items,
    models,
    store_heads,
)
from productrecs.tenancy.accounts.repository import AccountRepository

_PAGE: Final = 2_000  # rows that stay in the cache of the processor
TRAINING_KINDS: Final = (
    EventKind.DETAIL_PAGE_VIEW,
    EventKind.ADD_TO_CART,
    EventKind.SEARCH_CLICK,
    EventKind.IMAGE_SEARCH_CLICK,
    EventKind.REC_CLICK,
)
SIGNAL_KINDS = (EventKind.CATEGORY_VIEW, EventKind.METADATA_PREF)
"""Kinds without a product, which count as interest signals."""
_VERSIONS_SQL: Final = (
    "SELECT store_id, catalog_seq, model_id, rules_seq, search_seq, visual_id, index_id, "
    "looks_seq, placements_seq FROM store_heads WHERE store_id IN ({})"
)
_QUERY_SIZES: Final = (1, 8, 64, 512)  # few texts, which the drivers prepare once


@dataclass(frozen=True, slots=True)
class TrainingHead:
    """The head of a store's log, and its serving model."""

    seq: int
    catalog_seq: int
    numbers: int
    model_id: str | None
    removals: int = 0  # number of erased shoppers and of recognised bots


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The input state and id of a trained model."""

    model_id: str
    applied_seq: int
    catalog_seq: int
    settings_hash: str
    trained_at: int


class TrainingProgress(NamedTuple):
    """The head of a store's log, and how far its serving model has read it."""

    store_id: StoreId
    seq: int
    applied_seq: int | None
    settings_hash: str | None
    trained_at: int | None


def training_progress(connection: sa.Connection) -> list[TrainingProgress]:
    """Return the training progress of every store."""
    serving = (models.c.store_id == store_heads.c.store_id) & (
        models.c.model_id == store_heads.c.model_id
    )
    query = sa.select(
        store_heads.c.store_id,
        store_heads.c.seq,
        models.c.applied_seq,
        models.c.settings_hash,
        models.c.trained_at,
    ).select_from(store_heads.outerjoin(models, serving))
    query = query.order_by(store_heads.c.store_id)
    return [TrainingProgress(*row) for row in connection.execute(query)]


class Freshness(NamedTuple):
    """When a store's model was trained, if it has one, and how far it lags behind."""

    store_id: StoreId
    trained_at: int | None
    behind_ms: int  # age of the oldest live fact that is not in the model; 0 without any


def freshness(connection: sa.Connection, now_ms: int) -> list[Freshness]:
    """Return the freshness of the model of every store."""
    return [_freshness(connection, row, now_ms) for row in training_progress(connection)]


def _freshness(connection: sa.Connection, row: TrainingProgress, now_ms: int) -> Freshness:
    age_ms, applied = 0, row.applied_seq or 0
    if applied < row.seq:
        first = TrainingRepository(connection, row.store_id).first_untrained_at(applied)
        age_ms = 0 if first is None else max(0, now_ms - first)
    return Freshness(row.store_id, row.trained_at, age_ms)


class TrainingRepository:
    """One store's log and models, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Access `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def head(self) -> TrainingHead | None:
        """Return the store's head; None if it was deleted."""
        query = sa.select(
            store_heads.c.seq,
            store_heads.c.catalog_seq,
            store_heads.c.next_number,
            store_heads.c.model_id,
            store_heads.c.erasures + store_heads.c.bots,
        ).where(store_heads.c.store_id == self._store_id)
        row = self._transaction.execute(query).first()
        return None if row is None else TrainingHead(*row)

    def existing_head(self) -> TrainingHead:
        """Return the store's head.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        head = self.head()
        if head is None:
            message = "this store was deleted; there is nothing to train"
            raise StoreDeletedError(message)
        return head

    def behaviour(self, after_seq: int, up_to_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (ts, kind, item, visitor, term, seq) for training, in log order.

        Interest signals have a term and no item; other events have an item.
        """
        kinds = (*TRAINING_KINDS, *SIGNAL_KINDS)
        log = EventLogRepository(self._transaction, self._store_id)
        yield from log.events_of_visitors(after_seq, up_to_seq, kinds)

    def purchases(self, after_seq: int, up_to_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of lines, as `SoldLineRepository.training_lines` does."""
        currency = AccountRepository(self._transaction).settings(self._store_id).currency
        sold_lines = SoldLineRepository(self._transaction, self._store_id)
        yield from sold_lines.training_lines(after_seq, up_to_seq, currency)

    def _pages(self, query: sa.Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
        result = self._transaction.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            yield [tuple(row) for row in page]

    def catalog(self, after_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (number, present, title, categories, seq) changed since."""
        one = items.c
        query = sa.select(
            one.number, one.present, one.title, one.categories, one.change_seq
        ).where(one.store_id == self._store_id, one.change_seq > after_seq)
        yield from self._pages(query)

    def serving(self) -> TrainedModel | None:
        """Return the serving model's record; None before the first training."""
        query = (
            sa.select(
                models.c.model_id,
                models.c.applied_seq,
                models.c.catalog_seq,
                models.c.settings_hash,
                models.c.trained_at,
            )
            .join(
                store_heads,
                (store_heads.c.store_id == models.c.store_id)
                & (store_heads.c.model_id == models.c.model_id),
            )
            .where(models.c.store_id == self._store_id)
        )
        row = self._transaction.execute(query).first()
        return None if row is None else TrainedModel(*row)

    def first_untrained_at(self, applied_seq: int) -> int | None:
        """Return when the oldest live fact that is in no model was received.

        None if the next thousand facts have no live one: the rest comes from an import.
        """
        sold_lines = SoldLineRepository(self._transaction, self._store_id)
        log = EventLogRepository(self._transaction, self._store_id)
        times = (log.first_live_at(applied_seq), sold_lines.first_live_at(applied_seq))
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def serve(self, model: TrainedModel) -> None:
        """Let `model` serve from now on, unless a newer one already serves.

        Raises:
            StoreDeletedError: when the store was deleted in the meantime.
        """
        AccountRepository(self._transaction).lock(self._store_id)
        own_model = models.c.store_id == self._store_id
        head = store_heads.update().where(store_heads.c.store_id == self._store_id)
        self._transaction.execute(head.values(seq=store_heads.c.seq))  # takes the row lock
        serving = self.serving()
        if serving is not None and serving.applied_seq > model.applied_seq:
            return
        self._transaction.execute(models.delete().where(own_model))
        self._transaction.execute(
            models.insert().values(
                store_id=self._store_id,
                model_id=model.model_id,
                applied_seq=model.applied_seq,
                catalog_seq=model.catalog_seq,
                settings_hash=model.settings_hash,
                trained_at=model.trained_at,
            )
        )
        pointed = store_heads.update().where(store_heads.c.store_id == self._store_id)
        self._transaction.execute(pointed.values(model_id=model.model_id))


def store_versions(
    reader: RawReader, store_ids: Sequence[StoreId]
) -> dict[StoreId, tuple[Any, ...]]:
    """Return the version of each view of these stores; stores that are gone are missing.

    The catalog's seq, the model's id, the rules' seq, the searches' seq, the id of the
    visual index, the id of the search index, the looks' seq, the placements' seq.
    """
    found: dict[StoreId, tuple[Any, ...]] = {}
    for start in range(0, len(store_ids), _QUERY_SIZES[-1]):
        chosen = list(store_ids[start : start + _QUERY_SIZES[-1]])
        size = next(size for size in _QUERY_SIZES if size >= len(chosen))
        chosen += chosen[:1] * (size - len(chosen))
        query = _VERSIONS_SQL.format(", ".join("?" * size))
        found |= {StoreId(row[0]): row[1:] for row in reader.all(query, chosen)}
    return found


class ServingSnapshots(NamedTuple):
    """The ids of a store's snapshots that serve."""

    store_id: StoreId
    model_id: str | None
    visual_id: str | None
    index_id: str | None

    def names(self) -> dict[str, SnapshotName]:
        """Return the name of each snapshot that serves, by its kind."""
        by_kind = {MODELS: self.model_id, PICTURES: self.visual_id, SEARCH: self.index_id}
        return {
            kind: SnapshotName(self.store_id, kind, one)
            for kind, one in by_kind.items()
            if one
        }


def serving_snapshots(connection: sa.Connection) -> list[ServingSnapshots]:
    """Return the snapshots that serve each store."""
    heads = store_heads.c
    query = sa.select(heads.store_id, heads.model_id, heads.visual_id, heads.index_id)
    rows = connection.execute(query.order_by(heads.store_id))
    return [ServingSnapshots(StoreId(row[0]), *row[1:]) for row in rows]


def move_index(
    transaction: sa.Connection, store_id: StoreId, before: str | None, after: str | None
) -> bool:
    """Let another search index serve a store; return False if `before` does not serve."""
    query = store_heads.update().where(
        store_heads.c.store_id == store_id,
        store_heads.c.index_id.is_not_distinct_from(before),
    )
    return transaction.execute(query.values(index_id=after)).rowcount == 1


def reject_snapshot(transaction: sa.Connection, name: SnapshotName) -> None:
    """Stop pointing to a lost or damaged visual model or index: it is built again."""
    store = store_heads.c.store_id == name.store_id
    if name.kind == SEARCH:
        move_index(transaction, name.store_id, name.name, None)
    elif name.kind == PICTURES:
        query = store_heads.update().where(store, store_heads.c.visual_id == name.name)
        transaction.execute(query.values(visual_id=None, visual_seq=0))
