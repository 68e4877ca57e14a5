"""How many product pages a second get their recommendations, and how soon?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.rounds import compare
from benchmarks.speed.servers import Server, floor, ready_service
from benchmarks.speed.stores import BigShop, copy_of

if TYPE_CHECKING:
    from benchmarks.report import Report

CONNECTIONS, SECONDS = 32, 4.0
# A minute: of 50,000 shoppers four in five have come by then. The floor keeps nothing.
WARM_ROUNDS = 15
PACED_CONNECTIONS, PACED_SECONDS = 128, 5.0
TARGETS = {"anonymous": 0.40, "shopper": 0.10}
P99_MS = 10.0


def recommendations(report: Report, shop: BigShop) -> None:
    """Measure `GET /v1/recommendations?source=mix` on one worker, beside the floor."""
    with (
        copy_of(shop.trained) as data,
        ready_service(data, 1) as serving,
        floor("floor_app", shop.files.items, 1) as bare,
    ):
        for kind in TARGETS:
            measured = Pages(report, shop, kind, bare, serving)
            measured.warm()
            measured.latency(measured.throughput() / 2)


@dataclass(frozen=True, slots=True)
class Pages:
    """Product pages of one kind, asked of the floor and of the service."""

    report: Report
    shop: BigShop
    kind: str
    bare: Server
    serving: Server

    def requests(self, seed: int) -> bytes:
        """Return the requests of one round."""
        known = self.kind == "shopper"
        return traffic.pages(self.shop.publishable_key, known=known, seed=seed)

    def warm(self) -> None:
        """Let traffic of the same kind fill the caches."""
        self.bare.load(self.requests(1_000), CONNECTIONS, SECONDS)
        for more in range(WARM_ROUNDS):
            self.serving.load(self.requests(1_000 + more), CONNECTIONS, SECONDS)

    def throughput(self) -> float:
        """Report the reads per second and return them."""
        found = compare(
            self.bare,
            self.serving,
            lambda server, requests: server.load(requests, CONNECTIONS, SECONDS),
            self.requests,
        )
        rate = found.ours(lambda load: load.rate("r"))
        ratio = found.ratio(lambda load: load.rate("r"))
        self.report.add(
            Figure(
                f"recommendations mix, {self.kind}, one worker",
                rate,
                "reads/s",
                found.theirs(lambda load: load.rate("r")),
                ratio,
                f">= {TARGETS[self.kind]:.2f} of floor",
                ratio >= TARGETS[self.kind] and not found.refused(),
                f"1 event per {traffic.READS_PER_EVENT} reads; {found.conditions()}; "
                f"{found.ours(lambda load: load.mean_bytes):.0f} beside "
                f"{found.theirs(lambda load: load.mean_bytes):.0f} bytes; "
                f"{found.empty()} empty, {found.refused()} refused",
            )
        )
        return rate

    def latency(self, reads_per_second: float) -> None:
        """Report how soon replies come when the service is asked that much."""
        rate = reads_per_second * (1 + 1 / traffic.READS_PER_EVENT)
        found = compare(
            self.bare,
            self.serving,
            lambda server, requests: server.load(
                requests, PACED_CONNECTIONS, PACED_SECONDS, rate
            ),
            lambda seed: self.requests(seed + 100),
        )
        p99 = found.ours(lambda load: load.p99_ms("r"))
        beneath = found.theirs(lambda load: load.p99_ms("r"))
        self.report.add(
            Figure(
                f"recommendations mix, {self.kind}, p99 at half load",
                p99,
                "ms",
                beneath,
                p99 / beneath,
                f"<= {P99_MS:.0f}",
                p99 <= P99_MS and not found.refused(),
                f"{reads_per_second:.0f} reads/s, "
                f"p50 {found.ours(lambda load: load.p50_ms('r')):.2f}, "
                f"events p99 {found.ours(lambda load: load.p99_ms('e')):.1f} ms; "
                f"{found.conditions()}",
            )
        )
