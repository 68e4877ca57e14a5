"""Photo shop: a running service with one store, asked for photos over HTTP.

In `photo_shop` the products' pictures are described by the sandboxed decoder, learned as a
training does, and published as the store's visual model; only their download is left out.
`loaded_shop` pushes the products to the API, and the service fetches and learns their
pictures. Photos go through the routes of photo search and photo analysis.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from benchmarks.speed.servers import Server, ServerError, ready_service
from benchmarks.speed.stores import DOMAIN, create_store, productrecs
from productrecs.core.ids import StoreId
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.visual_similarity import (
    NeighbourTable,
    PicturedItems,
    similarity_floor,
)
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.storage.files.model_files import publish_arrays
from productrecs.storage.sql.database import Database
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    choose_embedding,
)
from productrecs.training.visual.served_visual_model import pictures_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    Descriptors = npt.NDArray[np.uint8]

SECONDS: Final = 30.0
LOAD_SECONDS: Final = 3_600.0
_MODEL, _TEXT = "PRODUCTRECS_IMAGE_MODEL", "PRODUCTRECS_PHOTO_TEXT"
_HOSTS: Final = "PRODUCTRECS_IMAGE_HOSTS"
_PUSHED: Final = 500  # products a request
_TRIES, _PAUSE_SECONDS = 20, 0.5

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Products by number: their pictures, described, their categories and titles."""

    descriptors: Descriptors
    categories: Sequence[tuple[str, ...]]
    titles: Sequence[str] = ()  # "Product 0" and so on unless given


@dataclass(frozen=True, slots=True)
class PhotoShop:
    """A store of a running service."""

    server: Server
    key: str

    def similar(self, photo: bytes, count: int) -> list[int]:
        """Return the numbers of the products that search by photo finds, best first."""
        reply = self._ask("/v1/search/image", {"image": _sent(photo), "num": count})
        return [_number(one) for one in reply["results"]]

    def hotspots(self, photo: bytes) -> list[tuple[Box, list[int]]]:
        """Return the boxes that photo analysis finds, each with its products."""
        reply = self._ask("/v1/shop-the-look/analyze", {"image": _sent(photo)})
        return [
            (tuple(one["bbox"]), [_number(card) for card in one["products"]])
            for one in reply["hotspots"]
        ]

    def _ask(self, path: str, body: object) -> Any:
        return _post(self.server, f"{path}?key={self.key}", body)


def _post(
    server: Server, path: str, body: object, headers: Mapping[str, str] | None = None
) -> Any:
    for _ in range(_TRIES):
        status, reply = server.post(path, body, headers)
        if status == 200:
            return reply
        time.sleep(_PAUSE_SECONDS)  # 503 while the machine is busy with other programs
    raise ServerError(f"{path} answers {status}: {reply}")


def described(encoder: Path | None, pictures: Sequence[bytes]) -> Descriptors:
    """Return the descriptors of products' pictures, row by row."""
    with SandboxedDecoder(SECONDS, embedder=encoder, wait_seconds=SECONDS) as decoder:
        return np.stack([decoder.describe(picture) for picture in pictures])


@contextlib.contextmanager
def photo_shop(
    catalog: Catalog, encoder: Path | None, printed: str = "none"
) -> Iterator[PhotoShop]:
    """Give a store with these products, in a service with or without the encoder.

    With "auto" for `printed`, the service reads printed words.
    """
    before = {name: os.environ.get(name) for name in (_MODEL, _TEXT)}
    os.environ |= {_MODEL: "none" if encoder is None else str(encoder), _TEXT: printed}
    try:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            keys = create_store(data)
            _import(Path(folder) / "items.jsonl", data, catalog)
            _publish(data, StoreId(keys["store_id"]), catalog, encoder)
            with ready_service(data, 1) as server:
                yield PhotoShop(server, keys["publishable_key"])
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def loaded_shop(
    folder: Path,
    pictures: Sequence[Path],
    categories: Sequence[tuple[str, ...]],
    objects: Path | None,
) -> Iterator[PhotoShop]:
    """Give a store whose products were pushed, once all their pictures are learned.

    The pictures are files below `folder`, which a server on this machine serves. With the
    archive `objects` its detector is installed, as an operator does it.
    """
    with tempfile.TemporaryDirectory() as place, _served(folder) as host:
        data = Path(place) / "data"
        keys = create_store(data)
        if objects is not None:
            install = ("install", "objects", "--from", str(objects), "--yes")
            productrecs(data, "models", *install)
            productrecs(data, "models", "use", "objects")
        with ready_service(data, 1, {_HOSTS: host, _TEXT: "none"}) as server:
            items = [
                {
                    "id": f"p-{number}",
                    "title": f"Product {number}",
                    "price": 10,
                    "categories": list(named),
                    "image_url": f"http://{host}/{quote(str(picture.relative_to(folder)))}",
                }
                for number, (picture, named) in enumerate(
                    zip(pictures, categories, strict=True)
                )
            ]
            for start in range(0, len(items), _PUSHED):
                body = {"items": items[start : start + _PUSHED]}
                _post(server, "/v1/items", body, {"X-API-Key": keys["secret_key"]})
            _wait_until_learned(data, StoreId(keys["store_id"]), len(items))
            yield PhotoShop(server, keys["publishable_key"])


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve the files below a folder; give host and port."""
    handler = functools.partial(_QuietFiles, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        thread = threading.Thread(target=files.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{files.server_port}"
        finally:
            files.shutdown()
            thread.join()


class _QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Write nothing."""


