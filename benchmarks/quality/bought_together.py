"""Bought together, one anchor: is another item of the same later order among the first?

Data: Online Retail. Learned from orders of 2 and more distinct products before 2011-11-10
(no cancellations, no non-product codes, no line without a price; lines of one order and
item summed). Asked: the later orders of 2 to 50 products, each product an anchor, all
others of its order the answers. Lists hold no anchor; nothing else is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import Orders, age_days, online_retail
from benchmarks.quality.peers import count_together
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.copurchase import CopurchaseOptions, fit_copurchase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import (
        Bools,
        Floats,
        Ints,
        Items,
    )

    Lists = Callable[[int], Items]

CUT: Final = "2011-11-10"
SHOWN: Final = (1, 4, 10)
LARGEST_ASKED: Final = 50
LARGEST_COUNTED: Final = 100
REACH: Final = 1.02
WIDER: Final = 1.25  # share of the catalog shown, beside that of counting all orders
NEVER_FADES: Final = 1e9


@dataclass(frozen=True, slots=True)
class Trial:
    """Orders learned from, and orders asked."""

    orders: Orders
    learned: Bools  # [orders]
    asked: list[Items]
    now_ms: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one method did on every question, and which items it showed."""

    hits: dict[int, Floats]  # by length of the list; [questions] 0 or 1
    coverage: float  # share of the learned products that stood in some list of four


def trial(orders: Orders, cut: str, end: str = "2100-01-01") -> Trial:
    """Return the questions of the orders from `cut` to `end`, learned from those before."""
    begin, until = (int(np.datetime64(day, "ms").astype(np.int64)) for day in (cut, end))
    later = (orders.times >= begin) & (orders.times < until)
    sizes = orders.sizes
    asked = np.flatnonzero(later & (sizes >= 2) & (sizes <= LARGEST_ASKED))
    learned = (orders.times < begin) & (sizes >= 2)
    return Trial(orders, learned, orders.contents(asked), begin)


def ours(test: Trial, options: CopurchaseOptions) -> Lists:
    """Return our engine's lists of ten."""
    baskets, items, times = test.orders.lines_of(test.learned)
    ages = age_days(times, test.now_ms).astype(np.float32)
    model = fit_copurchase(baskets, items, ages, test.orders.n_items, options).plain
    return lambda anchor: model.complete([anchor], max(SHOWN)).items


def counting(test: Trial, largest: int | None = None) -> Lists:
    """Return the lists of counting alone, of orders up to `largest` products if given."""
    learned = test.learned
    if largest is not None:
        learned = learned & (test.orders.sizes <= largest)
    baskets, items, _ = test.orders.lines_of(learned)
    return count_together(baskets, items, test.orders.n_items, max(SHOWN))


def ask(test: Trial, lists: Lists) -> Outcome:
    """Return which questions the lists answered."""
    known: dict[int, Items] = {}
    hits: dict[int, list[bool]] = {length: [] for length in SHOWN}
    for order in test.asked:
        for anchor in order.tolist():
            if anchor not in known:
                known[anchor] = lists(anchor)
            beside_it = np.isin(known[anchor], order)
            for length in SHOWN:
                hits[length].append(bool(beside_it[:length].any()))
    shown = np.unique(np.concatenate([items[:4] for items in known.values()]))
    learned = np.unique(test.orders.lines_of(test.learned)[1])
    return Outcome(
        {length: np.array(found, dtype=np.float64) for length, found in hits.items()},
        len(shown) / len(learned),
    )


def measure(report: Report) -> None:
    """Add the figures beside the better of two countings, and what each rule is worth."""
    test = trial(online_retail(), CUT)
    mine = ask(test, ours(test, CopurchaseOptions()))
    floors = {
        "raw counts": ask(test, counting(test)),
        f"counts of orders up to {LARGEST_COUNTED}": ask(
            test, counting(test, LARGEST_COUNTED)
        ),
    }
    groups = np.repeat(np.arange(len(test.asked)), [len(order) for order in test.asked])
    for length in SHOWN:
        report.add(_figure(length, mine, floors, groups))
    for name, floor in floors.items():
        ratio = mine.coverage / floor.coverage
        least = WIDER if name == "raw counts" else 1.0
        report.add(
            Figure(
                f"bought together, catalog coverage of the first 4, beside {name}",
                mine.coverage,
                "share",
                floor.coverage,
                ratio,
                f">= {least} x floor",
                ratio >= least,
                "of products learned from",
            )
        )
    _add_variants(report, test)


def _figure(
    length: int, mine: Outcome, floors: Mapping[str, Outcome], groups: Ints
) -> Figure:
    best = max(floors, key=lambda name: float(floors[name].hits[length].mean()))
    value = float(mine.hits[length].mean())
    floor = float(floors[best].hits[length].mean())
    gain = difference(mine.hits[length], floors[best].hits[length], groups)
    note = f"{len(groups)} anchors; floor: {best}; difference {gain}"
    title = f"bought together, Online Retail from {CUT}, hit@{length}"
    reach = 1.0 if length == 1 else REACH
    target, good = f">= {reach} x floor", value >= reach * floor
    return Figure(title, value, "share", floor, value / floor, target, good, note)


def _add_variants(report: Report, test: Trial) -> None:
    options = CopurchaseOptions()
    variants: dict[str, CopurchaseOptions] = {
        "no prior": replace(options, prior=0.0),
        "a prior of 20": replace(options, prior=20.0),
        "without fading": replace(options, half_life_days=NEVER_FADES),
        "large orders in full": replace(options, large_basket=10**9),
        "no place for every item": replace(options, places=0),
        "no seasons": replace(options, season=0.0),
        # The trade-off: who holds popularity against more shows more of the catalog.
        **{
            f"popularity held against by {exponent}": replace(options, exponent=exponent)
            for exponent in (0.05, 0.1, 0.15, 0.3)
        },
    }
    for name, changed in variants.items():
        outcome = ask(test, ours(test, changed))
        hit_10 = float(outcome.hits[10].mean())
        report.add(
            Figure(
                f"bought together, hit@4, {name}",
                float(outcome.hits[4].mean()),
                "share",
                note=f"hit@10 {hit_10:.4f}; coverage {outcome.coverage:.3f}",
            )
        )
