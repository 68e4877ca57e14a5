"""How many product pages a second get their recommendations, and how soon?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.rounds import compare
from benchmarks.speed.servers import Server, floor, ready_service
from benchmarks.speed.stores import BigShop, copy_of

if TYPE_CHECKING:
    from benchmarks.report import Report
    from benchmarks.speed.servers import Load

CONNECTIONS, SECONDS, BRIEFLY = 32, 4.0, 2.0
# A minute: of 50,000 shoppers four in five have come by then. The floor keeps nothing.
WARM_ROUNDS = 15
PACED_CONNECTIONS, PACED_SECONDS, PACED_ROUNDS = 128, 5.0, 9
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
            measured.throughput()
            measured.latency()


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

    def throughput(self) -> None:
        """Report the reads per second."""
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

    def latency(self) -> None:
        """Report how soon replies come when half of what can be done is asked.

        What can be done is found anew right before each round: on a machine that others use
        its speed moves by half within seconds, and with it what half is. The floor gets the
        same load as the service, and before that half of what the floor itself can do: what
        the machine leaves of such a wait to the most that the language does.
        """
        halves: list[float] = []
        bare_at_half: list[float] = []

        def half_of(server: Server, requests: bytes) -> float:
            return server.load(requests, CONNECTIONS, BRIEFLY).rate("r") / 2

        def paced(server: Server, requests: bytes, reads: float) -> Load:
            rate = reads * (1 + 1 / traffic.READS_PER_EVENT)
            return server.load(requests, PACED_CONNECTIONS, PACED_SECONDS, rate)

        def find_half_and_draw(seed: int) -> bytes:
            before, drawn = self.requests(seed + 200), self.requests(seed + 100)
            at_half = paced(self.bare, drawn, half_of(self.bare, before))
            bare_at_half.append(at_half.p99_ms("r"))
            halves.append(half_of(self.serving, before))
            return drawn

        found = compare(
            self.bare,
            self.serving,
            lambda server, requests: paced(server, requests, halves[-1]),
            find_half_and_draw,
            PACED_ROUNDS,
        )
        p99 = found.ours(lambda load: load.p99_ms("r"))
        beneath = found.theirs(lambda load: load.p99_ms("r"))
        each = " ".join(f"{one.ours.p99_ms('r'):.1f}" for one in found.rounds)
        bare = " ".join(f"{one:.1f}" for one in bare_at_half)
        self.report.add(
            Figure(
                f"recommendations mix, {self.kind}, p99 at half load",
                p99,
                "ms",
                beneath,
                p99 / beneath,
                f"<= {P99_MS:.0f}",
                p99 <= P99_MS and not found.refused(),
                f"{min(halves):.0f} to {max(halves):.0f} reads/s, rounds {each}; "
                f"floor at half of its own {median(bare_at_half):.1f} ms, rounds {bare}; "
                f"p50 {found.ours(lambda load: load.p50_ms('r')):.2f}, "
                f"events p99 {found.ours(lambda load: load.p99_ms('e')):.1f} ms; "
                f"{found.conditions()}",
            )
        )
