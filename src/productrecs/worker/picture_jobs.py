"""Picture jobs: fetch the items' pictures, decode them in a sandbox and index them.

They run in their own process, because they wait for other hosts. If it is killed, its
current pictures are due again.
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from productrecs.core.ids import StoreId
from productrecs.core.outbound_http import url_host
from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.fetch_picture import (
    CachedValidators,
    HostRateLimiter,
    PictureDownload,
    PictureUnavailableError,
    fetch_picture,
)
from productrecs.records.pictures.repository import (
    PictureRepository,
    queue_pictures_of_changed_items,
    reschedule_rejected_pictures,
    stores_with_picture_work,
)
from productrecs.records.pictures.stored_pictures import (
    DuePicture,
    PictureFetchOutcome,
    PictureState,
    file_digest,
)
from productrecs.services import Services
from productrecs.storage.files.object_store_snapshots import PICTURES, SnapshotName
from productrecs.storage.jobs.job_queue import Job
from productrecs.storage.jobs.recurring_jobs import RecurringJobEnqueuer
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.training.repository import serving_snapshots
from productrecs.training.visual.build_visual_model import (
    build_and_publish_visual_model,
    embedders_of_stored_models,
    served_embedder,
)
from productrecs.worker.job_schedule import JobSchedule, PeriodicJob
from productrecs.worker.job_worker import (
    JobHandler,
    JobProgress,
    JobWorker,
)
from productrecs.worker.picture_describers import PictureDescribers, StoreDescribers

_log = logging.getLogger(__name__)

JOB: Final = "pictures"

SLICE_SECONDS: Final = 20.0
"""The time slice after which a store's pictures yield to another store's."""

REFETCH_AFTER_MS: Final = 7 * DAY_MS
"""The time until a picture, or a failed fetch, is checked again."""

_FETCHING: Final = 8
_BATCH: Final = 32
_PAUSE_SECONDS: Final = 0.05
_PAUSE_FACTOR: Final = 8.0
_READ_FACTOR: Final = 20.0  # due pictures are cached for this multiple of the read time
_MAX_PAUSE_SECONDS: Final = 60.0
_SWITCH_PAUSE_SECONDS: Final = 10.0  # while too few pictures are described for a switch
_WAITS_MS: Final = (MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS)


@dataclass(slots=True)
class _CachedDuePictures:
    """A cached list of a store's due pictures, in order."""

    due: list[DuePicture]
    valid_until: float

    def drop(self, requests: Sequence[DuePicture]) -> None:
        """Remove the requested pictures."""
        numbers = {one.number for one in requests}
        self.due = [one for one in self.due if one.number not in numbers]


