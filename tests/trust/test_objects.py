"""Objects: machines without a common folder share models, indexes and uploads."""

import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from productrecs.storage.files.object_store import ObjectStore
from productrecs.storage.files.object_store_snapshots import KINDS, SnapshotStore
from productrecs.storage.files.snapshot_cache import SnapshotCache
from tests.support.object_server import ObjectServer, object_server
from tests.support.pictures import COLOURS, SHAPES, drawn, encoded, see
from tests.support.service import Merchant, Reply, Service, eventually
from tests.support.uploads import upload

pytestmark = [pytest.mark.trust, pytest.mark.postgres]

FRESH_SECONDS = 10.0
KINDS_OF_PICTURES = {f"{one}-{shape}": (one, shape) for one in COLOURS for shape in SHAPES}


@dataclass
class Machines:
    """Machines with a data folder each, on one database and one object store."""

    folder: Path
    url: str
    objects: ObjectServer
    address: str

    def machine(self, name: str, command: str) -> Service:
        """Return a machine, which is not started."""
        variables = {**self.objects.environment, "PRODUCTRECS_OBJECTS": self.address}
        return Service(self.folder / name, self.url, command=command, variables=variables)

    @contextlib.contextmanager
    def worker(self, name: str) -> Iterator[Service]:
        """Run a machine with workers only."""
        worker = self.machine(name, "worker")
        worker.launch()
        try:
            yield worker
        finally:
            worker.kill()


@pytest.fixture(params=["moto", "radosgw"])
def machines(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Machines]:
    with object_server(request.param) as server:  # its own: the test closes it
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield Machines(tmp_path, postgres_url, server, server.address())


def search_by_photo(merchant: Merchant, photo: bytes) -> Reply:
    body = json.dumps({"image": base64.b64encode(photo).decode()}).encode()
    target = merchant.target("/v1/search/image")
    return merchant.client.ask("POST", target, body, {"content-type": "text/plain"})


def test_machines_without_a_common_folder(machines: Machines) -> None:
    api = machines.machine("api", "api").prepare()
    with api, machines.worker("worker") as worker:
        shop = api.register()
        items = [
            {"id": name, "title": f"{name} toy", "categories": [name.split("-")[1]]}
            for name in KINDS_OF_PICTURES
        ]
        assert shop.push(*items).status == 200
        rows = "\n".join(f"o{n},2026-01-0{n + 1}T10:00:00Z,red-ball,1" for n in range(6))
        rows += "\n" + "\n".join(
            f"o{n},2026-01-0{n + 1}T10:00:00Z,blue-ball,1" for n in range(6)
        )

        # A file that this machine received is imported by the other one.
        sent = upload(shop, f"order_id,timestamp,item_id,quantity\n{rows}\n")
        assert sent.status == 202, sent.body
        path = f"/orders/upload/{sent.json['upload_id']}"
        secret = {"x-api-key": shop.account.secret}
        eventually(
            lambda: shop.client.ask("GET", path, None, secret).json["status"] == "done", 60
        )
        assert shop.client.ask("GET", path, None, secret).json["lines_imported"] == 12
        assert list((api.folder / "uploads").glob("up_*")) == []

        eventually(lambda: shop.search("toy").ids, 60)
        eventually(lambda: "buy" in shop.recommend(item_id="red-ball").sources, 60)

        # A visual model of another machine answers photos here.
        cache = SnapshotCache(
            SnapshotStore(ObjectStore(machines.address)),
            {kind: machines.folder / "third" / kind for kind in KINDS},
        )
        with api.database() as database:
            shown = {name: drawn(*one) for name, one in KINDS_OF_PICTURES.items()}
            root = machines.folder / "third" / "pictures"
            see(database, root, shop.account.store_id, shown, snapshots=cache)
        photo = encoded(drawn("red", "ball", seed=7))
        eventually(lambda: search_by_photo(shop, photo).ids[:1] == ["red-ball"], 60)

        shop.push({"id": "k", "title": "purple kayak"})
        assert eventually(lambda: shop.search("kayak").ids, 60) < FRESH_SECONDS
        worker.kill()

        # Another machine goes on where the lost one was.
        with machines.worker("second"):
            shop.push({"id": "l", "title": "yellow lantern"})
            eventually(lambda: shop.search("lantern").ids, 60)
            assert shop.search("kayak").ids == ["k"]

    # Without the object store a machine starts and answers with what it has.
    machines.objects.close()
    with machines.machine("api", "api") as api:
        again = shop.through(api.client())
        assert again.search("lantern").ids == ["l"]
        assert "buy" in again.recommend(item_id="red-ball").sources
        checks = api.client().ask("GET", "/health/ready").json["checks"]
        eventually(
            lambda: (
                api.client().ask("GET", "/health/ready").json["checks"]["objects"] != "ok"
            ),
            30,
        )
        assert checks["models"] == "ok"
