"""Training repository: SQL of new log entries and the serving models."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.storage.files.object_store_snapshots import (
    MODELS,
    PICTURES,
    SEARCH,
    SnapshotName,
)
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.storage.sql.store_counters_and_versions import (
    compare_and_set_head,
    head_fields,
    heads_of_all_stores,
    lock_head,
    set_head,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import models
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


@dataclass(frozen=True, slots=True)
class TrainingLogHead:
    """The head of a store's log, and its serving model."""

    seq: int
    catalog_seq: int
    n_items: int
    model_id: str | None
    removals: int = 0  # number of erased shoppers and of recognised bots


@dataclass(frozen=True, slots=True)
class TrainedModelState:
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
    heads = heads_of_all_stores("seq", "model_id")
    serving = (models.c.store_id == heads.c.store_id) & (
        models.c.model_id == heads.c.model_id
    )
    query = sa.select(
        heads.c.store_id,
        heads.c.seq,
        models.c.applied_seq,
        models.c.settings_hash,
        models.c.trained_at,
    ).select_from(heads.outerjoin(models, serving))
    query = query.order_by(heads.c.store_id)
    return [TrainingProgress(*row) for row in connection.execute(query)]


class ModelFreshness(NamedTuple):
    """When a store's model was trained, if it has one, and how far it lags behind."""

    store_id: StoreId
    trained_at: int | None
    behind_ms: int  # age of the oldest live fact that is not in the model; 0 without any


def model_freshness(connection: sa.Connection, now_ms: int) -> list[ModelFreshness]:
    """Return the freshness of the model of every store."""
    models_freshness = []
    for store_id, seq, applied_seq, _, trained_at in training_progress(connection):
        oldest_ms = None
        if (applied_seq or 0) < seq:
            repository = TrainingRepository(connection, store_id)
            oldest_ms = repository.oldest_untrained_live_fact_ms(applied_seq or 0)
        behind_ms = 0 if oldest_ms is None else max(0, now_ms - oldest_ms)
        models_freshness.append(ModelFreshness(store_id, trained_at, behind_ms))
    return models_freshness


class TrainingRepository(StoreScopedRepository):
    """One store's log and models, inside one transaction; never commits."""

    def head(self) -> TrainingLogHead | None:
        """Return the store's head; None if it was deleted."""
        names = ("seq", "catalog_seq", "next_number", "model_id", "erasures", "bots")
        row = head_fields(self._connection, self._store_id, *names)
        if row is None:
            return None
        seq, catalog_seq, n_items, model_id, erasures, bots = row
        return TrainingLogHead(seq, catalog_seq, n_items, model_id, erasures + bots)

    def existing_head(self) -> TrainingLogHead:
        """Return the store's head.

        Raises:
            StoreDeletedError: when it was deleted.
        """
        head = self.head()
        if head is None:
            message = "this store was deleted; there is nothing to train"
            raise StoreDeletedError(message)
        return head

    def behaviour_pages(
        self, after_seq: int, up_to_seq: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (ts, kind, item, visitor, term, seq) for training, in log order.

        Interest signals have a term and no item; other events have an item.
        """
        kinds = (*TRAINING_KINDS, *SIGNAL_KINDS)
        log = EventLogRepository(self._connection, self._store_id)
        yield from log.pages_with_visitors(after_seq, up_to_seq, kinds)

    def purchase_line_pages(
        self, after_seq: int, up_to_seq: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of lines, as `SoldLineRepository.training_lines` does."""
        currency = AccountRepository(self._connection).settings(self._store_id).currency
        sold_lines = SoldLineRepository(self._connection, self._store_id)
        yield from sold_lines.pages_of_training_lines(after_seq, up_to_seq, currency)

    def _pages(self, query: sa.Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
        result = self._connection.execution_options(stream_results=True).execute(query)
        for page in result.partitions(_PAGE):
            yield [tuple(row) for row in page]

    def catalog_pages(self, after_seq: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield pages of (number, present, title, categories, seq) changed since."""
        names = ("present", "title", "categories", "change_seq")
        item = items_of_store(*names, store_id=self._store_id)
        yield from self._pages(sa.select(item).where(item.c.change_seq > after_seq))

    def serving_model(self) -> TrainedModelState | None:
        """Return the serving model's record; None before the first training."""
        heads = heads_of_all_stores("model_id")
        query = (
            sa.select(
                models.c.model_id,
                models.c.applied_seq,
                models.c.catalog_seq,
                models.c.settings_hash,
                models.c.trained_at,
            )
            .join(
                heads,
                (heads.c.store_id == models.c.store_id)
                & (heads.c.model_id == models.c.model_id),
            )
            .where(models.c.store_id == self._store_id)
        )
        row = self._connection.execute(query).first()
        return None if row is None else TrainedModelState(*row)

    def oldest_untrained_live_fact_ms(self, applied_seq: int) -> int | None:
        """Return when the oldest live fact that is in no model was received.

        None if the next thousand facts have no live one: the rest comes from an import.
        """
        sold_lines = SoldLineRepository(self._connection, self._store_id)
        log = EventLogRepository(self._connection, self._store_id)
        times = (
            log.first_live_event_at(applied_seq),
            sold_lines.first_live_line_at(applied_seq),
        )
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def serve_unless_older(self, model: TrainedModelState) -> None:
        """Let `model` serve from now on, unless a newer one already serves.

        Raises:
            StoreDeletedError: when the store was deleted in the meantime.
        """
        AccountRepository(self._connection).lock(self._store_id)
        lock_head(self._connection, self._store_id)
        serving = self.serving_model()
        if serving is not None and serving.applied_seq > model.applied_seq:
            return
        self._delete_rows(models)
        self._insert_row(
            models,
            model_id=model.model_id,
            applied_seq=model.applied_seq,
            catalog_seq=model.catalog_seq,
            settings_hash=model.settings_hash,
            trained_at=model.trained_at,
        )
        set_head(self._connection, self._store_id, model_id=model.model_id)


class ServingSnapshots(NamedTuple):
    """The ids of a store's snapshots that serve."""

    store_id: StoreId
    model_id: str | None
    visual_id: str | None
    index_id: str | None

    def names_by_kind(self) -> dict[str, SnapshotName]:
        """Return the name of each snapshot that serves, by its kind."""
        by_kind = {MODELS: self.model_id, PICTURES: self.visual_id, SEARCH: self.index_id}
        return {
            kind: SnapshotName(self.store_id, kind, snapshot_id)
            for kind, snapshot_id in by_kind.items()
            if snapshot_id
        }


def serving_snapshots(connection: sa.Connection) -> list[ServingSnapshots]:
    """Return the snapshots that serve each store."""
    heads = heads_of_all_stores("model_id", "visual_id", "index_id")
    rows = connection.execute(sa.select(heads).order_by(heads.c.store_id))
    return [ServingSnapshots(StoreId(row[0]), *row[1:]) for row in rows]


def replace_serving_index(
    transaction: sa.Connection, store_id: StoreId, before: str | None, after: str | None
) -> bool:
    """Let another search index serve a store; return False if `before` does not serve."""
    return compare_and_set_head(transaction, store_id, {"index_id": before}, index_id=after)


def stop_serving_snapshot(transaction: sa.Connection, name: SnapshotName) -> None:
    """Stop pointing to a lost or damaged visual model or index: it is built again."""
    if name.kind == SEARCH:
        replace_serving_index(transaction, name.store_id, name.name, None)
    elif name.kind == PICTURES:
        before = {"visual_id": name.name}
        compare_and_set_head(
            transaction, name.store_id, before, visual_id=None, visual_seq=0
        )
