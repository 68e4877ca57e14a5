"""Bought together in shops of different kinds: do our lists find less than plain counting?

Shops made up by `made_shops`, the visits of RetailRocket and serenade_bol taken for orders,
Online Retail, and further orders (folders `baskets_NAME`). The last 15 % of the orders of 2
to 50 products are asked (at most 3,000), each product an anchor, as in `bought_together`;
all earlier ones are learned from. Defaults were chosen with seeds 1 and 2, on Online
Retail's two months before the test, and on the sets' training parts; the seeds measured
here, 11 and 12, chose nothing. "Tuned" are the constants that a store's own past chooses,
as its background does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality import bought_together
from benchmarks.quality.bought_together import Trial, ask, counting, ours
from benchmarks.quality.datasets import (
    MissingDataError,
    Orders,
    Sessions,
    further_baskets,
    further_sets,
    online_retail,
    retailrocket,
    serenade_bol,
)
from benchmarks.quality.made_shops import KINDS, orders_of
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.training.training_inputs import OrderLineArrays
from productrecs.training.tuning.repository import (
    Changes,
    changes_from_defaults,
    with_changes,
)
from productrecs.training.tuning.tune_store import tune_copurchase_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.quality.bought_together import Outcome
    from benchmarks.report import Report

SEEDS: Final = (11, 12)
ASKED: Final = 0.15  # of the orders, the newest
MOST: Final = 3_000  # orders asked
LENGTHS: Final = (4, 10)
REFINEMENTS: Final[dict[str, Changes]] = {
    "shrinkage to the average": {"prior": 0.0},
    "decay of old orders": {"half_life_days": 1e9},
    "less weight of large orders": {"large_basket": 1e9},
    "season": {"season": 0.0},
    "places for rare products": {"places": 0},
    "evidence for pairs": {"needs_evidence": False},
}
"""Each refinement of counting, and the options without it."""


def measure(report: Report) -> None:
    """Add hits and catalog coverage beside counting, of the defaults, then as tuned."""
    for name, test in _trials():
        counted = ask(test, counting(test))
        usual = ask(test, ours(test, CopurchaseOptions()))
        least = counted.coverage
        _add(report, f"shop kinds, {name}", test, (usual, counted, least), "counts")
        lines, n_items = purchases_of(test), test.orders.n_items
        chosen = tune_copurchase_options(lines, n_items, lambda: None)
        if chosen is None:
            report.skip(f"shop kinds, {name}, tuned", "too few orders")
            continue
        changes = changes_from_defaults(chosen)
        told = ", ".join(f"{key}={value:g}" for key, value in changes.items())
        tuned = ask(test, ours(test, chosen)) if changes else usual
        peer = f"the defaults, tuned to {told or 'the same'}"
        _add(report, f"shop kinds, {name}, tuned", test, (tuned, usual, least), peer)


def measure_refinements(report: Report) -> None:
    """Add what the defaults find beside the same without one refinement of counting."""
    for name, test in _trials():
        usual = ask(test, ours(test, CopurchaseOptions()))
        for refinement, off in REFINEMENTS.items():
            less = ask(test, ours(test, with_changes(CopurchaseOptions(), off)))
            title = f"refinements, {name}, {refinement}"
            _add(report, title, test, (usual, less, 0.0), "without it")


def last_orders(orders: Orders) -> Trial:
    """Return the questions of the newest orders, learned from those before them."""
    first = int(len(orders.times) * (1.0 - ASKED))
    begin, sizes = int(orders.times[first]), orders.sizes
    several = sizes >= 2
    asked = np.flatnonzero(
        (orders.times >= begin) & several & (sizes <= bought_together.LARGEST_ASKED)
    )
    asked = asked[:: max(-(-len(asked) // MOST), 1)]
    return Trial(orders, (orders.times < begin) & several, orders.contents(asked), begin)


def _trials() -> Iterator[tuple[str, Trial]]:
    for kind, make in KINDS.items():
        for seed in SEEDS:
            yield f"made-up {kind} {seed}", last_orders(make(seed))
    for name, read in (("RetailRocket", retailrocket), ("serenade_bol", serenade_bol)):
        try:
            split = read()
        except MissingDataError:
            continue
        visits = split.train.items + split.asked.items
        ends = split.train.ends_ms + split.asked.ends_ms
        orders = _as_orders(Sessions(visits, ends), split.n_items)
        yield f"visits of {name}", last_orders(orders)
    yield (
        f"Online Retail from {bought_together.CUT}",
        bought_together.trial(online_retail(), bought_together.CUT),
    )
    yield from further_trials()


def further_trials() -> Iterator[tuple[str, Trial]]:
    """Yield the name and the newest orders of every folder `baskets_NAME`.

    Raises:
        MissingDataError: when there is none.
    """
    for name in further_sets("baskets"):
        yield f"baskets of {name}", last_orders(_as_orders(*further_baskets(name)))


def _as_orders(groups: Sessions, n_items: int) -> Orders:
    """Return sessions as orders of nobody."""
    return orders_of(groups.items, groups.ends_ms, [0] * len(groups.items), n_items)


def _add(
    report: Report,
    title: str,
    test: Trial,
    outcomes: tuple[Outcome, Outcome, float],
    name: str,
) -> None:
    """Add one outcome beside another; `outcomes` ends with the coverage of counting."""
    mine, peer, least = outcomes
    groups = np.repeat(np.arange(len(test.asked)), [len(order) for order in test.asked])
    wider = f"catalog coverage {mine.coverage:.3f}, {peer.coverage:.3f} of the floor"
    for length in LENGTHS:
        value, floor = float(mine.hits[length].mean()), float(peer.hits[length].mean())
        gain = difference(mine.hits[length], peer.hits[length], groups)
        good = gain.high >= 0.0 and mine.coverage >= least
        note = f"{len(groups)} anchors; floor: {name}; difference {gain}; {wider}"
        target = "not below floor, nor coverage below that of counting"
        named, ratio = f"{title}, hit@{length}", value / floor
        report.add(Figure(named, value, "share", floor, ratio, target, good, note))


def purchases_of(test: Trial) -> OrderLineArrays:
    """Return the orders that are learned from, as training reads them."""
    learned = test.orders.times < test.now_ms
    orders, items, times = test.orders.lines_of(learned)
    count = len(items)
    return OrderLineArrays(
        line_seqs=np.arange(count),
        baskets=orders,
        items=items,
        quantities=np.ones(count, np.int64),
        totals=np.zeros(count),
        times=times,
        is_active=np.ones(count, np.bool_),
        buyers=np.zeros(count, np.int64),
        visitors=np.zeros(count, np.int64),
    )
