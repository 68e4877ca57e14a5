"""Snapshots: uploaded before the pointer moves, fetched whole, verified, and purged."""

import hashlib
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from productrecs.core.errors import operator_text
from productrecs.core.ids import StoreId
from productrecs.storage.files.model_files import open_arrays, publish_arrays
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStore,
    ObjectStoreAddressError,
    ObjectStoreUnavailableError,
)
from productrecs.storage.files.object_store_snapshots import (
    KINDS,
    MODELS,
    InvalidObjectError,
    SnapshotName,
    SnapshotStore,
)
from productrecs.storage.files.snapshot_cache import SnapshotCache
from tests.support.object_server import RADOSGW

ONE, OTHER = StoreId("st_one"), StoreId("st_other")
LARGE = np.arange(100_000, dtype=np.int64)  # above the size that is packed
PART, PAGE = 6 << 20, 1_000  # what one request uploads, and lists

on_s3 = pytest.mark.parametrize("object_address", ["moto", RADOSGW], indirect=True)
everywhere = pytest.mark.parametrize(
    "object_address", ["folder", "moto", RADOSGW], indirect=True
)


@dataclass
class SnapshotMachine:
    """A machine with its own data folder."""

    folder: Path
    store: SnapshotStore
    cache: SnapshotCache

    @classmethod
    def at(cls, folder: Path, objects: ObjectStore) -> "SnapshotMachine":
        """Start a machine whose data folder is `folder`."""
        store = SnapshotStore(objects)
        return cls(
            folder, store, SnapshotCache(store, {one: folder / one for one in KINDS})
        )

    def train(
        self, value: int, serving: str | None = None, store_id: StoreId = ONE
    ) -> SnapshotName:
        """Publish a model and upload it."""
        arrays = {"large": LARGE, "value": np.array([value]), "empty": np.zeros(0)}
        model = publish_arrays(
            self.folder / MODELS / store_id, arrays, {"store_id": store_id}, serving
        )
        name = SnapshotName(store_id, MODELS, model)
        self.cache.upload_model(name, serving)
        return name

    def value(self, name: SnapshotName) -> int:
        """Return what a local model says, after its verification."""
        arrays, _ = open_arrays(self.folder / MODELS / name.store_id / name.name)
        assert np.array_equal(arrays["large"], LARGE)
        return int(arrays["value"][0])


def two_machines(tmp_path: Path, address: str) -> tuple[SnapshotMachine, SnapshotMachine]:
    return tuple(  # type: ignore[return-value]  # two
        SnapshotMachine.at(tmp_path / name, ObjectStore(address)) for name in ("one", "two")
    )


def keys(machine: SnapshotMachine, prefix: str = "stores") -> dict[str, int]:
    return {one.key: one.size for one in machine.store.objects.list(prefix)}


@everywhere
def test_a_model_trained_on_one_machine_is_served_by_another(
    tmp_path: Path, object_address: str
) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    first = trainer.train(1)
    second = trainer.train(2, first.name)
    reader.cache.wait_until_ready([first, second])

    assert [reader.value(one) for one in (first, second)] == [1, 2]
    # The large array did not change: it is uploaded once, and linked on the other machine.
    assert sum(size == LARGE.nbytes for size in keys(trainer).values()) == 1
    files = [
        reader.folder / MODELS / ONE / one.name / "large.bin" for one in (first, second)
    ]
    assert files[0].samefile(files[1])


@on_s3
def test_a_worker_elsewhere_numbers_its_model_after_the_serving_one(
    tmp_path: Path, object_address: str
) -> None:
    trainer, other = two_machines(tmp_path, object_address)
    serving = trainer.train(1, "00000041-0a0a0a0a")

    assert serving.name[:8] == "00000042"
    assert other.train(2, serving.name).name[:8] == "00000043"


@on_s3
def test_a_store_gets_no_snapshot_of_another(tmp_path: Path, object_address: str) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    name = trainer.train(1)
    moved = name._replace(store_id=OTHER)
    trainer.store.objects.put(moved.key, trainer.store.objects.get(name.key))
    trainer.train(5, store_id=OTHER)
    trainer.store.purge(OTHER, {}, grace_seconds=0, keep_previous=False)

    with pytest.raises(MissingObjectError):
        trainer.store.read_manifest(moved)
    reader.cache.wait_until_ready([name])
    assert reader.value(name) == 1
    trainer.store.objects.put(moved.key, trainer.store.objects.get(name.key))
    with pytest.raises(InvalidObjectError, match="is of"):
        reader.store.read_manifest(moved)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[:-1],
    "empty": lambda _: b"",
    "changed": lambda content: content[:-9] + b"!" + content[-8:],
}


