"""How soon does a photo find its like among 100,000 pictures, and who else waits for it?

The catalog's vectors are drawn by lot, which costs a search as much as real ones. One API
process. A reader asks for recommendations one after the other, first alone, then while five
photos a second are looked at: what its slowest replies gain is what photos cost others.
"""

from __future__ import annotations

import base64
import io
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from benchmarks.report import Figure
from benchmarks.speed.servers import Server, ready_service
from benchmarks.speed.stores import DOMAIN, create_store, productrecs, scratch
from productrecs.core.ids import StoreId
from productrecs.engines.visual import VisualModel, describe, fit_space
from productrecs.engines.visual.nearest import KEPT, Neighbours, Pictured
from productrecs.engines.visual.space import DIMENSIONS
from productrecs.records.pictures.repository import PictureRepository
from productrecs.storage.database import Database
from productrecs.storage.model_files import publish_arrays
from productrecs.training.visual.build import folder_of_pictures
from productrecs.training.visual.embedding import OwnEmbedding

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report

PICTURES = int(os.environ.get("BENCH_PICTURES", "100000"))
ASKED, SECONDS, A_SECOND = 60, 6.0, 5
P50_MS, P99_MS, MEMORY_MB, RISE = 80.0, 250.0, 150.0, 1.2


def photos(report: Report) -> None:
    """Add how long photos take, what they cost readers, and what pictures weigh."""
    with scratch() as data:
        keys = create_store(data)
        _stock(data)
        weight = _picture(data, StoreId(keys["store_id"]))
        note = f"{PICTURES:,} pictures: vectors, neighbours, space; mapped once a machine"
        is_light = weight / 1e6 <= MEMORY_MB
        report.add(
            Figure(
                "photos, memory",
                weight / 1e6,
                "MB",
                target=MEMORY_MB,
                ok=is_light,
                note=note,
            )
        )
        with ready_service(data, 1) as server:
            _measure(report, server, keys["publishable_key"])


def _measure(report: Report, server: Server, key: str) -> None:
    sent = {"image": base64.b64encode(_photo()).decode(), "num": 12}
    address = f"/v1/search/image?key={key}"
    for _ in range(5):
        server.post(address, sent)
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        status, reply = server.post(address, sent)
        times.append((time.perf_counter() - began) * 1000)
        assert (status, len(reply["results"])) == (200, 12)
    for name, share, target in (("p50", 50, P50_MS), ("p99", 99, P99_MS)):
        value = float(np.percentile(times, share))
        note = f"{ASKED} photos of {len(_photo()) // 1000} kB, one after the other"
        report.add(Figure(f"photos, search, {name}", value, "ms", target=target,
                          ok=value <= target, note=note))  # fmt: skip
    alone = _slowest(server, key)
    stopping = threading.Event()
    showing = threading.Thread(target=_show, args=(server, address, sent, stopping))
    showing.start()
    beside = _slowest(server, key)
    stopping.set()
    showing.join()
    report.add(Figure("photos, recommendations p99 meanwhile", beside, "ms", alone,
                      beside / alone, f"<= {RISE} x alone", beside <= RISE * alone,
                      f"{A_SECOND} photos a second; floor: without them"))  # fmt: skip


def _slowest(server: Server, key: str) -> float:
    times, until, number = list[float](), time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        number = (number + 7_919) % PICTURES
        began = time.perf_counter()
        server.get(f"/v1/recommendations?item_id=item-{number}&source=similar&key={key}")
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(0.002)
    return float(np.percentile(times, 99))


def _show(server: Server, address: str, sent: Any, stopping: threading.Event) -> None:
    while not stopping.wait(1.0 / A_SECOND):
        server.post(address, sent)


def _photo() -> bytes:
    """Return a JPEG of about 300 kB."""
    lot = np.random.default_rng(3)
    coarse = Image.fromarray(lot.integers(0, 256, (40, 40, 3), dtype=np.uint8))
    picture = coarse.resize((1_200, 1_200), Image.Resampling.BICUBIC)
    noise = lot.integers(-18, 19, (1_200, 1_200, 3))
    pixels = np.clip(np.asarray(picture).astype(int) + noise, 0, 255).astype(np.uint8)
    saved = io.BytesIO()
    Image.fromarray(pixels).save(saved, "JPEG", quality=62)
    return saved.getvalue()


def _stock(data: Path) -> None:
    path = data.parent / "items.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(PICTURES):
            item = {"id": f"item-{number}", "title": f"Item {number}", "price": 10}
            file.write(json.dumps(item) + "\n")
    productrecs(data, "import-items", DOMAIN, str(path))


def _picture(data: Path, store_id: StoreId) -> int:
    """Let every item have a picture; return how many bytes serve them."""
    lot = np.random.default_rng(1)
    vectors = lot.standard_normal((PICTURES, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    numbers = np.arange(PICTURES, dtype=np.int32)
    near = lot.integers(0, PICTURES, (PICTURES, KEPT)).astype(np.int32)
    scores = np.sort(lot.random((PICTURES, KEPT), dtype=np.float32))[:, ::-1]
    nothing = np.full(PICTURES, np.nan, np.float32)
    model = VisualModel(
        Pictured(vectors, numbers, np.full(PICTURES, -1, np.int32), nothing),
        Neighbours(near, np.ascontiguousarray(scores)),
        0.1,
    )
    some = [describe(lot.integers(0, 256, (64, 64, 3), dtype=np.uint8)) for _ in range(64)]
    arrays = {**model.to_arrays(), **fit_space(np.stack(some), []).to_arrays()}
    facts = {"embedder": OwnEmbedding.name, "learned_from": PICTURES}
    visual_id = publish_arrays(
        folder_of_pictures(data / "pictures", store_id), arrays, facts
    )
    database = Database.open(None, data)
    with database.transaction() as transaction:
        repository = PictureRepository(transaction, store_id)
        repository.serve(visual_id, 0)
        repository.followed(repository.standing().catalog_seq)
    database.close()
    return sum(array.nbytes for array in arrays.values())
