"""How soon does a photo find its like among 100,000 pictures, and who else waits for it?

The catalog's vectors are drawn by lot, which costs a search as much as real ones. One API
process. Recommendations are asked for at random moments, first alone, then while five
photos a second are looked at: what the slowest replies gain is what photos cost others.
Who shows them stands for phones, which take nothing of a service's machine: it gives way to
everybody. The floor beside it is a plain process that computes as much at the same moments,
and gives way too: on a machine of two cores that is not nothing.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import multiprocessing
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from benchmarks.report import Figure
from benchmarks.speed.servers import Server, busy_seconds, ready_service
from benchmarks.speed.stores import DOMAIN, create_store, productrecs, scratch
from benchmarks.speed.traffic import get
from productrecs.core.ids import StoreId
from productrecs.engines.visual import VisualModel, describe, fit_descriptor_projection
from productrecs.engines.visual.descriptor_projection import DIMENSIONS
from productrecs.engines.visual.visual_similarity import KEPT, NeighbourTable, PicturedItems
from productrecs.records.pictures.repository import PictureRepository
from productrecs.storage.files.model_files import publish_arrays
from productrecs.storage.sql.database import Database
from productrecs.training.visual.picture_embedding import BuiltInEmbedding
from productrecs.training.visual.served_visual_model import pictures_folder

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.speed.servers import Load

PICTURES = int(os.environ.get("BENCH_PICTURES", "100000"))
ASKED, SECONDS, A_SECOND, READS, ROUNDS = 100, 4.0, 5, 200, 5
PATHS = {"/v1/search/image": "search", "/v1/shop-the-look/analyze": "analysis"}
Asked = tuple[str, str, object]
"""A key, an address and a body."""

P50_MS, P99_MS, MEMORY_MB, RISE = 80.0, 250.0, 150.0, 1.2
OTHERS = 0.25
"""Of a core: rounds in which others took more do not count, where there are better ones."""


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
    for path, name in PATHS.items():
        _answered(report, server, name, f"{path}?key={key}", sent)
    for path, name in PATHS.items():
        _beside(report, server, name, (key, f"{path}?key={key}", sent))


def _answered(
    report: Report, server: Server, name: str, address: str, sent: object
) -> None:
    _times(server, address, sent, 5)
    spent, busy, began = server.cpu_seconds(), busy_seconds(), time.monotonic()
    times = _times(server, address, sent, ASKED)
    spent, busy = server.cpu_seconds() - spent, busy_seconds() - busy
    others = max(0.0, (busy - spent) / (time.monotonic() - began))
    note = f"{ASKED} photos of {len(_photo()) // 1000} kB; others {others:.2f} of a core"
    for which, share, most in (("p50", 50, P50_MS), ("p99", 99, P99_MS)):
        value = float(np.percentile(times, share))
        target, ok = (most, value <= most) if name == "search" else (None, None)
        report.add(
            Figure(f"photos, {name}, {which}", value, "ms", target=target, ok=ok, note=note)
        )

    value = 1000 * spent / ASKED
    report.add(Figure(f"photos, {name}, processor", value, "ms", note="of all processes"))


def _beside(report: Report, server: Server, name: str, asked: Asked) -> None:
    all_rounds = [_round(server, *asked) for _ in range(ROUNDS)]
    rounds = [one for one in all_rounds if one[3] <= OTHERS] or all_rounds
    alone, beside, plain = (float(np.median([one[n] for one in rounds])) for n in (0, 1, 2))
    ratio = beside / alone
    spread = " ".join("/".join(f"{value:.1f}" for value in one[:3]) for one in rounds)
    others = max(one[3] for one in rounds)
    report.add(
        Figure(
            f"photos, recommendations p99 beside {name}",
            beside,
            "ms",
            alone,
            ratio,
            f"<= {RISE} x alone",
            ratio <= RISE,
            f"{A_SECOND} photos/s, {READS} reads/s; beside a plain process that computes "
            f"as much {plain:.2f}; others {others:.2f} of a core at most; "
            f"{len(rounds)} rounds (alone/beside/plain) {spread}",
        )
    )


def _times(server: Server, address: str, sent: object, count: int) -> list[float]:
    """Return how long each photo took, one after the other, in ms."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        status, _ = server.post(address, sent)
        times.append((time.perf_counter() - began) * 1000)
        assert status == 200
    return times