@on_s3
@pytest.mark.parametrize("what", ["manifest", "pack", "large"])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_object_is_refused(
    tmp_path: Path, object_address: str, what: str, how: str
) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    name = trainer.train(1)
    object_keys = keys(trainer, f"stores/{ONE}/objects")
    by_size = sorted(object_keys, key=lambda key: object_keys[key])
    key = {"manifest": name.key, "pack": by_size[0], "large": by_size[-1]}[what]
    objects = trainer.store.objects
    whole = objects.get(key)
    objects.put(key, DAMAGE[how](whole))

    reader.cache.wait_until_ready([name])

    assert reader.cache.is_refused(name)
    assert not (reader.folder / MODELS / ONE / name.name).exists()
    objects.put(key, whole)
    repaired = SnapshotMachine.at(tmp_path / "two", ObjectStore(object_address))
    repaired.cache.wait_until_ready([name])
    assert repaired.value(name) == 1


@everywhere
def test_a_damaged_local_copy_is_fetched_again_once(
    tmp_path: Path, object_address: str
) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    name = trainer.train(7)
    reader.cache.wait_until_ready([name])
    copy = reader.folder / MODELS / ONE / name.name
    (copy / "model.bin").write_bytes(b"damage")

    assert reader.cache.discard_damaged_once(name)
    reader.cache.wait_until_ready([name])

    assert reader.value(name) == 7
    assert not reader.cache.discard_damaged_once(name)


class CutObjects(ObjectStore):
    """An object store to which the connection is cut after some uploads."""

    left = 0

    def put(self, key: str, content: object) -> None:
        """Store an object unless the connection is cut."""
        self.left -= 1
        if self.left < 0:
            message = "cut"
            raise ObjectStoreUnavailableError(message)
        super().put(key, content)  # type: ignore[arg-type]  # as it came


@on_s3
@pytest.mark.parametrize("uploads", [0, 1, 2])
def test_an_upload_that_is_cut_leaves_no_snapshot(
    tmp_path: Path, object_address: str, uploads: int
) -> None:
    objects = CutObjects(object_address)
    trainer = SnapshotMachine.at(tmp_path / "one", objects)
    objects.left = 3
    serving = trainer.train(1)
    objects.left = uploads

    with pytest.raises(ObjectStoreUnavailableError):
        SnapshotMachine.at(tmp_path / "one", objects).train(2, serving.name)

    objects.left = 99
    assert set(keys(trainer, f"stores/{ONE}/{MODELS}")) == {serving.key}
    assert [one.name for one in (tmp_path / "one" / MODELS / ONE).iterdir()] == [
        serving.name
    ]
    reader = SnapshotMachine.at(tmp_path / "two", ObjectStore(object_address))
    trainer.store.purge(ONE, {MODELS: serving.name}, grace_seconds=0)
    reader.cache.wait_until_ready([serving])
    assert reader.value(serving) == 1
    assert len(keys(trainer)) == 3  # a manifest, a pack, a large array


@everywhere
def test_a_purge_keeps_what_a_reader_may_still_fetch(
    tmp_path: Path, object_address: str
) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    names = [trainer.train(0)]
    for value in (1, 2, 3):
        names.append(trainer.train(value, names[-1].name))
    before, serving = keys(trainer), {MODELS: names[-1].name}

    assert trainer.store.purge(ONE, serving) == 0  # all are young
    assert keys(trainer) == before
    trainer.store.purge(ONE, serving, grace_seconds=0)

    kept = {key.rsplit("/", 1)[-1] for key in keys(trainer, f"stores/{ONE}/{MODELS}")}
    assert names[-1].name in kept
    assert len(kept) == 2  # the serving and the previous one
    for name in names:
        if name.name in kept:
            reader.cache.wait_until_ready([name])
            assert reader.value(name) == names.index(name)
    assert trainer.store.purge(ONE, serving, grace_seconds=0) == 0


@everywhere
def test_control_a_purge_without_the_pointer_removes_the_serving_model(
    tmp_path: Path, object_address: str
) -> None:
    trainer, _ = two_machines(tmp_path, object_address)
    name = trainer.train(1)

    trainer.store.purge(ONE, {}, grace_seconds=0, keep_previous=False)

    assert not trainer.store.has(name)
    assert keys(trainer) == {}


