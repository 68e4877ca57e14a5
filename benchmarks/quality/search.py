"""Search: are the products that people judged good among the first, mistyped or not?

Data: Crowdflower, 261 queries over 9,913 products, and two shops where their folders are
there: Home Depot (2,949 queries, 54,667 titles) and Chorus (135 queries, 19,406 electronic
products). The gain of a grade is 2^(grade-1) - 1; what nobody judged counts 0; the whole
catalog is ranked.

Our service and Typesense are asked over HTTP, with their defaults, and the libraries in
this process, all with the same queries. What Typesense searches (titles, or descriptions
too) and the constants of our engine were chosen on odd query ids; even ones judge.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import (
    Judged,
    MissingDataError,
    chorus,
    crowdflower,
    home_depot,
)
from benchmarks.quality.letters import Neighbourhood, made_up, mistyped, mistyped_twice
from benchmarks.quality.search_peers import PEERS, Catalog
from benchmarks.quality.search_services import (
    RECALLED,
    WORDS_ALONE,
    has_typesense,
    our_service,
    typesense,
)
from benchmarks.report import Figure
from productrecs.engines.text.tokenizer import is_code, query_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from benchmarks.report import Report

    Find = Callable[[str], Sequence[int]]
    Mistype = Callable[[str, random.Random], str]

SHOWN: Final = 10
SEEDS: Final = 5
MADE_UP: Final = 500
NDCG, RECALL = "NDCG@10", f"recall@{RECALLED} of the good"
TYPOS: Final[dict[str, Mistype]] = {
    "one typo": lambda query, rng: mistyped(query, 1, rng),
    "a typo in each of two words": lambda query, rng: mistyped(query, 2, rng),
    "two typos in one word": mistyped_twice,
}
KEPT, NOTHING = "share of the clean NDCG@10", "nothing found"
TARGETS: Final = {f"{kind}, {KEPT}": 0.90 for kind in TYPOS} | {f"one typo, {KEPT}": 0.92}
CROWDFLOWER_TARGETS: Final = TARGETS | {NDCG: 0.78, RECALL: 0.90}
EMPTY: Final = 0.95
PARTS: Final = {"odd": (1,), "even": (0,), "all": (0, 1)}
SHOPS: Final = {"Crowdflower": crowdflower, "Home Depot": home_depot, "Chorus": chorus}
OURS: Final = {"ours": {}, "ours by words alone": WORDS_ALONE}


@dataclass(frozen=True, slots=True)
class Answers:
    """What one method finds: per figure and query, the values of each time it was asked."""

    values: dict[str, dict[int, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    made_up: float = 0.0  # share of made-up words that find nothing

    def figures(self, part: str) -> dict[str, float]:
        """Return the means over the odd or even queries, or all."""
        means = {
            name: mean(
                value
                for query, values in by_query.items()
                if query % 2 in PARTS[part]
                for value in values
            )
            for name, by_query in self.values.items()
        }
        return {
            name: value / means[NDCG] if name.endswith(KEPT) else value
            for name, value in means.items()
        }


def measure(report: Report) -> None:
    """Add the figures of our service and of its peers, on the same queries."""
    for name, read in SHOPS.items():
        try:
            data = read()
        except MissingDataError as error:
            report.skip(f"search, {name}", str(error))
            continue
        _measure(report, name, data)


def _measure(report: Report, name: str, data: Judged) -> None:
    catalog = catalog_of(data)
    words = list(_far(_known_words(catalog)))
    for library, build in PEERS.items():
        try:
            _add(report, f"{name}, {library}", _ask(data, words, build(catalog)))
        except ImportError as error:
            report.skip(f"search, {name}, {library}", str(error))
    peer = _typesense(report, name, data, words)
    targets = CROWDFLOWER_TARGETS if name == "Crowdflower" else TARGETS
    for way, settings in OURS.items():
        with our_service(name, catalog, settings) as service:
            answers = _ask(data, words, service.find)
        _add(report, f"{name}, {way}", answers, peer, targets)


def _typesense(
    report: Report, name: str, data: Judged, words: Sequence[str]
) -> Answers | None:
    """Report what Typesense finds, in those texts that suit it best on the odd queries."""
    if not has_typesense():
        report.skip(f"search, {name}, Typesense", "productrecs[peers] is not installed")
        return None
    found = {}
    for query_by in ("title", "title,description"):
        with typesense(catalog_of(data), query_by) as service:
            found[query_by] = _ask(data, words, service.find)
    best = max(found, key=lambda query_by: found[query_by].figures("odd")[NDCG])
    _add(report, f"{name}, Typesense on {best}", found[best])
    return found[best]


def catalog_of(data: Judged) -> Catalog:
    """Return the products of a judged set."""
    return Catalog(*zip(*data.products, strict=True))


def ndcg(judged: dict[int, float], found: Sequence[int]) -> float | None:
    """Return NDCG@10 of a list; None where nothing good was judged."""
    ideal = _dcg(sorted(judged.values(), reverse=True))
    return _dcg(judged.get(one, 1) for one in found) / ideal if ideal else None


def _dcg(grades: Iterable[float]) -> float:
    gains = [2 ** (grade - 1) - 1 for grade, _ in zip(grades, range(SHOWN), strict=False)]
    return math.fsum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


def recall(data: Judged, query: int, found: Sequence[int]) -> float | None:
    """Return the share of a query's good products among the first fifty."""
    good = {one for one, grade in data.grades[query].items() if grade >= data.good}
    return len(good & set(found)) / len(good) if good else None


