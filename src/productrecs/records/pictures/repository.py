"""Picture repository: SQL of pictures, their state and their fetch schedule."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.engines.visual.image_transforms import Descriptor
from productrecs.records.catalog.repository import items_of_store
from productrecs.records.pictures.fetch_picture import REJECTED, absolute_url
from productrecs.records.pictures.stored_pictures import (
    MIN_NEW_FACTS,
    DescribedItem,
    DescriptorPlace,
    DuePicture,
    PictureCounts,
    PictureFetchFailure,
    PictureFetchOutcome,
    PictureState,
    PictureStatus,
    VisualModelProgress,
    unpack_descriptor,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.sequence_and_item_numbers import (
    StoreDeletedError,
    increment_existing_counter,
)
from productrecs.storage.sql.store_counters_and_versions import (
    head_fields,
    heads_of_all_stores,
    set_head,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import pictures, stores


def stores_with_picture_work(connection: sa.Connection, now_ms: int) -> list[StoreId]:
    """Return the stores with pictures to fetch, to index or to learn from."""
    heads = heads_of_all_stores(
        "catalog_seq",
        "pictured_seq",
        "picture_seq",
        "visual_seq",
        "visual_id",
        "visual_taught_seq",
        "seq",
    ).c
    unread = sa.select(heads.store_id).where(
        sa.or_(
            heads.catalog_seq > heads.pictured_seq,
            heads.picture_seq > heads.visual_seq,
            sa.and_(
                heads.visual_id.is_not(None),
                heads.seq >= 2 * heads.visual_taught_seq + MIN_NEW_FACTS,
            ),
        )
    )
    due = sa.select(pictures.c.store_id).where(pictures.c.due_at <= now_ms)
    store_ids = connection.execute(unread.union(due)).scalars()
    return sorted(StoreId(store_id) for store_id in store_ids)


def reschedule_rejected_pictures(
    transaction: sa.Connection, trusted_hosts: Collection[str], now_ms: int
) -> int:
    """Schedule a fetch of the pictures of now trusted hosts; return the number.

    Their addresses were rejected before the operator listed the hosts. Reads all pictures:
    call it only at the start of a process.
    """
    columns = pictures.c
    query = pictures.update().where(
        columns.state == PictureState.FAILED,
        columns.reason.startswith(REJECTED, autoescape=True),
        sa.or_(
            *(columns.url.contains(f"//{host}", autoescape=True) for host in trusted_hosts)
        ),
    )
    queued = {"state": PictureState.PENDING, "attempts": 0, "due_at": now_ms}
    return transaction.execute(query.values(queued)).rowcount


class PictureRepository(StoreScopedRepository):
    """One store's pictures, inside one transaction; never commits."""

    def progress(self) -> VisualModelProgress:
        """Return the store's picture progress.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        row = head_fields(
            self._connection,
            self._store_id,
            "catalog_seq",
            "pictured_seq",
            "picture_seq",
            "visual_seq",
            "visual_id",
            "seq",
            "visual_taught_seq",
        )
        if row is None:
            raise StoreDeletedError
        return VisualModelProgress(*row)

    def domain(self) -> str:
        """Return the store's domain, the base of relative URLs."""
        query = sa.select(stores.c.domain).where(stores.c.store_id == self._store_id)
        return str(self._connection.execute(query).scalar_one())

    def changed_items(
        self, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int, str | None]]:
        """Return (change_seq, number, address) of items changed after a position.

        The address is None for items without one, and for deleted items.
        """
        seq, number = after
        item = items_of_store("change_seq", "present", "image_url", store_id=self._store_id)
        query = (
            sa.select(
                item.c.change_seq,
                item.c.number,
                sa.case((item.c.present.is_(True), item.c.image_url), else_=None),
            )
            .where(
                item.c.change_seq > 0,
                sa.or_(
                    item.c.change_seq > seq,
                    sa.and_(item.c.change_seq == seq, item.c.number > number),
                ),
            )
            .order_by(item.c.change_seq, item.c.number)
            .limit(limit)
        )
        rows = self._connection.execute(query)
        return [(int(row[0]), int(row[1]), row[2] or None) for row in rows]

    def queue_fetches(self, urls: Sequence[tuple[int, str]], now_ms: int) -> None:
        """Store items' picture addresses; new ones are due now, others stay unchanged.

        The old picture's descriptor is used until the new picture is fetched.
        """
        if not urls:
            return
        row = upsert(self._connection, pictures)
        queued = {"state": PictureState.PENDING, "attempts": 0, "due_at": now_ms}
        query = row.on_conflict_do_update(
            index_elements=[pictures.c.store_id, pictures.c.number],
            set_=queued
            | {"url": row.excluded.url, "reason": None, "etag": None, "modified": None},
            where=pictures.c.url != row.excluded.url,
        )
        self._connection.execute(
            query,
            [
                {"store_id": self._store_id, "number": number, "url": url, "seq": 0}
                | queued
                for number, url in urls
            ],
        )

    def delete_pictures(self, numbers: Sequence[int]) -> None:
        """Delete the pictures of items that no longer have one."""
        columns = pictures.c
        for start in range(0, len(numbers), 500):
            some = columns.number.in_(numbers[start : start + 500])
            if self._delete_rows(pictures, some):
                self._next_change()

    def record_pictured_seq(self, seq: int) -> None:
        """Record that the catalog's changes up to `seq` are processed."""
        self._set_head(pictured_seq=seq)

    def due_pictures(self, now_ms: int, limit: int) -> list[DuePicture]:
        """Return up to `limit` pictures to fetch: new pictures and items first."""
        columns = pictures.c
        query = (
            sa.select(
                columns.number,
                columns.url,
                columns.attempts,
                columns.etag,
                columns.modified,
                columns.embedder,
                columns.digest,
                columns.other_embedder,
            )
            .where(columns.store_id == self._store_id, columns.due_at <= now_ms)
            .limit(limit)
        )
        # Pictures that were never fetched come first, in primary key order: sorting all
        # due pictures would be slower.
        is_new = sa.and_(columns.descriptor.is_(None), columns.attempts == 0)
        order = (
            columns.descriptor.is_not(None),
            columns.attempts,
            columns.number.desc(),
        )
        new_rows = self._connection.execute(
            query.where(is_new).order_by(columns.number.desc())
        )
        due_pictures = [DuePicture(*row) for row in new_rows]
        if len(due_pictures) < limit:
            due_pictures = [
                DuePicture(*row) for row in self._connection.execute(query.order_by(*order))
            ]
        return due_pictures

    def store_outcomes(
        self, outcomes: Sequence[PictureFetchOutcome], now_ms: int, serving: str = ""
    ) -> None:
        """Store fetch results if the item's address is unchanged.

        A descriptor by another embedder than the `serving` one changes no list.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        is_change = any(
            serving in outcome.descriptors or outcome.place is DescriptorPlace.BOTH
            for outcome in outcomes
            if outcome.descriptors
        )
        seq = self._next_change() if is_change else 0
        columns = pictures.c
        for outcome in outcomes:
            values: dict[str, Any] = {
                "state": outcome.state,
                "reason": outcome.reason,
                "attempts": outcome.attempts,
                "due_at": outcome.due_at,
                "fetched_at": now_ms,
            }
            if outcome.state is PictureState.INDEXED:
                values |= {"etag": outcome.etag, "modified": outcome.modified}
            values |= _descriptor_columns(outcome, seq)
            self._update_rows(
                pictures,
                columns.number == outcome.number,
                columns.url == outcome.url,
                **values,
            )

    def requeue_not_described_by(self, embedder: str, now_ms: int) -> None:
        """Schedule a fetch of indexed pictures that this embedder has not described."""
        columns = pictures.c
        self._update_rows(
            pictures,
            _is_described_by_others(embedder),
            sa.or_(columns.due_at.is_(None), columns.due_at > now_ms),
            columns.state == PictureState.INDEXED,
            due_at=now_ms,
            etag=None,
            modified=None,
        )

    def unqueue_described(self, embedder: str, now_ms: int, due_at: int) -> None:
        """Take back the fetches that an undone switch to another embedder scheduled."""
        columns = pictures.c
        self._update_rows(
            pictures,
            columns.due_at <= now_ms,
            columns.state == PictureState.INDEXED,
            columns.etag.is_(None),
            columns.modified.is_(None),
            _is_described_by(embedder),
            due_at=due_at,
        )

    def retry_failed(self, now_ms: int) -> int:
        """Schedule a fetch of every failed picture; return the number."""
        return self._update_rows(
            pictures,
            sa.or_(pictures.c.state == PictureState.FAILED, pictures.c.attempts > 0),
            state=PictureState.PENDING,
            attempts=0,
            due_at=now_ms,
        )

    def described_items(self, embedder: str) -> list[DescribedItem]:
        """Return the catalog items that this embedder has described, by number."""
        item = items_of_store("price", "categories", "present", store_id=self._store_id)
        query = (
            sa.select(
                pictures.c.number,
                pictures.c.seq,
                item.c.price,
                item.c.categories,
                pictures.c.digest,
            )
            .join(item, item.c.number == pictures.c.number)
            .where(
                pictures.c.store_id == self._store_id,
                _is_described_by(embedder),
                item.c.present.is_(True),
            )
            .order_by(pictures.c.number)
        )
        return [DescribedItem(*row) for row in self._connection.execute(query)]

    def count_waiting_for_embedder(self, embedder: str) -> int:
        """Return how many pictures of other embedders wait for this one, or their host."""
        query = sa.select(sa.func.count()).where(
            pictures.c.store_id == self._store_id,
            _is_described_by_others(embedder),
            pictures.c.state != PictureState.FAILED,
        )
        return int(self._connection.execute(query).scalar_one())

    def count_described(self, embedder: str) -> int:
        """Return how many pictures an embedder has described."""
        query = sa.select(sa.func.count()).where(
            pictures.c.store_id == self._store_id, _is_described_by(embedder)
        )
        return int(self._connection.execute(query).scalar_one())

    def count_all_described(self) -> int:
        """Return how many pictures any embedder has described."""
        query = sa.select(sa.func.count()).where(
            pictures.c.store_id == self._store_id, pictures.c.embedder.is_not(None)
        )
        return int(self._connection.execute(query).scalar_one())

    def main_embedder(self) -> str:
        """Return the embedder that has described most pictures; "" without any."""
        columns, number = pictures.c, sa.func.count()
        query = (
            sa.select(columns.embedder)
            .where(columns.store_id == self._store_id, columns.embedder.is_not(None))
            .group_by(columns.embedder)
            .order_by(number.desc(), columns.embedder)
            .limit(1)
        )
        return str(self._connection.execute(query).scalar() or "")

    def descriptor_bytes(self, embedder: str) -> int:
        """Return the size of an embedder's descriptors; reads all of them."""
        length = sa.func.sum(sa.func.length(_descriptor_by(embedder)))
        query = sa.select(sa.func.coalesce(length, 0)).where(
            pictures.c.store_id == self._store_id, _is_described_by(embedder)
        )
        return int(self._connection.execute(query).scalar_one())

    def delete_spare_descriptors(self, embedder: str, numbers: range) -> None:
        """Delete what an embedder has described, where another has described it too."""
        columns = pictures.c
        rows = pictures.update().where(
            columns.store_id == self._store_id,
            columns.number >= numbers.start,
            columns.number < numbers.stop,
        )
        empty = {"other_embedder": None, "other_descriptor": None}
        first = {
            "embedder": columns.other_embedder,
            "descriptor": columns.other_descriptor,
        }
        has_second = columns.other_embedder.is_not(None)
        is_first = rows.where(columns.embedder == embedder, has_second)
        self._connection.execute(is_first.values(first | empty))
        is_second = rows.where(columns.other_embedder == embedder)
        self._connection.execute(is_second.values(empty))

    def last_number(self) -> int:
        """Return the highest number of an item with a picture; -1 without one."""
        query = sa.select(sa.func.max(pictures.c.number)).where(
            pictures.c.store_id == self._store_id
        )
        number = self._connection.execute(query).scalar()
        return -1 if number is None else int(number)

    def descriptors(
        self, numbers: Sequence[int], embedder: str
    ) -> Iterator[tuple[int, Descriptor]]:
        """Yield an embedder's descriptors of these items in pages, unordered."""
        columns = pictures.c
        for start in range(0, len(numbers), 500):
            query = sa.select(columns.number, _descriptor_by(embedder)).where(
                columns.store_id == self._store_id,
                columns.number.in_(numbers[start : start + 500]),
                _is_described_by(embedder),
            )
            for number, data in self._connection.execute(query):
                yield int(number), unpack_descriptor(data)

    def set_serving_model(self, visual_id: str | None, seq: int) -> None:
        """Set the serving visual model, which covers picture changes up to `seq`.

        A store without pictures has none.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        self._set_head(visual_id=visual_id, visual_seq=seq)

    def record_learned(self, seq: int) -> None:
        """Record that metric learning used visits up to `seq` of the log.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        self._set_head(visual_taught_seq=seq)

    def counts(self) -> PictureCounts:
        """Return the number of pictures in each state."""
        columns = pictures.c
        query = (
            sa.select(columns.state, sa.func.count())
            .where(columns.store_id == self._store_id)
            .group_by(columns.state)
        )
        count_by_state = dict(tuple(row) for row in self._connection.execute(query))
        return PictureCounts(*(int(count_by_state.get(state, 0)) for state in _STATE_ORDER))

    def most_frequent_failure_reason(self) -> str | None:
        """Return the most frequent reason of failed pictures; None without any."""
        columns, number = pictures.c, sa.func.count()
        query = (
            sa.select(columns.reason)
            .where(columns.store_id == self._store_id, columns.state == PictureState.FAILED)
            .group_by(columns.reason)
            .order_by(number.desc(), columns.reason)
            .limit(1)
        )
        return self._connection.execute(query).scalar()

    def statuses(self, numbers: Sequence[int]) -> dict[int, PictureStatus]:
        """Return the picture states of a few items, by number."""
        columns = pictures.c
        query = sa.select(
            columns.number,
            columns.state,
            columns.reason,
            columns.descriptor.is_not(None),
        ).where(columns.store_id == self._store_id, columns.number.in_(numbers))
        return {
            int(number): PictureStatus(PictureState(state), reason, bool(is_indexed))
            for number, state, reason, is_indexed in self._connection.execute(query)
        }

    def failures(self, limit: int) -> list[PictureFetchFailure]:
        """Return failed pictures, those without further retries first."""
        columns = pictures.c
        item = items_of_store("item_id", store_id=self._store_id)
        query = (
            sa.select(
                item.c.item_id,
                columns.url,
                columns.reason,
                columns.attempts,
                columns.state,
            )
            .join(item, item.c.number == columns.number)
            .where(columns.store_id == self._store_id, columns.reason.is_not(None))
            .order_by(columns.state, columns.number)
            .limit(limit)
        )
        return [
            PictureFetchFailure(
                item_id, url, reason, attempts, state == PictureState.FAILED
            )
            for item_id, url, reason, attempts, state in self._connection.execute(query)
        ]

    def _next_change(self) -> int:
        """Increment and return the change number of the store's pictures."""
        return increment_existing_counter(self._connection, self._store_id, "picture_seq")

    def _set_head(self, **values: object) -> None:
        if not set_head(self._connection, self._store_id, **values):
            raise StoreDeletedError


