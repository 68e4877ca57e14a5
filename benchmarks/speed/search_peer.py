"""How fast is search beside Typesense, and how much memory do the products take?

Both are servers on this machine with the same 100,000 titles and their defaults, asked
over HTTP in alternating rounds, so that both feel what else the machine does, with queries
that neither has seen. Both return twelve products of a query.

The titles are those of Crowdflower and Online Retail; up to 100,000, the first half of a
title is joined to the second half of another. The queries are one to three words of a
title, a third of them mistyped and a third unfinished. The part `search` of the quality
benchmarks compares what both find.
"""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import (
    MissingDataError,
    crowdflower,
    online_retail_titles,
)
from benchmarks.quality.letters import mistyped
from benchmarks.quality.search_peers import Catalog
from benchmarks.quality.search_services import has_typesense, our_service, typesense
from benchmarks.report import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.quality.search_services import SearchService
    from benchmarks.report import Report
    from benchmarks.speed.servers import Load

PRODUCTS: Final = 100_000
CONNECTIONS, SECONDS, ALONE_SECONDS, ROUNDS = 16, 6.0, 3.0, 5
TOGETHER, ALONE = 12_000, 3_000  # queries of a round
SHOWN: Final = 12
MEMORY_MB: Final = 200
MEGABYTE: Final = 1_000_000
NO_PRODUCTS: Final = Catalog([], [], [])


def search_peer(report: Report) -> None:
    """Measure speed and memory of search beside the peer's."""
    if not has_typesense():
        report.skip("search beside Typesense", "productrecs[peers] is not installed")
        return
    try:
        titles = made_titles()
    except MissingDataError as error:
        report.skip("search beside Typesense", str(error))
        return
    catalog = Catalog(list(range(len(titles))), titles, [""] * len(titles))
    with our_service("nothing", NO_PRODUCTS) as ours, typesense(NO_PRODUCTS) as theirs:
        empty = _pss_bytes(ours), _pss_bytes(theirs)
    with our_service("titles", catalog) as ours, typesense(catalog) as theirs:
        _speed(report, ours, theirs, titles)
        added, others = (
            (_pss_bytes(one) - before) / MEGABYTE
            for one, before in zip((ours, theirs), empty, strict=True)
        )
    report.add(
        Figure(
            f"search beside Typesense, {len(titles):,} titles, memory added by them",
            added,
            "MB",
            others,
            added / others,
            f"<= {MEMORY_MB}",
            added <= MEMORY_MB,
            "proportional set of all processes above those of an empty service",
        )
    )


def _pss_bytes(service: SearchService) -> int:
    return sum(service.server.pss_bytes().values())


def made_titles() -> list[str]:
    """Return 100,000 distinct titles: real ones first, then halves of two of them.

    Raises:
        MissingDataError: when a data set is not there.
    """
    real = [title for _, title, _ in crowdflower().products]
    real += [title.capitalize() for title in online_retail_titles()]
    titles = dict.fromkeys(title for title in real if title.strip())
    halves = [title.split() for title in titles]
    rng = random.Random(40)
    while len(titles) < PRODUCTS:
        first, second = rng.sample(halves, k=2)
        joined = [*first[: -(-len(first) // 2)], *second[len(second) // 2 :]]
        titles[" ".join(joined)] = None
    return list(titles)


def made_queries(titles: Sequence[str], count: int) -> list[str]:
    """Return distinct queries: words of one title, mistyped or unfinished or not."""
    rng, found = random.Random(41), dict[str, None]()
    while len(found) < count:
        words = rng.choice(titles).lower().split()
        length = min(len(words), rng.randint(1, 3))
        begin = rng.randrange(len(words) - length + 1)
        query, kind = " ".join(words[begin : begin + length]), rng.randrange(3)
        if kind == 0:
            query = mistyped(query, 1, rng)
        elif kind == 1 and len(words[begin + length - 1]) > 4:
            query = query[: -(len(words[begin + length - 1]) // 3)]
        found[query] = None
    return list(found)


def _speed(
    report: Report,
    ours: SearchService,
    theirs: SearchService,
    titles: Sequence[str],
) -> None:
    """Report throughput and latency, from alternating rounds."""
    queries = made_queries(titles, (ROUNDS + 1) * (TOGETHER + ALONE))
    together: list[tuple[Load, Load]] = []
    alone: list[tuple[Load, Load]] = []
    for number in range(ROUNDS + 1):
        begin = number * (TOGETHER + ALONE)
        asked = queries[begin : begin + TOGETHER]
        together.append(_round(ours, theirs, asked, CONNECTIONS, SECONDS))
        asked = queries[begin + TOGETHER : begin + TOGETHER + ALONE]
        alone.append(_round(ours, theirs, asked, 1, ALONE_SECONDS))
    together, alone = together[1:], alone[1:]  # the first one warms up
    noise = max(one.neighbours_cpu for pair in (*together, *alone) for one in pair)
    rates = [(mine.rate("r"), other.rate("r")) for mine, other in together]
    waits = [(mine.p50_ms("r"), other.p50_ms("r")) for mine, other in alone]
    name = f"search beside Typesense, {len(titles):,} titles, new queries"
    _add_ratio(report, f"{name}, {CONNECTIONS} connections", "searches/s", rates, noise)
    _add_ratio(report, f"{name}, p50 alone", "ms", waits, noise)


def _round(
    ours: SearchService,
    theirs: SearchService,
    queries: Sequence[str],
    connections: int,
    seconds: float,
) -> tuple[Load, Load]:
    loads = []
    for one in (ours, theirs):
        load = one.server.load(_requests(one, queries), connections, seconds)
        assert not load.refused(), load.refused()
        loads.append(load)
    return loads[0], loads[1]


def _requests(service: SearchService, queries: Sequence[str]) -> bytes:
    """Return the requests of these queries, for the load client."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in service.headers.items())
    return b"".join(
        f"rGET {service.path(query, SHOWN)} HTTP/1.1\r\n"
        f"Host: bench\r\n{lines}\r\n\0".encode()
        for query in queries
    )


def _add_ratio(
    report: Report,
    name: str,
    unit: str,
    rounds: Sequence[tuple[float, float]],
    noise: float,
) -> None:
    """Report the medians of both, and the median of the ratio of each round."""
    value, other = (median(part) for part in zip(*rounds, strict=True))
    ratios = sorted(mine / theirs for mine, theirs in rounds)
    ratio = median(ratios)
    spread = ", ".join(f"{mine:.4g} : {theirs:.4g}" for mine, theirs in rounds)
    is_rate = unit != "ms"
    report.add(
        Figure(
            name,
            value,
            unit,
            other,
            ratio,
            ">= floor" if is_rate else "<= floor",
            ratio >= 1 if is_rate else ratio <= 1,
            f"rounds {spread}; ratios {ratios[0]:.2f} to {ratios[-1]:.2f}; "
            f"neighbours {noise:.2f} CPU",
        )
    )