def _ask(data: Judged, words: Sequence[str], find: Find) -> Answers:
    answers = Answers(made_up=mean(not find(word) for word in words))
    for query, text in data.queries.items():
        grades, found = data.grades[query], find(text)
        clean = ndcg(grades, found)
        if clean is None:
            continue
        answers.values[NDCG][query].append(clean)
        share = recall(data, query, found)
        if share is not None:
            answers.values[RECALL][query].append(share)
        for kind, mistype in TYPOS.items():
            for seed in range(SEEDS):
                found = find(mistype(text, random.Random(f"{kind} {seed} {query}")))
                kept = ndcg(grades, found) or 0.0
                answers.values[f"{kind}, {KEPT}"][query].append(kept)
                answers.values[f"{kind}, {NOTHING}"][query].append(not found)
    return answers


def _add(
    report: Report,
    name: str,
    answers: Answers,
    peer: Answers | None = None,
    targets: Mapping[str, float] | None = None,
) -> None:
    """Add the figures of a method; those of ours have targets, and Typesense as floor."""
    for part in PARTS:
        floors = peer.figures(part) if peer else {}
        for figure, value in answers.figures(part).items():
            floor = floors.get(figure)
            ratio = value / floor if floor else None
            title = f"search, {name}, {part} queries, {figure}"
            told = Figure(title, value, "share", floor, ratio)
            if targets and figure in targets:
                target = targets[figure]
                told = replace(told, target=target, ok=value >= target)
            elif floor is not None and figure.endswith(NOTHING):
                told = replace(told, target="<= floor", ok=value <= floor)
            report.add(told)
    report.add(
        Figure(
            f"search, {name}, {MADE_UP} made-up words that find nothing",
            answers.made_up,
            "share",
            peer.made_up if peer else None,
            target=EMPTY if targets else None,
            ok=answers.made_up >= EMPTY if targets else None,
            note="5 to 10 letters, by a model of three letters; the last word may be "
            "unfinished, as in any search",
        )
    )


def _known_words(catalog: Catalog) -> Counter[str]:
    return Counter(
        word
        for texts in (catalog.titles, catalog.descriptions)
        for text in texts
        for word in query_words(text)
        if word.isalpha() and not is_code(word)
    )


def _far(known: Counter[str]) -> Iterator[str]:
    """Give made-up words that no word of the catalog is within the allowed distance of."""
    rng, found, near = random.Random(7), set[str](), Neighbourhood(known)
    while len(found) < MADE_UP:
        word = made_up(known, rng)
        if word not in found and word not in known and not near.has(word):
            found.add(word)
            yield word