def _is_described_by(embedder: str) -> sa.ColumnElement[bool]:
    columns = pictures.c
    return sa.or_(columns.embedder == embedder, columns.other_embedder == embedder)


def _is_described_by_others(embedder: str) -> sa.ColumnElement[bool]:
    columns = pictures.c
    return sa.and_(
        columns.embedder.is_not(None),
        columns.embedder != embedder,
        sa.func.coalesce(columns.other_embedder, "") != embedder,
    )


def _descriptor_by(embedder: str) -> sa.ColumnElement[Any]:
    columns = pictures.c
    is_first = columns.embedder == embedder
    return sa.case((is_first, columns.descriptor), else_=columns.other_descriptor)


def _descriptor_columns(outcome: PictureFetchOutcome, seq: int) -> dict[str, Any]:
    """Return the columns that new descriptors change.

    `seq` stays where only a descriptor of the same file is added: vectors of the other
    embedder stay valid.
    """
    if not outcome.descriptors:
        return {}
    (embedder, descriptor), *more = outcome.descriptors.items()
    first = {"embedder": embedder, "descriptor": descriptor}
    if outcome.place is DescriptorPlace.FIRST:
        return first
    if outcome.place is DescriptorPlace.SECOND:
        return {"other_embedder": embedder, "other_descriptor": descriptor}
    other = more[0] if more else (None, None)
    second = dict(zip(("other_embedder", "other_descriptor"), other, strict=True))
    return first | second | {"digest": outcome.digest, "seq": seq}


