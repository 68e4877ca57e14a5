"""Encoder switch: lists keep their encoder until the next one has seen all pictures."""

import contextlib
import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from productrecs.cli.doctor.picture_checks import check_picture_models
from productrecs.cli.main import productrecs
from productrecs.core.ids import StoreId
from productrecs.records.pictures.onnx_model_file import EMBEDDER
from productrecs.records.pictures.repository import PictureRepository
from productrecs.services import INSTALLED_MODELS_FOLDER, Services, build_services
from productrecs.settings import Settings
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.store_management import (
    delete_store,
    find_store,
)
from productrecs.training.installed_models import InstalledModels, ModelSource
from productrecs.training.visual.build_visual_model import (
    embedders_of_stored_models,
    served_embedder,
)
from productrecs.training.visual.photo_search_messages import (
    ALIKE,
    PhotoItemsReply,
    PhotoSearchRequest,
    unpack_ranked,
)
from productrecs.training.visual.photo_search_worker import PhotoWorker
from productrecs.training.visual.served_visual_model import ServedVisualModel
from productrecs.worker import picture_jobs as picture_jobs_module
from productrecs.worker.job_worker import JobProgress
from productrecs.worker.picture_jobs import JOB, PictureJobs
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.support.migrated import bring
from tests.support.pictures import COLOURS, drawn, encoded
from tests.support.stores import new_store
from tests.worker.test_picture_jobs import HOST, model_of, picture_server, say

NAMES = ("first", "second", "third")


@dataclass(slots=True)
class Shop:
    """Stores whose pictures a server gives, and the encoders of their service."""

    services: Services
    server: Any
    address: str
    installed: InstalledModels
    embedders: dict[str, str] = field(default_factory=dict)

    def add_store(self, domain: str) -> StoreId:
        """Add a store with a product of each colour."""
        store = new_store(self.services.database, domain)
        say(
            self.services,
            store.store_id,
            **{one: f"{self.address}/{one}" for one in COLOURS},
        )
        return store.store_id

    def serving(self, store_id: StoreId) -> str:
        """Return the name of the encoder of the store's lists."""
        visual_id = model_of(self.services, store_id)
        embedder = served_embedder(self.services.visual_model_folder, store_id, visual_id)
        return next(name for name, one in self.embedders.items() if one == embedder)

    def listed(self, store_id: StoreId) -> int:
        """Return how many products are in the store's lists."""
        served = ServedVisualModel(self.services.visual_model_folder, store_id)
        assert served.open_published_model(model_of(self.services, store_id))
        return len(served.model)

    def described(self, store_id: StoreId) -> dict[str, int]:
        """Return how many pictures each encoder has described."""
        with self.services.database.reading() as connection:
            repository = PictureRepository(connection, store_id)
            return {
                name: repository.count_described(one)
                for name, one in self.embedders.items()
            }

    def work(self, jobs: PictureJobs) -> None:
        """Run the job of each store that is due, once."""
        self.server.requests.clear()
        for store_id in jobs.stores_with_picture_work():
            with self.services.database.transaction() as transaction:
                self.services.queue.enqueue(transaction, NewJob(store_id, JOB))
            job = self.services.queue.claim([JOB])
            assert job is not None
            with contextlib.suppress(StoreDeletedError):
                jobs.fetch_and_index_pictures(job, JobProgress(threading.Event()))
            self.services.queue.mark_done(job)


