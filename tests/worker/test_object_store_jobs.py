"""Object jobs and the other files that machines share: uploads, builds and erasures."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from productrecs.cli.doctor.installation_checks import check_object_store
from productrecs.core.clock import fixed_clock
from productrecs.core.ids import StoreId
from productrecs.features.privacy.shopper_erasure import (
    append_to_erasure_ledgers,
    read_erasure_ledgers,
)
from productrecs.http.pipeline.readiness_checks import DependencyMonitor
from productrecs.http.routes.public.widget_scripts import archive_and_exchange_builds
from productrecs.records.uploads.upload_folder import UploadFolder, new_upload_id
from productrecs.services import (
    ForeignObjectsError,
    Services,
    build_services,
    remove_copies_of_deleted_stores,
)
from productrecs.settings import from_environment
from productrecs.storage.files.model_files import publish_arrays
from productrecs.storage.files.object_store import ObjectStore, ObjectStoreUnavailableError
from productrecs.storage.files.object_store_snapshots import MODELS, SnapshotName
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from productrecs.training.repository import TrainedModelState, TrainingRepository
from productrecs.worker.file_import_jobs import OrderUploadJobs
from productrecs.worker.job_worker import JobProgress
from productrecs.worker.object_store_jobs import ObjectStoreJobHandler
from tests.support.migrated import bring
from tests.support.stores import new_store

NOON = 1_800_000_000_000


@pytest.fixture
def services(tmp_path: Path, object_address: str) -> Iterator[Services]:
    bring(tmp_path / "data")
    environment = {"PRODUCTRECS_OBJECTS": object_address}
    built = build_services(from_environment(environment, tmp_path / "data"))
    yield built
    built.close()


@pytest.fixture
def objects(services: Services) -> ObjectStore:
    assert services.objects is not None
    return services.objects


def train(services: Services, store_id: StoreId) -> SnapshotName:
    """Let a model serve that only the local folder has."""
    model_id = publish_arrays(services.models / store_id, {"a": np.arange(9)}, {})
    with services.database.transaction() as transaction:
        TrainingRepository(transaction, store_id).serve_unless_older(
            TrainedModelState(model_id, 1, 1, "", NOON)
        )
    return SnapshotName(store_id, MODELS, model_id)


def tidy(jobs: ObjectStoreJobHandler) -> None:
    job: Any = None
    jobs.purge_objects_and_upload_models(job, JobProgress(threading.Event()))


def test_models_from_before_are_uploaded_and_old_ones_purged(
    services: Services, objects: ObjectStore
) -> None:
    store = new_store(services.database, "a.example")
    shared, jobs = (
        services.snapshots.shared,
        ObjectStoreJobHandler(services, grace_seconds=0),
    )
    assert shared is not None
    names = []
    for _ in range(4):
        names.append(train(services, store.store_id))
        tidy(jobs)

    assert shared.has(names[-1])
    stored = list(objects.list(f"stores/{store.store_id}/{MODELS}"))
    assert len(stored) <= 2  # the serving one, and perhaps the previous one
    delete_store(services.database, store)
    tidy(jobs)
    assert list(objects.list("stores")) == []
    assert not (services.models / store.store_id).exists()


def test_installations_with_one_prefix_purge_nothing_of_each_other(
    services: Services, objects: ObjectStore, tmp_path: Path
) -> None:
    jobs = ObjectStoreJobHandler(services, grace_seconds=0)
    tidy(jobs)
    tidy(jobs)  # the same installation again
    bring(tmp_path / "other")
    environment = {"PRODUCTRECS_OBJECTS": objects.address}
    other = build_services(from_environment(environment, tmp_path / "other"))
    objects.put("stores/st_1/models/a/manifest", b"of the first")

    with pytest.raises(ForeignObjectsError, match="belongs to another installation"):
        tidy(ObjectStoreJobHandler(other, grace_seconds=0))
    job: Any = None
    with pytest.raises(ForeignObjectsError):
        OrderUploadJobs(other).sweep_upload_folder(job, JobProgress(threading.Event()))

    assert objects.has("stores/st_1/models/a/manifest")
    [finding] = check_object_store(other)
    assert finding.remedy is not None
    assert "prefix of its own" in finding.remedy
    objects.delete(["installation"])
    tidy(ObjectStoreJobHandler(other, grace_seconds=0))
    assert not objects.has("stores/st_1/models/a/manifest")
    other.close()


def test_a_file_that_one_machine_received_is_read_on_another(
    tmp_path: Path, objects: ObjectStore
) -> None:
    one, other = (UploadFolder(tmp_path / name, objects) for name in ("one", "other"))
    upload_id = new_upload_id()
    one.path.mkdir()
    (one.path / upload_id).write_bytes(b"order_id,item_id\n1,2\n")

    one.move_to_object_store(upload_id)

    assert list(one.path.iterdir()) == []
    with other.open(upload_id) as file:
        assert file.read() == b"order_id,item_id\n1,2\n"
    other.remove(upload_id)
    with pytest.raises(FileNotFoundError):
        one.fetch_local_path(upload_id)
    assert other.delete_unneeded_files(set()) == 0


def test_a_file_is_rewritten_for_every_machine_or_stays_as_it_was(
    tmp_path: Path, objects: ObjectStore
) -> None:
    one, other = (UploadFolder(tmp_path / name, objects) for name in ("one", "other"))
    upload_id = new_upload_id()
    one.path.mkdir()
    (one.path / upload_id).write_bytes(b"before")
    one.move_to_object_store(upload_id)
    one.fetch_local_path(upload_id)

    with contextlib.suppress(ZeroDivisionError), one.rewrite(upload_id) as file:
        file.write(bytes([1 // 0]))
    unchanged = (one.path / upload_id).read_bytes()
    with one.rewrite(upload_id) as file:
        file.write(b"after")

    assert unchanged == b"before"
    assert one.fetch_local_path(upload_id).read_bytes() == b"after"
    assert other.fetch_local_path(upload_id).read_bytes() == b"after"
    assert [path.name for path in one.path.iterdir()] == [upload_id]
    assert len(list(objects.list("uploads"))) == 1


def test_a_damaged_upload_is_not_imported(tmp_path: Path, objects: ObjectStore) -> None:
    folder, upload_id = UploadFolder(tmp_path / "one", objects), new_upload_id()
    folder.path.mkdir()
    (folder.path / upload_id).write_bytes(b"order_id,item_id\n1,2\n")
    folder.move_to_object_store(upload_id)
    [stored] = objects.list("uploads")
    objects.put(stored.key, b"order_id,item_id\n1,3\n")

    with pytest.raises(FileNotFoundError):
        folder.fetch_local_path(upload_id)
    assert list(folder.path.iterdir()) == []


def test_machines_share_builds_and_erasures(tmp_path: Path, objects: ObjectStore) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    archive_and_exchange_builds(one, objects)
    (one / "old.js").write_bytes(b"old")
    archive_and_exchange_builds(one, objects)
    append_to_erasure_ledgers(one, StoreId("st_1"), {"a" * 32: 5}, objects)

    archive_and_exchange_builds(other, objects)

    assert (other / "old.js").read_bytes() == b"old"
    assert read_erasure_ledgers(other, objects) == {"st_1": {"a" * 32: 5}}
    assert read_erasure_ledgers(other) == {}


class Unreachable(ObjectStore):
    """An object store that does not answer."""

    def get(self, key: str) -> bytes:
        """Fail as a server that is down."""
        self.trouble = "no answer"
        raise ObjectStoreUnavailableError(key)

    def put(self, key: str, _content: object) -> None:
        """Fail as a server that is down."""
        self.get(key)


def test_readiness_and_doctor_report_the_object_store(
    services: Services, objects: ObjectStore
) -> None:
    def checked(store: ObjectStore) -> str:
        monitor = DependencyMonitor(
            services.database, services.settings.data, fixed_clock(NOON), store
        )
        monitor.run_checks()
        assert not monitor.current_readiness().reasons
        return monitor.current_readiness().results_by_check()["objects"]

    assert checked(objects) == "ok"
    assert [one.level.value for one in check_object_store(services)] == ["ok"]
    down = Unreachable(objects.address)
    assert "productrecs doctor" in checked(down)
    assert services.snapshots.shared is not None
    services.snapshots.shared.objects = down
    [finding] = check_object_store(services)
    assert finding.remedy is not None
    assert "AWS_ENDPOINT_URL" in finding.remedy
    remove_copies_of_deleted_stores(services)  # needs no object store without old copies
