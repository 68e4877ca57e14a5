"""How are service and floor compared on a machine that others use too?

In alternating rounds of the same load. What others take of the processors is measured in
each round; when it is much, more rounds are run and the quietest are kept, whatever they
showed.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.speed.servers import Load, Server

    Traffic = Callable[[int], bytes]

ROUNDS = 3
# In processors: above it a round is not quiet.
QUIET = 0.25


@dataclass(frozen=True, slots=True)
class Round:
    """The same load on the floor and on the service."""

    theirs: Load
    ours: Load

    @property
    def noise(self) -> float:
        """The processors that others took, in the worse half of the round."""
        return max(self.theirs.neighbours_cpu, self.ours.neighbours_cpu)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rounds that were kept, in the order in which they were run."""

    rounds: tuple[Round, ...]

    def ours(self, figure: Callable[[Load], float]) -> float:
        """Return the median of a figure of the service."""
        return median(figure(each.ours) for each in self.rounds)

    def theirs(self, figure: Callable[[Load], float]) -> float:
        """Return the median of a figure of the floor."""
        return median(figure(each.theirs) for each in self.rounds)

    def ratio(self, figure: Callable[[Load], float]) -> float:
        """Return the median of service / floor, round by round."""
        return median(figure(each.ours) / figure(each.theirs) for each in self.rounds)

    def refused(self) -> int:
        """Return how many requests the service did not answer with 200."""
        return sum(sum(each.ours.refused().values()) for each in self.rounds)

    def empty(self) -> int:
        """Return how many of the service's replies held an empty list."""
        return sum(each.ours.empty for each in self.rounds)

    def conditions(self) -> str:
        """Say what CPU a request took, and what else the machine was doing."""
        client = max(
            max(each.ours.client_cpu, each.theirs.client_cpu) for each in self.rounds
        )
        return (
            f"{self.ours(lambda load: load.cpu_us()):.0f} beside "
            f"{self.theirs(lambda load: load.cpu_us()):.0f} us CPU a request; client "
            f"{client:.2f} CPU, neighbours {max(each.noise for each in self.rounds):.2f}"
        )


def compare(
    floor: Server,
    service: Server,
    load: Callable[[Server, bytes], Load],
    traffic: Traffic,
    wanted: int = ROUNDS,
) -> Comparison:
    """Run `load` on both in turn until `wanted` rounds were quiet, at most thrice as many.

    Both get the same requests in a round, and each round others: nothing is warm but from
    traffic of the same kind. The service comes first: what was found out about it while
    its traffic was drawn is no older than that.
    """
    rounds: list[Round] = []
    while sum(one.noise <= QUIET for one in rounds) < wanted and len(rounds) < 3 * wanted:
        requests = traffic(len(rounds))
        ours = load(service, requests)
        rounds.append(Round(load(floor, requests), ours))
    quietest = sorted(range(len(rounds)), key=lambda at: rounds[at].noise)[:wanted]
    return Comparison(tuple(rounds[at] for at in sorted(quietest)))