def _wait_until_learned(data: Path, store_id: StoreId, count: int) -> None:
    """Return when the visual model has every picture.

    Raises:
        ServerError: when an hour is not enough.
    """
    until = time.monotonic() + LOAD_SECONDS
    with contextlib.closing(Database.open(None, data)) as database:
        while time.monotonic() < until:
            with database.reading() as connection:
                repository = PictureRepository(connection, store_id)
                counts, progress = repository.counts(), repository.progress()
            is_learned = (progress.visual_seq or 0) >= progress.picture_seq
            if counts.indexed + counts.failed >= count and is_learned:
                return
            time.sleep(_PAUSE_SECONDS)
    raise ServerError(f"{counts.indexed} of {count} pictures are described in an hour")


def _import(file: Path, data: Path, catalog: Catalog) -> None:
    with file.open("w", encoding="utf-8") as out:
        for number, named in enumerate(catalog.categories):
            item = {
                "id": f"p-{number}",
                "title": catalog.titles[number] if catalog.titles else f"Product {number}",
                "price": 10,
                "categories": list(named),
            }
            out.write(json.dumps(item) + "\n")
    productrecs(data, "import-items", DOMAIN, str(file))


def _publish(data: Path, store_id: StoreId, catalog: Catalog, encoder: Path | None) -> None:
    """Learn the pictures' space and publish the store's visual model."""
    seen, categories = catalog.descriptors, catalog.categories
    model = None if encoder is None else read_model_file(encoder, EMBEDDER)
    embedding = choose_embedding(model)
    members: dict[str, list[int]] = {}
    for row, named in enumerate(categories):
        for name in named:
            members.setdefault(name, []).append(row)
    groups = [np.array(rows) for rows in members.values()]
    pairs = np.zeros((0, 2), np.intp)
    space, _ = embedding.fit(EmbeddingExamples(seen, groups, pairs))
    codes = {name: code for code, name in enumerate(members)}
    kinds = [
        codes[min(named, key=lambda name: (len(members[name]), name))] if named else -1
        for named in categories
    ]
    vectors, count = embedding.vectors_of(seen, space).astype(np.float32), len(seen)
    pictured = PicturedItems(
        vectors,
        np.arange(count, dtype=np.int32),
        np.array(kinds, np.int32),
        np.full(count, np.nan, np.float32),
    )
    none = NeighbourTable(
        np.full((count, 1), -1, np.int32), np.zeros((count, 1), np.float32)
    )
    visual = VisualModel(pictured, none, similarity_floor(vectors))
    facts = {"embedder": embedding.name, "learned_from": count}
    folder = pictures_folder(data / "pictures", store_id)
    visual_id = publish_arrays(folder, {**visual.to_arrays(), **space}, facts)
    database = Database.open(None, data)
    with contextlib.closing(database), database.transaction() as transaction:
        repository = PictureRepository(transaction, store_id)
        repository.set_serving_model(visual_id, 0)
        repository.record_pictured_seq(repository.progress().catalog_seq)


def _sent(photo: bytes) -> str:
    return base64.b64encode(photo).decode()


def _number(card: dict[str, Any]) -> int:
    return int(str(card["id"]).removeprefix("p-"))
