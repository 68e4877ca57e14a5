"""Bundles: do later orders contain whole proposed sets, and more often than by chance?

Data: Online Retail, which has no categories and no stock. Proposed: 50 sets, learned from
the orders of 2 and more products before a day, without designs of one product (by title).
Asked: the later orders of 2 to 50 products. Chance: the same sets in these orders with all
products shuffled among them, the mean of 20 times. No option was tuned on either month.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from benchmarks.quality.bought_together import CUT, Trial, trial
from benchmarks.quality.datasets import age_days, online_retail, online_retail_titles
from benchmarks.report import beside
from productrecs.engines.copurchase import ItemSets, fit_copurchase, fit_item_sets
from productrecs.features.recommendations.bundles import are_designs_of_one_product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Bools, Ints, Items

    MayUse = Callable[[tuple[int, ...]], bool]

PROPOSED: Final = 50
_EARLIER: Final = "2011-10-10"
_SHUFFLES: Final = 20
_COUNTED: Final = 20_000  # pairs of plain counting that are looked at


@dataclass(frozen=True, slots=True)
class Found:
    """How often later orders contain whole sets."""

    share: float  # of the orders that contain at least one set
    by_chance: float  # the same share of shuffled orders
    sets: float  # of the sets that at least one order contains
    times: float  # orders of a set, relative to chance


def measure(report: Report) -> None:
    """Add the figures of the last month, and of the month before it."""
    orders, titles = online_retail(), online_retail_titles()
    for cut, end in ((CUT, "2100-01-01"), (_EARLIER, CUT)):
        test = trial(orders, cut, end)
        _add(report, test, titles, f"Online Retail from {cut}")


def _add(report: Report, test: Trial, titles: Sequence[str], name: str) -> None:
    sets = _learned(test)
    counts = _counted(test)

    def differ(members: tuple[int, ...]) -> bool:
        return not any(
            are_designs_of_one_product(titles[one], titles[two])
            for one, two in combinations(members, 2)
        )

    def differing_pair(members: tuple[int, ...]) -> bool:
        return len(members) == 2 and differ(members)

    def anything(_members: tuple[int, ...]) -> bool:
        return True

    def found(source: ItemSets, may_use: MayUse) -> tuple[Found, str]:
        chosen = [
            source.members(one) for one in source.choose_set_indexes(PROPOSED, may_use)
        ]
        sizes = [sum(len(one) == size for one in chosen) for size in (2, 3, 4)]
        return _found(test, chosen), f"{len(chosen)} sets: {sizes} of 2, 3, 4 products"

    floor, _ = found(counts, differ)
    for label, source, may_use in (
        ("sets of 2 to 4, as proposed", sets, differ),
        ("pairs only", sets, differing_pair),
        ("sets with designs of one product", sets, anything),
        ("pairs by plain counting", counts, differ),
        ("pairs by plain counting, with designs", counts, anything),
    ):
        mine, note = found(source, may_use)
        asked = f"{len(test.asked)} orders, {note}"
        title = f"bundles, {name}, {label}"
        told = f"{asked}; by chance {mine.by_chance:.4f}; ordered: {mine.sets:.2f} of sets"
        report.add(
            beside(
                f"{title}: orders with a whole set", mine.share, "share", floor.share, told
            )
        )
        title = f"{title}: orders of a set, relative to chance"
        report.add(beside(title, mine.times, "times", floor.times))


def _learned(test: Trial) -> ItemSets:
    baskets, items, times = test.orders.lines_of(test.learned)
    ages = age_days(times, test.now_ms).astype(np.float32)
    buyers = test.orders.customers[baskets]
    n_items = test.orders.n_items
    model = fit_copurchase(baskets, items, ages, n_items, buyers=buyers).plain
    return fit_item_sets(model, baskets, items, ages, buyers)


def _counted(test: Trial) -> ItemSets:
    """Return pairs by the number of orders with both, and nothing else."""
    baskets, items, _ = test.orders.lines_of(test.learned)
    ones = np.ones(len(items), np.int32)
    holding = sparse.csr_array((ones, (baskets, items)))
    both = sparse.triu(holding.T @ holding, k=1).tocoo()
    order = np.lexsort((both.col, both.row, -both.data))[:_COUNTED]
    rows = np.full((len(order), 4), -1, np.int32)
    rows[:, 0], rows[:, 1] = both.row[order], both.col[order]
    orders = both.data[order].astype(np.int32)
    return ItemSets(rows, orders, np.ones(len(order), np.float32))


def _found(test: Trial, chosen: Sequence[tuple[int, ...]]) -> Found:
    owners = np.repeat(np.arange(len(test.asked)), [len(one) for one in test.asked])
    items = np.concatenate(test.asked)
    n_items, rng = test.orders.n_items, np.random.default_rng(7)
    within = _containing(owners, items, n_items, chosen)
    shuffled = [
        _containing(owners, rng.permutation(items), n_items, chosen)
        for _ in range(_SHUFFLES)
    ]
    by_chance = float(np.mean([one.sum() for one in shuffled]))
    return Found(
        float(within.any(axis=1).mean()),
        float(np.mean([one.any(axis=1).mean() for one in shuffled])),
        float(within.any(axis=0).mean()),
        float(within.sum() / max(by_chance, 1 / _SHUFFLES)),
    )


def _containing(
    owners: Ints, items: Items, n_items: int, chosen: Sequence[tuple[int, ...]]
) -> Bools:
    """Return which orders contain which sets: [orders, sets]."""
    holding = np.zeros((int(owners.max()) + 1, n_items), np.bool_)
    holding[owners, items] = True
    return np.column_stack([holding[:, list(one)].all(axis=1) for one in chosen])