@pytest.fixture
def shop(tmp_path: Path, database_url: str | None) -> Iterator[Shop]:
    """Give a service with three installed encoders, of which the first one is used."""
    place, data = tmp_path / "place", tmp_path / "data"
    settings = Settings(
        data, database_url, image_hosts=frozenset({HOST}), has_packaged_encoder=True
    )
    data.mkdir()
    bring(data, database_url)
    installed = InstalledModels(data / INSTALLED_MODELS_FOLDER)
    files = {one: encoded(drawn(one, "ball")) for one in COLOURS}
    with (
        picture_server(files) as (server, address),
        contextlib.closing(build_services(settings)) as services,
    ):
        shop = Shop(services, server, address, installed)
        for name in NAMES:
            (place / name).mkdir(parents=True)
            mean_colour(place / name / "model.onnx", name)
            (place / "models.json").write_text(
                f'{{"models": [{{"name": "{name}", "licence": "MIT", "about": ""}}]}}'
            )
            source = ModelSource(str(place))
            installed.stage(source, source.offer(name))
            installed.install_staged(name)
            shop.embedders[name] = installed.read_picture_model(name).name
        installed.use("first")
        yield shop


@pytest.fixture
def jobs(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[PictureJobs]:
    """Give the jobs, which build a model after each call however long the last took."""
    monkeypatch.setattr(picture_jobs_module, "_PAUSE_FACTOR", 0.0)
    with contextlib.closing(PictureJobs(shop.services)) as picture_jobs:
        yield picture_jobs


def test_the_lists_keep_their_encoder_until_the_next_one_has_described_all(
    shop: Shop, jobs: PictureJobs
) -> None:
    store_id = shop.add_store("switch.example")
    shop.work(jobs)
    before = shop.serving(store_id), shop.listed(store_id)
    shop.installed.use("second")
    shop.server.busy = set(list(COLOURS)[:3])

    shop.work(jobs)
    meanwhile = shop.serving(store_id), shop.described(store_id)
    shop.server.busy = set()
    make_due(shop, store_id)
    shop.work(jobs)

    assert before == ("first", len(COLOURS))
    assert meanwhile[0] == "first"
    assert meanwhile[1]["second"] == len(COLOURS) - 3
    assert (shop.serving(store_id), shop.listed(store_id)) == ("second", len(COLOURS))
    assert shop.described(store_id) == {
        "first": len(COLOURS),
        "second": len(COLOURS),
        "third": 0,
    }


def test_a_switch_is_undone_at_once_without_a_fetch(shop: Shop, jobs: PictureJobs) -> None:
    store_id = shop.add_store("undo.example")
    shop.work(jobs)
    shop.installed.use("second")
    shop.work(jobs)
    shop.server.files["new"] = encoded(drawn("red", "cross"))
    say(shop.services, store_id, new=f"{shop.address}/new")
    shop.work(jobs)
    switched = shop.serving(store_id), shop.listed(store_id)
    shop.installed.use("first")

    shop.work(jobs)

    assert switched == ("second", len(COLOURS) + 1)
    assert shop.server.requests == []
    # A product that came after the switch is there too.
    assert (shop.serving(store_id), shop.listed(store_id)) == ("first", len(COLOURS) + 1)


def test_a_new_picture_of_the_transition_is_in_the_lists_before_and_after(
    shop: Shop, jobs: PictureJobs
) -> None:
    store_id = shop.add_store("new.example")
    shop.work(jobs)
    shop.installed.use("second")
    shop.server.busy = set(COLOURS)
    shop.work(jobs)
    shop.server.files["new"] = encoded(drawn("red", "cross"))
    say(shop.services, store_id, new=f"{shop.address}/new")

    shop.work(jobs)
    meanwhile = shop.serving(store_id), shop.listed(store_id)
    shop.server.busy = set()
    make_due(shop, store_id)
    shop.work(jobs)

    assert meanwhile == ("first", len(COLOURS) + 1)
    assert (shop.serving(store_id), shop.listed(store_id)) == ("second", len(COLOURS) + 1)


def test_a_killed_worker_goes_on_where_it_stopped(shop: Shop) -> None:
    store_id = shop.add_store("killed.example")
    with contextlib.closing(PictureJobs(shop.services)) as jobs:
        shop.work(jobs)
        shop.installed.use("second")
        shop.server.busy = {"red", "blue"}
        shop.work(jobs)
    shop.server.busy = set()
    make_due(shop, store_id)

    with contextlib.closing(PictureJobs(shop.services)) as jobs:
        shop.work(jobs)

    assert sorted(name for name, _ in shop.server.requests) == ["blue", "red"]
    assert shop.serving(store_id) == "second"


def test_the_last_of_two_switches_in_a_row_holds(shop: Shop, jobs: PictureJobs) -> None:
    store_id = shop.add_store("twice.example")
    shop.work(jobs)
    shop.installed.use("second")
    shop.server.busy = {"red", "blue"}
    shop.work(jobs)
    shop.installed.use("third")
    shop.work(jobs)
    meanwhile = shop.serving(store_id), shop.listed(store_id)
    shop.server.busy = set()
    make_due(shop, store_id)
    shop.work(jobs)
    switched = shop.serving(store_id), shop.listed(store_id)

    shop.installed.use("first")
    shop.work(jobs)

    assert meanwhile == ("first", len(COLOURS))
    assert switched == ("third", len(COLOURS))
    assert shop.serving(store_id) == "first"
    assert shop.server.requests == []


def test_an_undo_during_the_transition_ends_it(shop: Shop, jobs: PictureJobs) -> None:
    store_id = shop.add_store("half.example")
    shop.work(jobs)
    shop.installed.use("second")
    shop.server.busy = {"red", "blue"}
    shop.work(jobs)
    visual_id = model_of(shop.services, store_id)
    shop.server.busy = set()

    shop.installed.use("first")
    shop.work(jobs)
    ended = model_of(shop.services, store_id)
    described = shop.described(store_id)
    shop.installed.use("second")
    make_due(shop, store_id)
    shop.work(jobs)

    assert ended == visual_id
    assert described["second"] == len(COLOURS) - 2
    assert shop.serving(store_id) == "second"
    assert sorted(name for name, _ in shop.server.requests) == ["blue", "red"]


def test_a_damaged_model_leaves_the_lists_and_the_pictures_alone(
    shop: Shop, jobs: PictureJobs
) -> None:
    store_id = shop.add_store("damaged.example")
    shop.work(jobs)
    shop.installed.use("second")
    path = shop.installed.used_file(EMBEDDER)
    assert path is not None
    path.write_bytes(path.read_bytes() + b"x")

    waiting = jobs.stores_with_picture_work()
    shop.installed.use("first")
    shutil.rmtree(path.parent)  # and removed by hand
    say(shop.services, store_id, new=f"{shop.address}/red")
    shop.work(jobs)

    assert waiting == ()
    assert (shop.serving(store_id), shop.listed(store_id)) == ("first", len(COLOURS) + 1)


def test_stores_switch_on_their_own_and_a_deleted_one_leaves_nothing(
    shop: Shop, jobs: PictureJobs
) -> None:
    kept, deleted = shop.add_store("kept.example"), shop.add_store("deleted.example")
    shop.work(jobs)
    shop.installed.use("second")
    shop.server.busy = {"red", "blue"}
    shop.work(jobs)
    delete_store(
        shop.services.database, find_store(shop.services.database, "deleted.example")
    )
    shop.server.busy = set()
    make_due(shop, kept)

    shop.work(jobs)

    assert jobs.stores_with_picture_work() == []
    assert shop.serving(kept) == "second"
    assert shop.described(deleted) == dict.fromkeys(NAMES, 0)


def test_the_command_shows_the_progress_and_removes_what_a_model_described(
    shop: Shop, jobs: PictureJobs
) -> None:
    store_id = shop.add_store("list.example")
    shop.work(jobs)
    said = run(shop, "use", "second")
    shop.server.busy = {"red", "blue"}
    shop.work(jobs)
    meanwhile, doctor = run(shop, "list"), picture_check(shop)
    refused = run(shop, "remove", "first", fails=True)
    shop.server.busy = set()
    make_due(shop, store_id)
    shop.work(jobs)
    after = run(shop, "list")

    run(shop, "remove", "first")

    count = len(COLOURS)
    assert "`productrecs models use first` undoes it." in said
    assert f"described {count - 2} of {count} pictures" in meanwhile
    assert "serves 0 of 1 stores" in line_of(meanwhile, "second")
    assert "serves 1 of 1 stores" in line_of(meanwhile, "first")
    assert f"second has described {count - 2} of {count}" in doctor
    assert "first serves 1 stores; use another model first" in refused
    assert "serves 1 of 1 stores" in line_of(after, "second")
    assert picture_check(shop).endswith("second describes them")
    assert shop.described(store_id) == {"first": 0, "second": count, "third": 0}
    assert embedders_of_stored_models(shop.services.visual_model_folder, store_id) == {
        shop.embedders["second"]
    }
    shop.work(jobs)
    assert (shop.serving(store_id), shop.listed(store_id)) == ("second", count)


def test_photos_are_described_by_the_encoder_of_the_lists_they_search(
    shop: Shop, jobs: PictureJobs
) -> None:
    store_id = shop.add_store("photo.example")
    shop.work(jobs)
    worker = PhotoWorker(shop.services.find_or_convert_picture_encoders())
    worker.start(is_idle=False)
    found = [blue_items(worker, shop, store_id)]
    for name in ("second", "third", "first"):
        shop.installed.use(name)
        found.append(blue_items(worker, shop, store_id))  # the lists have not switched
        shop.work(jobs)
        assert shop.serving(store_id) == name
        found.append(blue_items(worker, shop, store_id))
    worker.close()

    assert found == [[list(COLOURS).index("blue")]] * 7


def blue_items(worker: PhotoWorker, shop: Shop, store_id: StoreId) -> list[int]:
    """Return the item that is most similar to a blue photo."""
    visible = np.packbits(np.ones(len(COLOURS), np.bool_)).tobytes()
    folder, visual_id = (
        shop.services.visual_model_folder / store_id,
        model_of(shop.services, store_id),
    )
    request = PhotoSearchRequest(
        ALIKE, str(folder), visual_id or "", 1, len(COLOURS), visible
    )
    reply = worker.answer(request, encoded(drawn("blue", "ball", seed=3)))
    assert isinstance(reply, PhotoItemsReply)
    items: list[int] = unpack_ranked(reply.row).items.tolist()
    return items


def test_a_model_that_cannot_be_run_is_not_used(shop: Shop) -> None:
    path = shop.installed.read_picture_model("second").path
    path.write_bytes(b"no model")
    sidecar = path.with_suffix(".json")
    fields = json.loads(sidecar.read_text("utf-8"))
    fields["sha256"] = hashlib.sha256(b"no model").hexdigest()
    sidecar.write_text(json.dumps(fields), "utf-8")

    said = run(shop, "use", "second", fails=True)

    assert "does not describe a picture" in said
    assert shop.installed.used_name(EMBEDDER) == "first"


def run(shop: Shop, *words: str, fails: bool = False) -> str:
    """Run `productrecs models` and return what it says."""
    settings = shop.services.settings
    command = ["models", *words, "--data", str(settings.data)]
    environment = {"DATABASE_URL": settings.database_url or ""}
    result = CliRunner().invoke(productrecs, command, env=environment)
    assert (result.exit_code != 0) is fails, result.output
    return result.output


def line_of(listed: str, name: str) -> str:
    """Return the line of a model."""
    return next(line for line in listed.splitlines() if line.startswith(f"{name}: "))


def picture_check(shop: Shop) -> str:
    """Return what doctor says about the pictures."""
    (said,) = check_picture_models(shop.services)
    return said.message


def make_due(shop: Shop, store_id: StoreId) -> None:
    """Let the pictures that failed be fetched again now."""
    with shop.services.database.transaction() as transaction:
        PictureRepository(transaction, store_id).retry_failed(0)
