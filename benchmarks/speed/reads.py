"""How many product pages a second get their recommendations, and how soon?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import Load, Server, floor, ready_service
from benchmarks.speed.stores import BigShop, copy_of

if TYPE_CHECKING:
    from benchmarks.report import Report

ROUNDS, SECONDS, WARM_SECONDS = 3, 4.0, 4.0
CONNECTIONS, PACED_CONNECTIONS, PACED_SECONDS = 32, 64, 12.0
TARGETS = {"anonymous": 0.40, "shopper": 0.10}
P99_MS = 10.0


def recommendations(report: Report, shop: BigShop) -> None:
    """Measure `GET /v1/recommendations?source=mix` on one worker, beside the floor."""
    with (
        copy_of(shop.trained) as data,
        ready_service(data, 1) as serving,
        floor("floor_app", shop.files.items, 1) as bare,
    ):
        for seed, kind in enumerate(TARGETS, start=21):
            requests = traffic.pages(
                shop.publishable_key, known=kind == "shopper", seed=seed
            )
            _throughput(report, kind, requests, serving, bare)


def _throughput(
    report: Report, kind: str, requests: bytes, serving: Server, bare: Server
) -> None:
    for server in (bare, serving):
        server.load(requests, CONNECTIONS, WARM_SECONDS)
    rounds = [
        (
            bare.load(requests, CONNECTIONS, SECONDS),
            serving.load(requests, CONNECTIONS, SECONDS),
        )
        for _ in range(ROUNDS)
    ]
    rate = median(ours.rate("r") for _, ours in rounds)
    beneath = median(theirs.rate("r") for theirs, _ in rounds)
    ratio = median(ours.rate("r") / theirs.rate("r") for theirs, ours in rounds)
    refused = {status for _, ours in rounds for status in ours.refused()}
    report.add(
        Figure(
            f"recommendations mix, {kind}, one worker",
            rate,
            "reads/s",
            beneath,
            ratio,
            f">= {TARGETS[kind]:.2f} of floor",
            ratio >= TARGETS[kind] and not refused,
            _told([ours for _, ours in rounds], [theirs for theirs, _ in rounds]),
        )
    )
    _latency(report, kind, requests, serving, rate)


def _latency(
    report: Report, kind: str, requests: bytes, serving: Server, reads_per_second: float
) -> None:
    with_events = 1 + 1 / traffic.READS_PER_EVENT
    rate = 0.5 * reads_per_second * with_events
    load = serving.load(requests, PACED_CONNECTIONS, PACED_SECONDS, rate)
    p99 = load.p99_ms("r")
    reads = load.classes["r"]
    report.add(
        Figure(
            f"recommendations mix, {kind}, p99 at half load",
            p99,
            "ms",
            target=f"<= {P99_MS:.0f}",
            ok=p99 <= P99_MS and not load.refused(),
            note=f"{reads['per_second']:.0f} reads/s, p50 {reads['p50_ms']:.2f}, "
            f"p99.9 {reads['p999_ms']:.1f}, events p99 {load.p99_ms('e'):.1f} ms",
        )
    )


def _told(ours: list[Load], theirs: list[Load]) -> str:
    client = max(load.client_cpu for load in (*ours, *theirs))
    empty = sum(load.empty for load in ours)
    refused = sum(sum(load.refused().values()) for load in ours)
    bytes_each = (median(load.mean_bytes for load in loads) for loads in (ours, theirs))
    sizes = " beside ".join(f"{size:.0f}" for size in bytes_each)
    return (
        f"1 event per {traffic.READS_PER_EVENT} reads; {sizes} bytes; client at most "
        f"{client:.2f} CPU; {empty} empty, {refused} refused"
    )