class PictureJobs:
    """The handlers of the picture jobs."""

    def __init__(self, services: Services) -> None:
        """Fetch the pictures of the stores of `services`."""
        self._services = services
        self._describers = PictureDescribers(services.find_or_convert_picture_encoders())
        self._rate_limiter = HostRateLimiter()
        self._threads = ThreadPoolExecutor(_FETCHING, "fetch")
        self._paused_until: dict[StoreId, float] = {}
        self._waiting: dict[StoreId, _CachedDuePictures] = {}
        self._switching = dict[StoreId, bool]()  # stores to switch: is their queue read
        self._has_rescheduled = False

    def stores_with_picture_work(self) -> Sequence[StoreId]:
        """Return the stores that have pictures to fetch or to index.

        Stores whose lists come from another encoder than the current one are looked for
        when another one should serve, and at the start.
        """
        self._reschedule_rejected_once()
        if self._describers.refresh_if_changed():
            self._waiting.clear()
            self._paused_until.clear()
            self._switching = dict.fromkeys(self._stores_of_other_encoders(), False)
        if self._describers.current is None:
            return ()
        with self._services.database.reading() as connection:
            found = stores_with_picture_work(connection, self._services.system_clock())
        now = time.monotonic()
        switchable = [
            store_id
            for store_id in self._switching
            if self._paused_until.get(store_id, now) <= now
        ]
        return sorted({*found, *switchable})

    def fetch_and_index_pictures(self, job: Job, progress: JobProgress) -> None:
        """Follow the catalog, fetch due pictures, and index them."""
        database, store_id = self._services.database, job.store_id
        deadline = time.monotonic() + SLICE_SECONDS
        if (describers := self._choose_describers_and_switch(store_id)) is None:
            return
        while not queue_pictures_of_changed_items(
            database, store_id, self._services.system_clock()
        ):
            progress.report_or_interrupt(0.0)
        fetched_count = 0
        while (
            count := self._fetch_describe_and_store_due(store_id, describers)
        ) and time.monotonic() < deadline:
            fetched_count += count
            progress.report_or_interrupt(0.5)
        is_ready_to_switch = store_id in self._switching and fetched_count and not count
        is_paused = time.monotonic() < self._paused_until.get(store_id, 0.0)
        if is_ready_to_switch or not is_paused:
            self._build_visual_model_and_pause(store_id, describers)
        self._describers.close_all_but_current()
        if fetched_count:
            _log.info(
                "pictures indexed", extra={"store": store_id, "pictures": fetched_count}
            )

    def close(self) -> None:
        """Stop the threads and the child processes."""
        self._threads.shutdown(cancel_futures=True)
        self._describers.close()

    def _reschedule_rejected_once(self) -> None:
        """Fetch pictures again whose hosts are allowed since the process started."""
        hosts = self._services.settings.image_hosts
        if hosts and not self._has_rescheduled:
            with self._services.database.transaction(synced=False) as transaction:
                reschedule_rejected_pictures(
                    transaction, hosts, self._services.system_clock()
                )
        self._has_rescheduled = True

    def _stores_of_other_encoders(self) -> list[StoreId]:
        """Return the stores whose lists come from another encoder than the current one.

        Those whose visual model is not on this machine yet are among them.
        """
        current, root = self._describers.current, self._services.visual_model_folder
        with self._services.database.reading() as connection:
            heads = serving_snapshots(connection)
        return [
            head.store_id
            for head in heads
            if current is not None
            and served_embedder(root, head.store_id, head.visual_id) != current.name
        ]

    def _choose_describers_and_switch(self, store_id: StoreId) -> StoreDescribers | None:
        """Return what describes a store's pictures; begin the switch to it if it is due.

        None without a usable encoder.
        """
        serving = self._embedder_of_lists_or_pictures(store_id)
        stored = embedders_of_stored_models(self._services.visual_model_folder, store_id)
        if (describers := self._describers.describers_of_store(serving, stored)) is None:
            return None
        if serving in {"", describers.current.name}:
            self._switching.pop(store_id, None)
        elif not self._switching.get(store_id):
            self._switching[store_id] = True
            self._begin_switch(store_id, describers)
        return describers

    def _embedder_of_lists_or_pictures(self, store_id: StoreId) -> str:
        """Return the embedder of the store's lists, or of its pictures; "" without any."""
        try:
            with self._services.database.reading() as connection:
                repository = PictureRepository(connection, store_id)
                visual_id = repository.progress().visual_id
                if visual_id is None:
                    return repository.main_embedder()
        except StoreDeletedError:
            self._switching.pop(store_id, None)
            raise
        self._services.snapshots.fetch_if_not_local(
            SnapshotName(store_id, PICTURES, visual_id)
        )
        return served_embedder(self._services.visual_model_folder, store_id, visual_id)

    def _begin_switch(self, store_id: StoreId, describers: StoreDescribers) -> None:
        """Switch at once if the current encoder has described the pictures before.

        Otherwise schedule fetches of those that it has not.
        """
        now_ms = self._services.system_clock()
        with self._services.database.transaction(synced=False) as transaction:
            repository = PictureRepository(transaction, store_id)
            name = describers.current.name
            repository.unqueue_described(name, now_ms, now_ms + REFETCH_AFTER_MS)
            repository.requeue_not_described_by(name, now_ms)
        self._build_visual_model_and_pause(store_id, describers)

    def _build_visual_model_and_pause(
        self, store_id: StoreId, describers: StoreDescribers
    ) -> None:
        """Build the visual model, then pause for a multiple of the build time."""
        began = time.monotonic()
        services = self._services
        model_id = build_and_publish_visual_model(
            services.database,
            services.visual_model_folder,
            store_id,
            describers.current.embedding,
            services.snapshots,
            serving_embedding=describers.serving_embedding,
        )
        duration = time.monotonic() - began
        if store_id in self._switching:
            served = served_embedder(services.visual_model_folder, store_id, model_id)
            if served == describers.current.name:
                del self._switching[store_id]
                _log.info(
                    "picture encoder switched",
                    extra={"store": store_id, "encoder": describers.current.name},
                )
            else:
                self._paused_until[store_id] = time.monotonic() + _SWITCH_PAUSE_SECONDS
        if model_id is not None:
            pause = min(_PAUSE_FACTOR * duration, _MAX_PAUSE_SECONDS)
            self._paused_until[store_id] = time.monotonic() + pause
            facts = {"store": store_id, "model": model_id, "s": round(duration, 2)}
            _log.info("visual model built", extra=facts)

    def _fetch_describe_and_store_due(
        self, store_id: StoreId, describers: StoreDescribers
    ) -> int:
        """Fetch and describe some due pictures; return how many, 0 when none is due."""
        due_pictures = self._read_due_cached(store_id)
        if not due_pictures.due:
            self._waiting.pop(store_id, None)
            return 0
        requests = self._fetch_within_rate_limits(due_pictures.due, describers)
        due_pictures.drop([picture for picture, _ in requests])
        outcomes = [
            self._describe_fetched_picture(picture, fetched, describers)
            for picture, fetched in requests
        ]
        serving = describers.serving or describers.current
        with self._services.database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).store_outcomes(
                outcomes, self._services.system_clock(), serving.name
            )
        if not outcomes:
            hosts = {url_host(picture.url) for picture in due_pictures.due}
            time.sleep(
                max(_PAUSE_SECONDS, min(1.0, self._rate_limiter.seconds_until_free(hosts)))
            )
        return max(1, len(outcomes))

    def _read_due_cached(self, store_id: StoreId) -> _CachedDuePictures:
        """Return due pictures from a short cache: the query sorts the whole catalog."""
        began = time.monotonic()
        cached = self._waiting.get(store_id)
        if cached is not None and cached.due and began < cached.valid_until:
            return cached
        with self._services.database.reading() as connection:
            due = PictureRepository(connection, store_id).due_pictures(
                self._services.system_clock(), _BATCH * 8
            )
        ended = time.monotonic()
        due_pictures = _CachedDuePictures(due, ended + _READ_FACTOR * (ended - began))
        self._waiting[store_id] = due_pictures
        return due_pictures

    def _fetch_within_rate_limits(
        self, due: Sequence[DuePicture], describers: StoreDescribers
    ) -> list[tuple[DuePicture, "Future[PictureDownload]"]]:
        """Request some pictures within each host's rate limit; wait for all replies."""
        requests: list[tuple[DuePicture, Future[PictureDownload]]] = []
        for picture in due:
            host = url_host(picture.url)
            is_own_host = host in self._services.settings.image_hosts
            if self._rate_limiter.try_begin_request(host, is_own_host=is_own_host):
                requests.append(
                    (
                        picture,
                        self._threads.submit(
                            self._fetch_picture,
                            picture,
                            host,
                            is_described=describers.is_described(picture),
                        ),
                    )
                )
            if len(requests) == _BATCH:
                break
        wait([fetched for _, fetched in requests])
        return requests

    def _fetch_picture(
        self, picture: DuePicture, host: str, *, is_described: bool
    ) -> PictureDownload:
        # A picture without a stored digest is fetched once without validators.
        cached_validators = (
            CachedValidators(picture.etag, picture.modified) if is_described else None
        )
        must_pause, wait_seconds = False, 0.0
        try:
            return fetch_picture(
                picture.url, cached_validators, self._services.settings.image_hosts
            )
        except PictureUnavailableError as error:
            must_pause, wait_seconds = error.should_back_off, error.wait_seconds
            raise
        finally:
            self._rate_limiter.end_request(
                host, must_pause=must_pause, pause_seconds=wait_seconds
            )

    def _describe_fetched_picture(
        self,
        picture: DuePicture,
        fetched: "Future[PictureDownload]",
        describers: StoreDescribers,
    ) -> PictureFetchOutcome:
        now_ms = self._services.system_clock()
        try:
            result = fetched.result()
            if result.content is None:
                return _indexed_outcome(picture, result, now_ms)
            digest = file_digest(result.content)
            descriptors, place = describers.describe(picture, result.content, digest)
        except PictureUnavailableError as error:
            if error.is_transient and picture.attempts < len(_WAITS_MS):
                wait_ms = max(_WAITS_MS[picture.attempts], 1_000 * error.wait_seconds)
                return _failed_outcome(
                    picture, PictureState.PENDING, str(error), now_ms + wait_ms
                )
            return _failed_outcome(
                picture, PictureState.FAILED, str(error), now_ms + REFETCH_AFTER_MS
            )
        except (UnreadablePictureError, PictureTooLargeError) as error:
            return _failed_outcome(
                picture, PictureState.FAILED, str(error), now_ms + REFETCH_AFTER_MS
            )
        return replace(
            _indexed_outcome(picture, result, now_ms),
            descriptors=descriptors,
            place=place,
            digest=digest,
        )


def build_picture_worker(services: Services) -> JobWorker:
    """Return the worker of picture jobs."""
    pictures = PictureJobs(services)
    handlers: dict[str, JobHandler] = {JOB: pictures.fetch_and_index_pictures}
    tasks = (
        PeriodicJob(
            JOB, every=timedelta(seconds=1), stores=pictures.stores_with_picture_work
        ),
    )
    periodic_tasks = RecurringJobEnqueuer(
        services.database, services.queue, services.system_clock
    )
    return JobWorker(
        services.queue, handlers, JobSchedule(periodic_tasks, tasks), on_end=pictures.close
    )


def _indexed_outcome(
    picture: DuePicture, result: PictureDownload, now_ms: int
) -> PictureFetchOutcome:
    return PictureFetchOutcome(
        picture.number,
        picture.url,
        PictureState.INDEXED,
        now_ms + REFETCH_AFTER_MS,
        etag=result.etag,
        modified=result.modified,
    )


def _failed_outcome(
    picture: DuePicture, state: PictureState, reason: str, due_at: int
) -> PictureFetchOutcome:
    return PictureFetchOutcome(
        picture.number, picture.url, state, due_at, picture.attempts + 1, reason
    )