@on_s3
def test_two_workers_that_publish_at_once_both_leave_whole_models(
    tmp_path: Path, object_address: str
) -> None:
    one, other = two_machines(tmp_path, object_address)
    serving = one.train(0)
    names = [one.train(1, serving.name), other.train(2, serving.name)]

    reader = SnapshotMachine.at(tmp_path / "three", ObjectStore(object_address))
    reader.cache.wait_until_ready(names)

    assert [reader.value(name) for name in names] == [1, 2]


@everywhere
def test_an_erasure_removes_older_models_at_once(
    tmp_path: Path, object_address: str
) -> None:
    trainer, reader = two_machines(tmp_path, object_address)
    first = trainer.train(1)
    second = trainer.train(2, first.name)
    untouched = trainer.train(3, store_id=OTHER)

    trainer.cache.remove_other_uploaded_models(ONE, second.name)

    assert not trainer.store.has(first)
    reader.cache.wait_until_ready([second, untouched])
    assert (reader.value(second), reader.value(untouched)) == (2, 3)


@on_s3
def test_without_the_object_store_readers_serve_on_and_recover(
    tmp_path: Path, object_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, _ = two_machines(tmp_path, object_address)
    name = trainer.train(1)
    url = os.environ["AWS_ENDPOINT_URL"]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    objects = ObjectStore(object_address)
    reader = SnapshotMachine.at(tmp_path / "two", objects)
    began = time.monotonic()

    reader.cache.wait_until_ready([name], 30)

    assert time.monotonic() - began < 10
    assert not reader.cache.is_ready_or_request_fetch(name)
    assert not reader.cache.is_refused(name)
    assert objects.find_trouble() is not None
    with pytest.raises(ObjectStoreUnavailableError) as raised:
        reader.cache.check_reachable()
    assert "PRODUCTRECS_OBJECTS" in operator_text(raised.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    objects._remote = None  # noqa: SLF001 - the server is back at its address
    objects.check_reachable()
    reader.cache.wait_until_ready([name], 30)
    assert reader.value(name) == 1


@pytest.mark.trust
@everywhere
def test_objects_of_many_parts_and_lists_of_many_pages(
    tmp_path: Path, object_address: str
) -> None:
    objects, large = ObjectStore(object_address), os.urandom(PART) * 4 + b"end"
    (tmp_path / "file").write_bytes(large)
    objects.put("a", tmp_path / "file")
    objects.put("b", large)
    names = [f"many/{number}/of it" for number in range(PAGE + 1)]

    saved = [objects.download_and_hash(key, tmp_path / "copies" / key) for key in "ab"]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: objects.put(name, name.encode()), names))

    assert saved == [hashlib.sha256(large).hexdigest()] * 2
    assert sorted(one.key for one in objects.list("many")) == sorted(names)
    assert len(objects.list_folders("many")) == len(names)
    objects.delete(names[1:])
    objects.delete(names[1:])  # without complaint
    assert sorted(one.key for one in objects.list("")) == ["a", "b", names[0]]


@pytest.mark.parametrize("object_address", [RADOSGW], indirect=True)
@pytest.mark.parametrize(
    ("variable", "code"),
    [
        ("AWS_ACCESS_KEY_ID", "InvalidAccessKeyId"),
        ("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"),
    ],
)
def test_a_wrong_key_is_named(
    object_address: str, monkeypatch: pytest.MonkeyPatch, variable: str, code: str
) -> None:
    monkeypatch.setenv(variable, "wrong")

    with pytest.raises(ObjectStoreUnavailableError, match=f"{code}: .*AWS_ variables"):
        ObjectStore(object_address).check_reachable()


@on_s3
def test_an_empty_variable_is_an_unset_one(
    tmp_path: Path, object_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "")

    SnapshotMachine.at(tmp_path / "one", ObjectStore(object_address)).train(1)


@pytest.mark.parametrize("endpoint", ["localhost:9000", "s3.example.com", "http://"])
def test_an_endpoint_that_is_no_url_is_refused(
    monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    with pytest.raises(ObjectStoreAddressError, match="AWS_ENDPOINT_URL"):
        ObjectStore("s3://bucket/prefix")


@pytest.mark.parametrize(
    "address", ["s3:bucket", "s3://", "gs://bucket/x", "http://x/y", ""]
)
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(ObjectStoreAddressError, match="s3://bucket/prefix"):
        ObjectStore(address)
