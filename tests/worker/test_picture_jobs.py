"""Picture jobs: items' pictures are fetched and indexed; failures have a reason."""

import contextlib
import http.server
import threading
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.repository import (
    PictureRepository,
    reschedule_rejected_pictures,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.records.pictures.stored_pictures import PictureCounts, file_digest
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import pictures
from productrecs.training.visual.photo_matcher import PhotoMatcher
from productrecs.training.visual.picture_embedding import choose_embedding
from productrecs.training.visual.served_visual_model import ServedVisualModel
from productrecs.worker.job_worker import JobProgress
from productrecs.worker.picture_jobs import JOB, REFETCH_AFTER_MS, PictureJobs
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.support.migrated import bring
from tests.support.pictures import COLOURS, drawn, encoded
from tests.support.stores import new_store

HOST = "127.0.0.1"


class _PictureServer(http.server.BaseHTTPRequestHandler):
    """Gives pictures by their names, and remembers how it was asked."""

    files: Mapping[str, bytes]
    requests: list[tuple[str, str | None]]
    busy: Set[str] = frozenset()

    def do_GET(self) -> None:
        """Answer with the file, or that it is as it was, or that it is gone."""
        name, known = self.path.strip("/"), self.headers.get("If-None-Match")
        self.requests.append((name, known))
        data = self.files.get(name)
        if name in self.busy:
            self.send_error(502)
            return
        if data is not None and known == f'"{len(data)}"':
            self.send_response(304)
            self.end_headers()
            return
        self.send_response(200 if data is not None else 404)
        if data is not None:
            self.send_header("ETag", f'"{len(data)}"')
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def picture_server(files: Mapping[str, bytes]) -> Iterator[tuple[Any, str]]:
    """Give a server of pictures, and its address."""
    handler = type("_One", (_PictureServer,), {"files": files, "requests": []})
    server = http.server.ThreadingHTTPServer((HOST, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://{HOST}:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def shop() -> Iterator[Any]:
    with picture_server({}) as served:
        yield served


@pytest.fixture
def services(tmp_path: Path, database_url: str | None) -> Iterator[Services]:
    settings = Settings(tmp_path, database_url, image_hosts=frozenset({HOST}))
    bring(tmp_path, database_url)
    with contextlib.closing(build_services(settings)) as opened:
        yield opened


@pytest.fixture
def duties(services: Services) -> Iterator[PictureJobs]:
    with contextlib.closing(PictureJobs(services)) as picture_jobs:
        yield picture_jobs


def say(services: Services, store_id: StoreId, **addresses: str | None) -> None:
    patches = [ItemPatch(name, {"image_url": url}) for name, url in addresses.items()]
    with services.database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(services.database, transaction, store_id),
            patches,
            system_ms(),
        )


def digests_of(services: Services, store_id: StoreId) -> list[int]:
    served = ServedVisualModel(services.visual_model_folder, store_id)
    assert served.open_published_model(model_of(services, store_id))
    digests: list[int] = served.model.digests.tolist()
    return digests


def see(services: Services, duties: PictureJobs, store_id: StoreId) -> PictureCounts:
    assert duties.stores_with_picture_work() == [store_id]
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store_id, JOB))
    job = services.queue.claim([JOB])
    assert job is not None
    duties.fetch_and_index_pictures(job, JobProgress(threading.Event()))
    services.queue.mark_done(job)
    with services.database.reading() as connection:
        return PictureRepository(connection, store_id).counts()


def test_pictures_are_fetched_checked_again_and_failures_reported(
    services: Services, duties: PictureJobs, shop: Any
) -> None:
    handler, address = shop
    handler.files = {colour: encoded(drawn(colour, "ball")) for colour in COLOURS}
    handler.files["text"] = b"this is no picture"
    handler.requests.clear()
    store = new_store(services.database, "see.example")
    addresses = {colour: f"{address}/{colour}" for colour in COLOURS}
    say(
        services,
        store.store_id,
        **addresses,
        text=f"{address}/text",
        gone=f"{address}/gone",
        inside="http://10.0.0.7/a.jpg",
        none=None,
    )

    counts = see(services, duties, store.store_id)

    assert counts == PictureCounts(indexed=len(COLOURS), pending=0, failed=3)
    with services.database.reading() as connection:
        repository = PictureRepository(connection, store.store_id)
        standing, failures = repository.progress(), repository.failures(10)
        assert repository.most_frequent_failure_reason() == "the host answered 404"
    assert {one.item_id: one.reason for one in failures} == {
        "text": "this is not a JPEG, PNG, WebP, AVIF or GIF",
        "gone": "the host answered 404",
        "inside": "the picture's address is rejected: 10.0.0.7 is not a public address; "
        "the service's operator can allow it: PRODUCTRECS_IMAGE_HOSTS=10.0.0.7",
    }
    issues = find_tracking_issues(services.database, store, system_ms())
    assert [(one.code, one.message.partition(" (")[0]) for one in issues] == [
        ("pictures_fail", f"3 of {len(COLOURS) + 3} product pictures cannot be fetched")
    ]
    with services.database.transaction() as transaction:
        assert reschedule_rejected_pictures(transaction, {"10.0.0.8"}, system_ms()) == 0
        assert reschedule_rejected_pictures(transaction, {"10.0.0.7"}, system_ms()) == 1
    assert see(services, duties, store.store_id).failed == 3
    served = ServedVisualModel(services.visual_model_folder, store.store_id)
    assert served.open_published_model(standing.visual_id)
    assert len(served.model) == len(COLOURS)
    assert duties.stores_with_picture_work() == []

    # A changed address is fetched at once, and the others are asked after a week.
    handler.requests.clear()
    handler.files["other"] = encoded(drawn("red", "cross"))
    say(services, store.store_id, red=f"{address}/other")
    assert see(services, duties, store.store_id).indexed == len(COLOURS)
    assert handler.requests == [("other", None)]
    handler.requests.clear()
    _make_due(services, store.store_id)
    assert see(services, duties, store.store_id).indexed == len(COLOURS)
    known = dict(handler.requests)
    assert known["blue"] == f'"{len(handler.files["blue"])}"'
    with services.database.reading() as connection:
        assert (
            PictureRepository(connection, store.store_id).due_pictures(system_ms(), 9) == []
        )