_STATE_ORDER: Final = (PictureState.INDEXED, PictureState.PENDING, PictureState.FAILED)


_BATCH: Final = 1_000
_BATCHES: Final = 10  # per transaction; more if one change has more items
_AFTER_ALL_ITEMS: Final = 2**62


def queue_pictures_of_changed_items(
    database: Database, store_id: StoreId, now_ms: int
) -> bool:
    """Store picture addresses of some changed items; return whether all are stored.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    with database.transaction(synced=False) as transaction:
        repository = PictureRepository(transaction, store_id)
        progress, domain = repository.progress(), repository.domain()
        position, batches = (progress.pictured_seq, _AFTER_ALL_ITEMS), 0
        while True:
            changed = repository.changed_items(position, _BATCH)
            urls = [
                (number, absolute_url(url, domain)) for _, number, url in changed if url
            ]
            repository.queue_fetches(urls, now_ms)
            repository.delete_pictures([number for _, number, url in changed if not url])
            if len(changed) < _BATCH:
                repository.record_pictured_seq(progress.catalog_seq)
                return True
            position, batches = changed[-1][:2], batches + 1
            complete_seq = position[0] - 1  # the last change may have more items
            if batches >= _BATCHES and complete_seq > progress.pictured_seq:
                repository.record_pictured_seq(complete_seq)
                return False
