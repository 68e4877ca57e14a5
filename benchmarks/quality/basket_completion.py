"""Basket completion: is the item that was taken out of a later basket among the first ten?

Data: Online Retail, learned as in `bought_together`. Asked: every later order of 3 to 50
distinct products (as `bought_together` asks), one of them (by a fixed seed) hidden, the
others given; and once more every later order of 3 and more, wholesale ones too. The whole
catalog is ranked but for the given items. The floors are plain sums over the given items,
each learned once from all orders and once from those of up to 100 products; the best one
counts. Of 3 to 50, and up to 100, is the protocol whose floors are .186 (count), .289
(cosine), .282 (cosine with support) and .249: five other seeds move each by up to .015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.quality.bought_together import CUT, LARGEST_ASKED, Trial, trial
from benchmarks.quality.datasets import age_days, online_retail
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.copurchase import CopurchaseOptions, fit_copurchase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, Items

    Lists = Callable[[Items], Items]

SHOWN: Final = 10
LEAST: Final = 3
SEED: Final = 7
LARGEST: Final = 100
ANY_SIZE: Final = 10**9
REACH: Final = 1.05


class Question(NamedTuple):
    """A basket with one of its items taken out."""

    given: Items
    hidden: int


def questions(
    test: Trial, begin_ms: int, until_ms: int = 2**62, largest: int = ANY_SIZE
) -> list[Question]:
    """Return a question for each order of three to `largest` items in that time."""
    rng = np.random.default_rng(SEED)
    orders = test.orders
    chosen = (orders.times >= begin_ms) & (orders.times < until_ms)
    chosen &= (orders.sizes >= LEAST) & (orders.sizes <= largest)
    asked = []
    for content in orders.contents(np.flatnonzero(chosen)):
        place = int(rng.integers(len(content)))
        asked.append(Question(np.delete(content, place), int(content[place])))
    return asked


def ours(test: Trial, options: CopurchaseOptions) -> Lists:
    """Return our engine's lists; of more than fifty given items, the first fifty."""
    baskets, items, times = test.orders.lines_of(test.learned)
    ages = age_days(times, test.now_ms).astype(np.float32)
    model = fit_copurchase(baskets, items, ages, test.orders.n_items, options).plain
    return lambda given: model.complete(given.tolist(), SHOWN).items


def floors(test: Trial, largest: int) -> dict[str, Lists]:
    """Return the plain methods, learned from orders of up to `largest` products."""
    learned = test.learned & (test.orders.sizes <= largest)
    baskets, items, _ = test.orders.lines_of(learned)
    n = test.orders.n_items
    holding = sparse.csr_array(
        (np.ones(len(items)), (baskets, items)), shape=(len(learned), n)
    )
    counts = sparse.coo_array(holding.T @ holding)
    held = np.maximum(counts.diagonal(), 1e-9)
    apart = counts.row != counts.col
    one, other, together = counts.row[apart], counts.col[apart], counts.data[apart]
    cosine = together / np.sqrt(held[one] * held[other])
    ways = {
        "count": together,
        "cosine": cosine,
        "cosine, support 2": np.where(together >= 2, cosine, 0.0),
        "c/((n_i+20) n_j^.2)": together / ((held[one] + 20.0) * held[other] ** 0.2),
    }
    return {
        name: _summing(sparse.csr_array((values, (one, other)), shape=(n, n)))
        for name, values in ways.items()
    }


def ask(asked: Sequence[Question], lists: Lists) -> tuple[Floats, Floats]:
    """Return each question's HR@10 (1 or 0) and MRR@10."""
    hits, ranks = np.zeros(len(asked)), np.zeros(len(asked))
    for number, question in enumerate(asked):
        found = np.flatnonzero(lists(question.given) == question.hidden)
        if len(found):
            hits[number], ranks[number] = 1.0, 1.0 / (1.0 + found[0])
    return hits, ranks


def measure(report: Report) -> None:
    """Add HR@10 and MRR@10 of our lists beside the best floor, then each floor."""
    test = trial(online_retail(), CUT)
    mine = ours(test, CopurchaseOptions())
    others = {
        f"{name}, orders {size}": lists
        for size, largest in (("of any size", ANY_SIZE), (f"up to {LARGEST}", LARGEST))
        for name, lists in floors(test, largest).items()
    }
    for sizes, largest in (
        (f"{LEAST} to {LARGEST_ASKED}", LARGEST_ASKED),
        (f"{LEAST} and more", ANY_SIZE),
    ):
        asked = questions(test, test.now_ms, largest=largest)
        found = {name: ask(asked, lists) for name, lists in others.items()}
        _add(report, f"Online Retail from {CUT}, of {sizes}", ask(asked, mine), found)


def _add(
    report: Report,
    title: str,
    mine: tuple[Floats, Floats],
    others: Mapping[str, tuple[Floats, Floats]],
) -> None:
    asked = len(mine[0])
    for at, metric in enumerate(("HR@10", "MRR@10")):
        best = max(others, key=lambda name: float(others[name][at].mean()))
        value, floor = float(mine[at].mean()), float(others[best][at].mean())
        gain = difference(mine[at], others[best][at], np.arange(asked))
        report.add(
            Figure(
                f"basket completion, {title}, {metric}",
                value,
                "share",
                floor,
                value / floor,
                f">= {REACH} x floor",
                value >= REACH * floor,
                f"{asked} baskets; floor: {best}; difference {gain}",
            )
        )
    for name, (hits, _) in others.items():
        named = f"basket completion, {title}, HR@10, {name}"
        report.add(Figure(named, float(hits.mean()), "share", note="for comparison"))


def _summing(matrix: sparse.csr_array) -> Lists:
    def lists(given: Items) -> Items:
        sums = matrix[given].sum(axis=0)
        sums[given] = 0.0
        order = np.lexsort((np.arange(len(sums)), -sums))[:SHOWN]
        return order[sums[order] > 0].astype(np.int32)

    return lists