def test_the_very_file_of_a_picture_finds_its_products_first(
    services: Services, duties: PictureJobs, shop: Any
) -> None:
    handler, address = shop
    handler.files = {"ball": encoded(drawn("red", "ball"))}
    handler.files |= {"cross": encoded(drawn("blue", "cross"))}
    store = new_store(services.database, "same.example")
    same = dict.fromkeys(("one", "two", "hidden"), f"{address}/cross")
    say(services, store.store_id, ball=f"{address}/ball", **same)
    visible = np.array([True, True, True, False])

    def found(photo: bytes, digests: list[int] | None = None) -> list[int]:
        served = ServedVisualModel(services.visual_model_folder, store.store_id)
        assert served.open_published_model(model_of(services, store.store_id))
        if digests is not None:
            served.model = replace(served.model, digests=np.array(digests, np.int64))
        with SandboxedDecoder() as viewer:
            alike = (
                PhotoMatcher(viewer, served, choose_embedding(None))
                .similar_items(photo, 3, visible)
                .ranked
            )
        assert (np.diff(alike.scores) <= 0).all()
        items: list[int] = alike.items.tolist()
        return items

    see(services, duties, store.store_id)
    cross = handler.files["cross"]
    assert found(cross) == [1, 2, 0]
    # The file decides, whatever looks more like it; of a file nobody knows, looks do.
    assert found(cross, [file_digest(cross), 0, 0, 0]) == [0, 1, 2]
    assert found(cross, [0, 0, 0, 0]) == [1, 2, 0]

    # What an older release saw is asked for whole when its week is over, and known then.
    with services.database.transaction() as transaction:
        transaction.execute(pictures.update().values(digest=None))
    _make_due(services, store.store_id)
    handler.requests.clear()
    see(services, duties, store.store_id)
    assert {known for _, known in handler.requests} == {None}
    digest = file_digest(cross)
    assert digests_of(services, store.store_id)[1:] == [digest, digest, digest]


def test_another_embedding_takes_over_once_nearly_all_pictures_are_seen_by_it(
    services: Services, shop: Any, tmp_path: Path
) -> None:
    handler, address = shop
    handler.files = {colour: encoded(drawn(colour, "ball")) for colour in COLOURS}
    store = new_store(services.database, "change.example")
    addresses = {colour: f"{address}/{colour}" for colour in COLOURS}
    say(services, store.store_id, **addresses)
    with contextlib.closing(PictureJobs(services)) as duties:
        see(services, duties, store.store_id)
    first = model_of(services, store.store_id)
    model = mean_colour(tmp_path / "colours.onnx")
    changed = replace(services, settings=replace(services.settings, image_model=model))
    handler.busy = {"red", "blue"}

    with contextlib.closing(PictureJobs(changed)) as duties:
        see(changed, duties, store.store_id)
        assert model_of(services, store.store_id) == first  # two are not to be had now
        served = ServedVisualModel(services.visual_model_folder, store.store_id)
        assert served.open_published_model(first)
        with SandboxedDecoder(embedder=model) as viewer:
            eye = PhotoMatcher(
                viewer, served, choose_embedding(read_model_file(model, EMBEDDER))
            )
            photo = encoded(drawn("blue", "ball", seed=3))
            similar = eye.similar_items(photo, 1, np.ones(len(COLOURS), np.bool_)).ranked
        # Photos find by the old way, too.
        assert similar.items.tolist() == [list(COLOURS).index("blue")]
        handler.busy = set()
        _make_due(services, store.store_id)
        see(changed, duties, store.store_id)

    assert model_of(services, store.store_id) not in {None, first}
    assert served.open_published_model(model_of(services, store.store_id))
    assert len(served.model) == len(COLOURS)
    assert served.embedder.startswith("onnx-")


def model_of(services: Services, store_id: StoreId) -> str | None:
    with services.database.reading() as connection:
        return PictureRepository(connection, store_id).progress().visual_id


def test_a_push_that_names_no_picture_leaves_the_item_the_one_it_has(
    services: Services, duties: PictureJobs, shop: Any
) -> None:
    handler, address = shop
    handler.files = {"red": encoded(drawn("red", "ball"))}
    store = new_store(services.database, "keep.example")
    say(services, store.store_id, red=f"{address}/red", none=None)
    see(services, duties, store.store_id)
    first = model_of(services, store.store_id)
    handler.requests.clear()

    patches = [ItemPatch("red", {"price": 7.0}), ItemPatch("none", {"price": 7.0})]
    with services.database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(services.database, transaction, store.store_id),
            patches,
            system_ms(),
        )

    assert see(services, duties, store.store_id) == PictureCounts(1, 0, 0)
    assert model_of(services, store.store_id) == first
    assert handler.requests == []
    say(services, store.store_id, red=None)  # null takes the picture away
    assert see(services, duties, store.store_id) == PictureCounts(0, 0, 0)


def _make_due(services: Services, store_id: StoreId) -> None:
    """Let a week pass."""
    with services.database.transaction() as transaction:
        query = pictures.update().where(pictures.c.store_id == store_id)
        transaction.execute(query.values(due_at=pictures.c.due_at - REFETCH_AFTER_MS))
