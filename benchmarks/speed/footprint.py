"""How much memory does the whole service hold, and how soon after its start is it there?"""

from __future__ import annotations

import contextlib
import threading
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.searching import searches
from benchmarks.speed.servers import Server, ServerError, floor, ready_service, service
from benchmarks.speed.shop import KINDS, WORDS
from benchmarks.speed.stores import BigShop, copy_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.report import Report

MEGABYTE = 1_000_000
MEMORY_MB, START_SECONDS = 1_200, 5.0
MEANT, SEARCHES_A_SECOND = ("couch", "comforter", "fridge", "trainers", "luminaire"), 20.0
"""Words that no product of the shop holds; meaning answers them."""

WORKERS, STARTS, SETTLE_SECONDS = 2, 3, 20.0


def memory(report: Report, shop: BigShop) -> None:
    """Measure the proportional set size of all processes of `serve`, at its highest.

    The text model, if installed, embeds products beside the traffic, and queries.
    """
    loads = [
        traffic.pages(shop.publishable_key, known=known, seed=51) for known in (False, True)
    ]
    with floor("floor_app", shop.files.items, WORKERS) as bare:
        for requests in loads:
            bare.load(requests, 32, 2.0)
        beneath = sum(bare.pss_bytes().values()) / MEGABYTE
    with copy_of(shop.trained) as data, ready_service(data, WORKERS) as serving:
        with watched(serving) as weights:
            for requests in loads:
                serving.load(requests, 32, 8.0)
            meant = searches(
                shop.publishable_key,
                [
                    f"{word} {one} {kind}"
                    for word in MEANT
                    for one in WORDS
                    for kind in KINDS
                ],
            )
            serving.load(meant, 8, SETTLE_SECONDS, SEARCHES_A_SECOND)
        at_rest = sorted(serving.pss_bytes().values(), reverse=True)
    highest = max(weights) / MEGABYTE
    each = " + ".join(f"{size / MEGABYTE:.0f}" for size in at_rest)
    report.add(
        Figure(
            "memory of the process group, two workers",
            highest,
            "MB",
            beneath,
            highest / beneath,
            f"<= {MEMORY_MB:,}",
            highest <= MEMORY_MB,
            f"highest during and after traffic, training beside; at the end "
            f"{sum(at_rest) / MEGABYTE:.0f} = {each}",
        )
    )


@contextlib.contextmanager
def watched(server: Server) -> Iterator[list[int]]:
    """Give a list into which the server's weight goes twice a second."""
    weights: list[int] = []
    over = threading.Event()

    def weigh() -> None:
        while not over.wait(0.5):
            weights.append(sum(server.pss_bytes().values()))

    scales = threading.Thread(target=weigh, daemon=True)
    scales.start()
    try:
        yield weights
    finally:
        over.set()
        scales.join()


def start(report: Report, shop: BigShop) -> None:
    """Measure the time from the command to the first answer that recommends something."""
    path = (
        f"/v1/recommendations?key={shop.publishable_key}&item_id={traffic.item_id(4_711)}"
        f"&source=mix&num={traffic.CARDS}"
    )
    beneath = []
    ours = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with floor("floor_app", shop.files.items, 1) as bare:
            first_answer(bare, path)
            beneath.append(time.perf_counter() - began)
        with copy_of(shop.trained) as data:
            began = time.perf_counter()
            with service(data, WORKERS) as serving:
                first_answer(serving, path)
                ours.append(time.perf_counter() - began)
    seconds = median(ours)
    report.add(
        Figure(
            "start to first answer",
            seconds,
            "s",
            median(beneath),
            seconds / median(beneath),
            f"<= {START_SECONDS:.0f}",
            seconds <= START_SECONDS,
            f"median of {STARTS}, longest {max(ours):.2f}; floor reads the same items",
        )
    )


def first_answer(server: Server, path: str) -> None:
    """Return when `path` is answered with at least one recommendation.

    Raises:
        ServerError: when that takes more than a minute or the server ends.
    """
    until = time.monotonic() + 60
    while time.monotonic() < until and server.process.poll() is None:
        status, reply = server.get(path)
        if status == 200 and reply["recommendations"]:
            return
        time.sleep(0.01)
    raise ServerError(
        f"no recommendation within a minute: {server.log.read_text()[-1500:]}"
    )
