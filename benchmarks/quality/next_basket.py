"""Next basket: of what a customer buys next, how much is among the ten shown beforehand?

Data: Online Retail. Asked: each customer with an order before 2011-11-10 and one after it;
the first one after is the answer, all before are their past. Recall@10 is the share of its
distinct products in a list of ten of the whole catalog, mean over the customers; "repeat"
counts the products they had bought before, "explore" the others. The floor: 0.8 ** (baskets
ago), summed over a product's baskets, then what was in most orders of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.quality.bought_together import CUT, trial
from benchmarks.quality.datasets import DAY_MS, Orders, age_days, online_retail
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure, beside
from productrecs.engines.buy_again import rank_repurchases
from productrecs.engines.copurchase import fit_copurchase
from productrecs.engines.rank_fusion import fuse_lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import (
        Floats,
        Ints,
        Items,
        Scores,
    )

    Lists = Callable[["Customer"], Items]

SHOWN: Final = 10
FADING: Final = 0.8
COMPANIONS: Final = 0.3  # as features/recommendations blends them
FADES_DAYS: Final = 90.0  # as features/recommendations lets purchases fade
WINDOW_DAYS: Final = 30  # of what trends


class Customer(NamedTuple):
    """A customer's baskets before, the oldest first, when they were, and the next one."""

    past: list[Items]
    times: list[int]
    following: Items


def customers(orders: Orders, begin_ms: int, until_ms: int = 2**62) -> list[Customer]:
    """Return the customers with an order before `begin_ms`, and one from then on."""
    by_customer: dict[int, list[int]] = {}
    for order in np.argsort(orders.times, kind="stable").tolist():
        if orders.customers[order]:
            by_customer.setdefault(int(orders.customers[order]), []).append(order)
    found = []
    for mine in by_customer.values():
        past = [one for one in mine if orders.times[one] < begin_ms]
        later = [one for one in mine if begin_ms <= orders.times[one] < until_ms]
        if past and later:
            contents = orders.contents(np.array([*past, later[0]]))
            times = [int(orders.times[one]) for one in past]
            found.append(Customer(contents[:-1], times, contents[-1]))
    return found


def ours(orders: Orders, begin_ms: int) -> Lists:
    """Return our engines' lists: what is bought again, what goes with it, what trends."""
    model = fit_copurchase(*_learned(orders, begin_ms), orders.n_items).plain
    trending = _trending(orders, begin_ms)
    ranks = np.empty(orders.n_items, dtype=np.int32)
    ranks[trending] = np.arange(len(trending), dtype=np.int32)

    def lists(customer: Customer) -> Items:
        lines = np.concatenate(customer.past)
        when = np.repeat(customer.times, [len(one) for one in customer.past])
        again = rank_repurchases(lines.astype(np.int64), when, ranks, 60)
        beside_it = model.complete(lines[-50:].tolist(), 60)
        fused = fuse_lists([again.items, beside_it.items], (1.0, COMPANIONS)).items
        filled = np.concatenate([fused, trending])
        return filled[np.sort(np.unique(filled, return_index=True)[1])][:SHOWN]

    return lists


def plain(orders: Orders, begin_ms: int) -> Lists:
    """Return the floor's lists."""
    sold = np.bincount(
        orders.lines_of(orders.times < begin_ms)[1], minlength=orders.n_items
    )
    popular = 1e-3 * sold / sold.max()

    def lists(customer: Customer) -> Items:
        scores = popular.copy()
        for ago, basket in enumerate(reversed(customer.past)):
            scores[basket] += FADING**ago
        return np.lexsort((np.arange(len(scores)), -scores))[:SHOWN].astype(np.int32)

    return lists


def ask(asked: list[Customer], lists: Lists) -> dict[str, Floats]:
    """Return each customer's recall: of all, of what they had before, of what is new."""
    recalls = np.full((3, len(asked)), np.nan)
    for number, customer in enumerate(asked):
        hit = np.isin(customer.following, lists(customer))
        known = np.isin(customer.following, np.concatenate(customer.past))
        for part, which in enumerate((np.ones_like(known), known, ~known)):
            if which.any():
                recalls[part, number] = hit[which].mean()
    return dict(zip(("all", "repeat", "explore"), recalls, strict=True))


def measure(report: Report) -> None:
    """Add recall@10 of our lists beside the floor, whole and in its two parts."""
    orders = online_retail()
    begin_ms = trial(orders, CUT).now_ms
    asked = customers(orders, begin_ms)
    mine = ask(asked, ours(orders, begin_ms))
    floor = ask(asked, plain(orders, begin_ms))
    for part, values in mine.items():
        there = ~np.isnan(values)
        gain = difference(values[there], floor[part][there], np.arange(int(there.sum())))
        title = f"next basket, Online Retail from {CUT}, recall@10, {part}"
        note = f"{int(there.sum())} customers; floor: decayed frequency; difference {gain}"
        value, other = float(values[there].mean()), float(floor[part][there].mean())
        figure = beside(title, value, "share", other, note)
        if part == "all":
            report.add(figure)
        else:
            report.add(Figure(title, value, "share", other, figure.ratio, note=note))

    _measure_browse(report, orders, begin_ms, asked)


def _measure_browse(
    report: Report, orders: Orders, begin_ms: int, asked: list[Customer]
) -> None:
    """Add recall@10 of what customers never had, where `browse` goes by their purchases."""
    model = fit_copurchase(*_learned(orders, begin_ms), orders.n_items).plain
    trending = _trending(orders, begin_ms)

    def listed(customer: Customer, proposed: Items) -> Items:
        unheard = np.isin(proposed, np.concatenate(customer.past), invert=True)
        filled = np.concatenate([proposed[unheard], trending])
        new = filled[np.isin(filled, np.concatenate(customer.past), invert=True)]
        return new[np.sort(np.unique(new, return_index=True)[1])][:SHOWN]

    def browse(customer: Customer) -> Items:
        lines = np.concatenate(customer.past)[-50:].tolist()
        when = np.repeat(customer.times, [len(one) for one in customer.past])[-50:]
        fades = np.exp((when - when[-1]) / (FADES_DAYS * DAY_MS)).tolist()
        counts = dict(zip(lines, fades, strict=True))  # the newest of a product comes last
        return listed(customer, model.complete(list(counts), 60, counts).items)

    mine = ask(asked, browse)["explore"]
    floor = ask(asked, lambda customer: listed(customer, trending))["explore"]
    there = ~np.isnan(mine)
    gain = difference(mine[there], floor[there], np.arange(int(there.sum())))
    note = f"{int(there.sum())} customers; floor: what trends; difference {gain}"
    title = f"browse by purchases, Online Retail from {CUT}, recall@10 of new products"
    value, other = float(mine[there].mean()), float(floor[there].mean())
    report.add(beside(title, value, "share", other, note))


def _learned(orders: Orders, begin_ms: int) -> tuple[Ints, Items, Scores]:
    learned = (orders.times < begin_ms) & (orders.sizes > 1)
    baskets, items, times = orders.lines_of(learned)
    return baskets, items, age_days(times, begin_ms).astype(np.float32)


def _trending(orders: Orders, begin_ms: int) -> Items:
    lately = (orders.times < begin_ms) & (orders.times > begin_ms - WINDOW_DAYS * DAY_MS)
    return _by_count(orders.lines_of(lately)[1], orders.n_items)


def _by_count(items: Items, n_items: int) -> Items:
    counts = np.bincount(items, minlength=n_items)
    return np.lexsort((np.arange(n_items), -counts)).astype(np.int32)
