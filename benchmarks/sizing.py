"""Sizing model: what a load needs, from measured costs, checked by one machine's figures.

`python -m benchmarks.sizing` prints the tables of docs/sizing.md. The costs are those of
docs/measured/speed.md. Two simulations turn them into times: API process and writer as
queues, and the cycle of trainings. `CHECKS` compares both with measured figures.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_SECONDS = 86_400
MB, GB = 1e6, 1e9


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured costs of one machine with two cores, and what a log's record takes."""

    # Processor time of an API process, microseconds, one request after the other.
    http_us: float = 96.0
    list_us: float = 16.0  # computing, an anonymous page: most lists are cached
    shopper_list_us: float = 205.0  # computing, a known shopper
    search_us: float = 700.0  # computing
    event_us: float = 260.0
    batched: float = 0.5  # of the time by HTTP, if thirty requests are read at once
    # The writer process.
    gather_ms: float = 12.0
    write_us: float = 75.0  # an event in a full batch
    commit_ms: float = 0.5  # one batch: statement, write-ahead log, sync
    # Training.
    read_us: float = 2.5  # a record out of the database
    fit_us: float = 1.0  # a record, every engine
    interval_seconds: float = 8.0
    pause_factor: float = 4.0
    longest_pause_seconds: float = 30.0
    increment_seconds: float = 0.8  # a store of 1 million events that is trained again
    map_seconds: float = 0.2  # until each process serves the new model
    # Sizes.
    event_bytes: float = 175.0  # with its indexes and links between sessions and customers
    record_training_bytes: float = 60.0  # memory
    record_disk_bytes: float = 60.0
    process_mb: float = 160.0  # an API process, without stores
    background_mb: float = 520.0  # writer, trainer, indexer, importer, pictures
    open_item_bytes: float = 700.0  # an item of a store in memory, for each process


@dataclass(frozen=True, slots=True)
class Load:
    """What shoppers and shops send."""

    events_a_day: float
    lists_per_event: float = 1.0
    known_shoppers: float = 0.5  # the share of lists that know the shopper
    searches_per_event: float = 0.05
    peak: float = 3.0  # the busiest hour against the average of the day
    days_kept: float = 365.0

    @property
    def events(self) -> float:
        """Return events a second in the busiest hour."""
        return self.peak * self.events_a_day / DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Needs:
    """What a load needs."""

    events: float  # a second, in the busiest hour
    lists: float
    api_processes: int
    api_machines: int  # with eight cores, each with a writer
    writer_share: float  # of one writer on each of these machines
    trainer_cores: float  # new records alone
    database_gb_a_day: float
    database_gb: float
    training_memory_gb: float  # if all is one store
    training_disk_gb: float


def needs(load: Load, costs: Costs, utilisation: float = 0.5, cores: int = 8) -> Needs:
    """Return what `load` needs if no API process is busier than `utilisation`."""
    lists = load.events * load.lists_per_event
    searches = load.events * load.searches_per_event
    known = load.known_shoppers
    computing = lists * (known * costs.shopper_list_us + (1 - known) * costs.list_us)
    computing += searches * costs.search_us
    speaking = (lists + searches) * costs.http_us + load.events * costs.event_us
    busy = 1e-6 * (computing + speaking)  # one request after the other, as at half load
    processes = max(1, math.ceil(busy / utilisation))
    machines = math.ceil(processes / (cores - 2))  # two for the writer and the kernel
    records = load.events_a_day * load.days_kept
    return Needs(
        events=load.events,
        lists=lists,
        api_processes=processes,
        api_machines=machines,
        writer_share=1e-6 * costs.write_us * load.events / machines,
        trainer_cores=1e-6 * (costs.read_us + costs.fit_us) * load.events,
        database_gb_a_day=load.events_a_day * costs.event_bytes / GB,
        database_gb=records * costs.event_bytes / GB,
        training_memory_gb=records * costs.record_training_bytes / GB,
        training_disk_gb=records * costs.record_disk_bytes / GB,
    )


