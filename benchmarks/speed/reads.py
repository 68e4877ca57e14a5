"""How many product pages a second get their recommendations, and how soon?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.rounds import compare
from benchmarks.speed.servers import Server, floor, ready_service
from benchmarks.speed.stores import BigShop, copy_of

if TYPE_CHECKING:
    from benchmarks.report import Report

CONNECTIONS, SECONDS, WARM_SECONDS = 32, 4.0, 4.0
PACED_CONNECTIONS, PACED_SECONDS = 64, 5.0
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
            for server in (bare, serving):
                server.load(requests, CONNECTIONS, WARM_SECONDS)
            rate = _throughput(report, kind, requests, (bare, serving))
            _latency(report, kind, requests, (bare, serving), rate / 2)


def _throughput(
    report: Report, kind: str, requests: bytes, servers: tuple[Server, Server]
) -> float:
    """Report the reads per second and return them."""
    found = compare(*servers, lambda server: server.load(requests, CONNECTIONS, SECONDS))
    rate = found.ours(lambda load: load.rate("r"))
    ratio = found.ratio(lambda load: load.rate("r"))
    sizes = (
        found.ours(lambda load: load.mean_bytes),
        found.theirs(lambda load: load.mean_bytes),
    )
    report.add(
        Figure(
            f"recommendations mix, {kind}, one worker",
            rate,
            "reads/s",
            found.theirs(lambda load: load.rate("r")),
            ratio,
            f">= {TARGETS[kind]:.2f} of floor",
            ratio >= TARGETS[kind] and not found.refused(),
            f"1 event per {traffic.READS_PER_EVENT} reads; {found.conditions()}; "
            f"{sizes[0]:.0f} beside {sizes[1]:.0f} bytes; "
            f"{found.empty()} empty, {found.refused()} refused",
        )
    )
    return rate


def _latency(
    report: Report, kind: str, requests: bytes, servers: tuple[Server, Server], reads: float
) -> None:
    rate = reads * (1 + 1 / traffic.READS_PER_EVENT)
    found = compare(
        *servers,
        lambda server: server.load(requests, PACED_CONNECTIONS, PACED_SECONDS, rate),
    )
    p99 = found.ours(lambda load: load.p99_ms("r"))
    beneath = found.theirs(lambda load: load.p99_ms("r"))
    report.add(
        Figure(
            f"recommendations mix, {kind}, p99 at half load",
            p99,
            "ms",
            beneath,
            p99 / beneath,
            f"<= {P99_MS:.0f}",
            p99 <= P99_MS and not found.refused(),
            f"{reads:.0f} reads/s, p50 {found.ours(lambda load: load.p50_ms('r')):.2f}, "
            f"events p99 {found.ours(lambda load: load.p99_ms('e')):.1f} ms; "
            f"{found.conditions()}",
        )
    )