def _round(
    server: Server, key: str, address: str, sent: object
) -> tuple[float, float, float, float]:
    """Return readers' p99 alone, beside photos and beside a plain process, in ms.

    And what others took of a core. Photos are shown by a process of their own, at times set
    beforehand.
    """
    alone = _read(server, key)
    context = multiprocessing.get_context("spawn")
    showing = context.Process(target=show, args=(server.port, address, sent, SECONDS + 2.0))
    showing.start()
    time.sleep(1.0)
    beside = _read(server, key)
    showing.join()
    assert showing.exitcode == 0
    share = max(0.0, beside.server_cpu - alone.server_cpu) / A_SECOND
    computing = context.Process(target=compute, args=(share, SECONDS + 2.0))
    computing.start()
    time.sleep(1.0)
    plain = _read(server, key)
    computing.join()
    slowest = alone.p99_ms("r"), beside.p99_ms("r"), plain.p99_ms("r")
    return *slowest, max(alone.neighbours_cpu, beside.neighbours_cpu)


def compute(share: float, seconds: float) -> None:
    """Compute `share` seconds as often as photos are shown, and give way to everybody."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.process_time()
        while time.process_time() - began < share:
            pass
        time.sleep(max(0.0, 1.0 / A_SECOND - share))


def _read(server: Server, key: str) -> Load:
    """Ask for recommendations at random moments; they wait from the moment they are due."""
    pages = [
        b"r" + get(f"/v1/recommendations?item_id=item-{n}&source=similar&key={key}")
        for n in np.random.default_rng(4).integers(0, PICTURES, 5_000).tolist()
    ]
    return server.load(b"\0".join(pages), 16, SECONDS, rate=READS)


def show(port: int, address: str, sent: object, seconds: float) -> None:
    """Send photos, so many a second, each by a thread of its own; all must be answered."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    body, statuses = json.dumps(sent).encode(), list[int]()

    def one() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", address, body, {"Content-Type": "text/plain"})
        statuses.append(connection.getresponse().status)
        connection.close()

    sending = []
    for _ in range(round(seconds * A_SECOND)):
        sending.append(threading.Thread(target=one))
        sending[-1].start()
        time.sleep(1.0 / A_SECOND)
    for thread in sending:
        thread.join()
    sys.exit(0 if set(statuses) == {200} else 1)


def _photo() -> bytes:
    """Return a JPEG of about 300 kB."""
    lot = np.random.default_rng(3)
    coarse = Image.fromarray(lot.integers(0, 256, (40, 40, 3), dtype=np.uint8))
    picture = coarse.resize((1_200, 1_200), Image.Resampling.BICUBIC)
    noise = lot.integers(-18, 19, (1_200, 1_200, 3))
    pixels = np.clip(np.asarray(picture).astype(int) + noise, 0, 255).astype(np.uint8)
    saved = io.BytesIO()
    Image.fromarray(pixels).save(saved, "JPEG", quality=78)
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
        PicturedItems(vectors, numbers, np.full(PICTURES, -1, np.int32), nothing),
        NeighbourTable(near, np.ascontiguousarray(scores)),
        0.1,
    )
    some = [describe(lot.integers(0, 256, (64, 64, 3), dtype=np.uint8)) for _ in range(64)]
    arrays = {
        **model.to_arrays(),
        **fit_descriptor_projection(np.stack(some), []).to_arrays(),
    }
    facts = {"embedder": BuiltInEmbedding.name, "learned_from": PICTURES}
    visual_id = publish_arrays(pictures_folder(data / "pictures", store_id), arrays, facts)
    database = Database.open(None, data)
    with database.transaction() as transaction:
        repository = PictureRepository(transaction, store_id)
        repository.set_serving_model(visual_id, 0)
        repository.record_pictured_seq(repository.progress().catalog_seq)
    database.close()
    return sum(array.nbytes for array in arrays.values())