@dataclass(frozen=True, slots=True)
class Prices:
    """Assumed prices of a rented machine's parts, in dollars a month."""

    core: float = 12.0
    memory_gb: float = 3.0
    disk_gb: float = 0.1


@dataclass(frozen=True, slots=True)
class MonthlyPrice:
    """What a load's machines have together, and what they cost a month."""

    cores: float
    memory_gb: float
    disk_gb: float
    dollars: float


def monthly_price(load: Load, costs: Costs, prices: Prices) -> MonthlyPrice:
    """Return the price without PostgreSQL's own processor time, which was not measured.

    The whole load is one store; many small ones train in less memory.
    """
    need = needs(load, costs)
    cores = max(2, need.api_processes + 2 * need.api_machines)
    memory = need.api_processes * costs.process_mb + need.api_machines * costs.background_mb
    memory_gb = memory * MB / GB + need.training_memory_gb
    disk_gb = need.database_gb + need.training_disk_gb
    dollars = cores * prices.core + memory_gb * prices.memory_gb + disk_gb * prices.disk_gb
    return MonthlyPrice(cores, memory_gb, disk_gb, dollars)


def most_reads(list_us: float, costs: Costs, events_per_read: float = 0.1) -> float:
    """Return the reads a second at which one API process is busy all the time."""
    speaking = costs.batched * (costs.http_us + events_per_read * costs.event_us)
    return 1e6 / (speaking + list_us)


def most_events(costs: Costs, cores: int = 2, client_cores: float = 0.35) -> float:
    """Return the events a second that two cores take, beside the load generator."""
    each = costs.batched * costs.event_us + costs.write_us
    return 1e6 * (cores - client_cores) / each


def event_latencies(
    rate: float, costs: Costs, seconds: float, seed: int = 1
) -> list[float]:
    """Simulate events that arrive by chance; return their latencies in ms, ordered.

    An API process reads one after the other. The writer gathers for `gather_ms` from the
    first event of a batch, then commits the batch; meanwhile the next one gathers.
    """
    rng = random.Random(seed)
    arrivals: list[float] = []
    now = 0.0
    while now < 1e3 * seconds:
        now += rng.expovariate(rate / 1e3)
        arrivals.append(now)
    handed = _after_api(arrivals, costs)
    latencies: list[float] = []
    place, writer_free = 0, 0.0
    while place < len(handed):
        closes = max(handed[place] + costs.gather_ms, writer_free)
        end = place
        while end < len(handed) and handed[end] <= closes:
            end += 1
        done = closes + costs.commit_ms + (end - place) * costs.write_us / 1e3
        latencies += [done - arrivals[one] for one in range(place, end)]
        place, writer_free = end, done
    return sorted(latencies)


def _after_api(arrivals: list[float], costs: Costs) -> list[float]:
    free, found = 0.0, []
    for arrival in arrivals:
        free = max(arrival, free) + costs.event_us / 1e3
        found.append(free)
    return found


def learning_times(
    costs: Costs, training_seconds: float, habits: int = 2_000
) -> list[float]:
    """Simulate when new habits show; return the seconds, in order of size.

    A training reads what came before it. The next one begins after the interval, or after
    a pause of several times its length if that is longer.
    """
    rng = random.Random(2)
    pause = min(costs.pause_factor * training_seconds, costs.longest_pause_seconds)
    cycle = max(costs.interval_seconds, training_seconds + pause)
    waits = [rng.random() * cycle for _ in range(habits)]
    return sorted(wait + training_seconds + costs.map_seconds for wait in waits)


def quantile(ordered: list[float], share: float) -> float:
    """Return the value below which `share` of the ordered values lie."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Check:
    """One figure that was measured as a whole, beside what the model says."""

    figure: str
    unit: str
    measured: float
    model: Callable[[Costs], float]

    def error(self, costs: Costs) -> float:
        """Return the model's error as a share of what was measured."""
        return self.model(costs) / self.measured - 1


def _event_ms(share: float) -> Callable[[Costs], float]:
    return lambda costs: quantile(event_latencies(1_000, costs, 20), share)


