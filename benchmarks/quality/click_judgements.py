"""Click judgements: do clicks judge products as people do, though shoppers look at the top?

No data set here has queries and clicks, so shoppers are simulated on the hand labels of
Crowdflower, with a known position bias. They look at position n with a known probability
and then click by the grade of the product. `judge_clicks` sees only the clicks. Its
judgements are compared with the hand labels, with and without the position of the clicks:

- pairs: of two products of a query with different hand grades, one judged better than the
  other by clicks, how many are in the order of the hand labels;
- NDCG: the correlation over the queries of NDCG@10 by clicks and by hand, for results that
  are not those that were clicked in;
- choice: how often clicks in one engine's results say which of two engines is better for a
  query, where the hand labels see a difference of .05 or more.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from statistics import correlation, mean
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import crowdflower
from benchmarks.quality.search import catalog_of, ndcg
from benchmarks.quality.search_peers import bm25
from benchmarks.quality.search_services import our_service
from benchmarks.report import Figure
from productrecs.features.search.relevance.click_judgements import (
    SearchClick,
    judge_clicks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from benchmarks.quality.datasets import Judged
    from benchmarks.report import Report

    Lists = Mapping[int, Sequence[int]]
    Grades = Mapping[int, Mapping[int, float]]
    Examined = Callable[[Sequence[float], random.Random], Iterator[int]]

SHOPPERS: Final = (30, 100, 1_000)
DEPTH: Final = 24  # two pages of results
DIFFERENCE: Final = 0.05
ATTRACTION: Final = {1: 0.03, 2: 0.1, 3: 0.3, 4: 0.6}
"""How likely a shopper who looks at a product of a hand grade clicks on it."""


def by_power(exponent: float) -> Examined:
    """Return shoppers who look at position n with the probability n^-exponent."""

    def examined(attractions: Sequence[float], rng: random.Random) -> Iterator[int]:
        for position in range(1, len(attractions) + 1):
            if rng.random() < position**-exponent:
                yield position

    return examined


def top_down(attractions: Sequence[float], rng: random.Random) -> Iterator[int]:
    """Look from the top; after each product go on with .85, after a liked one with .4."""
    for position, attraction in enumerate(attractions, 1):
        yield position
        if rng.random() >= (0.4 if rng.random() < attraction else 0.85):
            return


BIASES: Final[Mapping[str, Examined]] = {
    "looks at position n with n^-0.5": by_power(0.5),
    "looks at position n with n^-0.8": by_power(0.8),
    "looks at position n with n^-1.2": by_power(1.2),
    "looks from the top and stops": top_down,
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judgements from clicks agree with those by hand."""

    queries: int
    pairs: float
    ndcg: float
    choice: float


def measure(report: Report) -> None:
    """Add the agreement of judgements from simulated clicks with those by hand."""
    data = crowdflower()
    catalog = catalog_of(data)
    peer = bm25(catalog)
    with our_service("Crowdflower", catalog) as service:
        shown = {one: service.find(query) for one, query in data.queries.items()}
    others = {one: peer(query) for one, query in data.queries.items()}
    for (bias, examined), shoppers in itertools.product(BIASES.items(), SHOPPERS):
        clicks = list(_clicks(data, shown, examined, shoppers))
        _add(
            report, data, f"{shoppers} shoppers a query, who {bias}", clicks, shown, others
        )


def _clicks(
    data: Judged, shown: Lists, examined: Examined, shoppers: int
) -> Iterator[SearchClick]:
    rng = random.Random(40)
    for query, items in shown.items():
        grades = data.grades[query]
        first = items[:DEPTH]
        attractions = [ATTRACTION[round(grades.get(one, 1))] for one in first]
        for shopper in range(shoppers):
            for position in examined(attractions, rng):
                if rng.random() < attractions[position - 1]:
                    item = first[position - 1]
                    yield SearchClick(str(query), item, str(shopper), position)


def _add(
    report: Report,
    data: Judged,
    name: str,
    clicks: Sequence[SearchClick],
    shown: Lists,
    others: Lists,
) -> None:
    plain = [one._replace(position=None) for one in clicks]
    corrected, uncorrected = (
        _agreement(data, _judged(some), shown, others) for some in (clicks, plain)
    )
    for what in ("pairs", "ndcg", "choice"):
        value, floor = getattr(corrected, what), getattr(uncorrected, what)
        unit = "correlation" if what == "ndcg" else "share"
        report.add(
            Figure(
                f"click judgements, {name}, {what}",
                value,
                unit,
                floor,
                value / floor,
                note=f"floor: without the position; {corrected.queries} queries judged",
            )
        )


def _judged(clicks: Iterable[SearchClick]) -> Grades:
    """Return the grades that clicks give, from 1 as those of the data set."""
    found: dict[int, dict[int, float]] = {}
    for one in judge_clicks(clicks):
        found.setdefault(int(one.intent), {})[one.item] = 1.0 + one.grade
    return found


def _agreement(data: Judged, by_clicks: Grades, shown: Lists, others: Lists) -> Agreement:
    pairs = [
        (data.grades[query].get(one, 1) > data.grades[query].get(other, 1))
        == (grades.get(one, 1) > grades.get(other, 1))
        for query, grades in by_clicks.items()
        for one, other in itertools.combinations(shown[query][:DEPTH], 2)
        if data.grades[query].get(one, 1) != data.grades[query].get(other, 1)
        and grades.get(one, 1) != grades.get(other, 1)
    ]
    scores = {query: _scores(data, by_clicks, query, shown, others) for query in by_clicks}
    known = [one for one in scores.values() if one is not None]
    differences = [
        (hand - other_hand > 0) == (click - other_click > 0)
        for hand, click, other_hand, other_click in known
        if abs(hand - other_hand) >= DIFFERENCE
    ]
    return Agreement(
        queries=len(known),
        pairs=mean(pairs),
        ndcg=correlation([one[2] for one in known], [one[3] for one in known]),
        choice=mean(differences),
    )


def _scores(
    data: Judged, by_clicks: Grades, query: int, shown: Lists, others: Lists
) -> tuple[float, float, float, float] | None:
    """Return NDCG@10 by hand and by clicks, of the clicked results and of the others."""
    values = [
        ndcg(dict(grades), items)
        for items in (shown[query], others[query])
        for grades in (data.grades[query], by_clicks[query])
    ]
    if any(one is None for one in values):
        return None
    first, second, third, fourth = (one or 0.0 for one in values)
    return first, second, third, fourth