def _learning_s(share: float) -> Callable[[Costs], float]:
    return lambda costs: quantile(learning_times(costs, costs.increment_seconds), share)


def _database_mb(costs: Costs) -> float:
    return (875_000 * costs.event_bytes + 138_205 * 300 + 100_000 * 400) / MB


def _memory_mb(costs: Costs) -> float:
    open_store = 100_000 * costs.open_item_bytes / MB
    return 2 * (costs.process_mb + open_store) + costs.background_mb


CHECKS = (
    Check("reads a second, anonymous", "", 11_510, lambda c: most_reads(c.list_us, c)),
    Check("reads a second, known", "", 2_790, lambda c: most_reads(c.shopper_list_us, c)),
    Check("durable events a second, two API processes", "", 8_850, most_events),
    Check("latency of events at 1,000/s, p50", "ms", 6.5, _event_ms(0.5)),
    Check("latency of events at 1,000/s, p99", "ms", 16.0, _event_ms(0.99)),
    Check("time to learn a purchase, p50", "s", 5.2, _learning_s(0.5)),
    Check("time to learn a view, worst of 12", "s", 8.4, _learning_s(1 - 1 / 12)),
    Check(
        *("rebuild from 10.08 million records", "s", 32.6),
        lambda c: 10.08 * (c.read_us + c.fit_us),
    ),
    Check("SQLite file of the large shop", "MB", 229.5, _database_mb),
    Check("memory with the large shop, without text model", "MB", 991, _memory_mb),
)
LOADS = (1e6, 1e7, 1e8, 1e9)


def tables(costs: Costs) -> str:
    """Return the tables as Markdown."""
    lines = ["| figure | measured | model | error |", "| --- | --- | --- | --- |"]
    for one in CHECKS:
        values = [
            f"{_told(v)} {one.unit}".strip() for v in (one.measured, one.model(costs))
        ]
        lines.append(f"| {one.figure} | {' | '.join(values)} | {one.error(costs):+.0%} |")
    return "\n".join([*lines, "", *_needs_table(costs), "", *_price_table(costs)])


def _told(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _needs_table(costs: Costs) -> list[str]:
    found = {events: needs(Load(events), costs) for events in LOADS}
    rows: dict[str, Callable[[Needs], str]] = {
        "events a second, busiest hour": lambda n: f"{n.events:,.0f}",
        "API processes": lambda n: f"{n.api_processes:,}",
        "API machines of 8 cores": lambda n: f"{n.api_machines:,}",
        "a writer's share of a core, on each": lambda n: f"{n.writer_share:.2f}",
        "trainer, cores for new records": lambda n: f"{n.trainer_cores:.2f}",
        "database, GB a day": lambda n: f"{n.database_gb_a_day:,.1f}",
        "database, GB of a year": lambda n: f"{n.database_gb:,.0f}",
        "training of a year in one store, GB of memory": (
            lambda n: f"{n.training_memory_gb:,.0f}"
        ),
        "its disk, GB": lambda n: f"{n.training_disk_gb:,.0f}",
    }
    heads = [f"{events / 1e6:,.0f} million" for events in LOADS]
    lines = [f"| events a day | {' | '.join(heads)} |", "| --- |" + " --- |" * len(LOADS)]
    lines += [
        f"| {name} | {' | '.join(told(one) for one in found.values())} |"
        for name, told in rows.items()
    ]
    return lines


def _price_table(costs: Costs) -> list[str]:
    lines = [
        "| events a day | cores | memory, GB | disk, GB | dollars a month |",
        "| --- | --- | --- | --- | --- |",
    ]
    for events in LOADS:
        price = monthly_price(Load(events, days_kept=90), costs, Prices())
        figures = (price.cores, price.memory_gb, price.disk_gb, price.dollars)
        told = " | ".join(f"{figure:,.0f}" for figure in figures)
        lines.append(f"| {events / 1e6:,.0f} million | {told} |")
    return lines


if __name__ == "__main__":
    sys.stdout.write(tables(Costs()) + "\n")
