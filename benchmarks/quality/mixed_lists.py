"""Mixed lists: does `mix` find more where candidates count by the visits that support them?

A shop learns from the groups of a data set (orders or visits): `both` takes each group as
an order and as a visit, `apart` one half as orders and the other as visits, `few visits`
and `few orders` a tenth as the one and the rest as the other. An order that counts as a
visit is ten of its products in drawn order. It learns from all groups before the test, the
newest tenth or the newest hundredth. A question of an order is a product page, the answers
are the order's other products. A question of a visit is its next product, on the page of
its latest product, once with the visit before it and once without. The floor is the fusion
by ranks alone, with the same candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from benchmarks.quality.bought_together import CUT, trial
from benchmarks.quality.datasets import (
    Sessions,
    age_days,
    online_retail,
    rees46,
    retailrocket,
    serenade_bol,
)
from benchmarks.quality.made_shops import KINDS
from benchmarks.quality.shop_kinds import SEEDS, last_orders
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import fit_sessions
from productrecs.engines.copurchase import CopurchaseModels, fit_copurchase
from productrecs.engines.engine_protocol import ListContext, ListRequest
from productrecs.engines.registry import BROWSE, BUY, BY_NAME
from productrecs.features.recommendations.candidates import fuse_candidates
from productrecs.features.recommendations.recommendation_request import Source
from productrecs.features.recommendations.source_recipes import PageType, choose_recipe
from productrecs.tenancy.accounts.store_settings import StoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.quality.bought_together import Trial
    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, RankedItems
    from productrecs.engines.browse import SessionIndex

SHARES: Final = (1.0, 0.1, 0.01)  # of the groups, the newest
LENGTHS: Final = (4, 10)
MOST: Final = 2_500  # questions of a set
_VISIT_ITEMS: Final = 10  # of an order that counts as a visit
_RECENT: Final = 9  # latest items of a visit
_WEIGHTS: Final = choose_recipe(Source.MIX, StoreSettings()).blend[PageType.PRODUCT]
# By shop: the share of the groups that are visits, and from which share on they are orders.
SHOPS: Final = {
    "both": (1.0, 0.0),
    "apart": (0.5, 0.5),
    "few visits": (0.1, 0.1),
    "few orders": (1.0, 0.9),
}


Question = tuple[int, tuple[int, ...], frozenset[int]]
"""A group that is asked, the visit so far, and the answers."""


class MixedSet(NamedTuple):
    """Groups to learn from, and questions."""

    past: Sessions
    n_items: int
    questions: list[Question]
    are_orders: bool


class Shop(NamedTuple):
    """What a shop has learned."""

    browse: SessionIndex
    buy: CopurchaseModels
    now_ms: int

    def candidates(self, visit: tuple[int, ...]) -> list[RankedItems]:
        """Return the engines' candidates for the page of a visit's latest product."""
        page = visit[-1:]
        context = ListContext(anchors=page, basket=page, visit=visit, now_ms=self.now_ms)
        request = cast("ListRequest", context)  # these engines need no more
        models = {BROWSE.name: self.browse, BUY.name: self.buy}
        return [BY_NAME[name].candidates(models[name], request) for name in _WEIGHTS]


def measure(report: Report) -> None:
    """Add hit@4 and hit@10 of every set, shop and share of the history."""
    for name, mixed in _sets():
        for share in SHARES:
            for kind in SHOPS:
                _add_shop(report, f"{name}, {share:.0%}, {kind}", mixed, share, kind)


def _sets() -> Iterator[tuple[str, MixedSet]]:
    yield "Online Retail", _of_orders(trial(online_retail(), CUT))
    for name, make in KINDS.items():
        for seed in SEEDS:
            yield f"made-up {name} {seed}", _of_orders(last_orders(make(seed)))
    for name, read in (
        ("RetailRocket", retailrocket),
        ("bol", serenade_bol),
        ("REES46", rees46),
    ):
        split = read()
        questions = [
            (group, tuple(items[:step]), frozenset({items[step]}))
            for group, items in enumerate(split.asked.items)
            for step in range(1, len(items))
        ]
        yield name, MixedSet(split.train, split.n_items, _some(questions), are_orders=False)


def _of_orders(test: Trial) -> MixedSet:
    learned = np.flatnonzero(test.learned)
    learned = learned[np.argsort(test.orders.times[learned], kind="stable")]
    items = [order.tolist() for order in test.orders.contents(learned)]
    questions = [
        (group, (anchor,), frozenset(order.tolist()) - {anchor})
        for group, order in enumerate(test.asked)
        for anchor in order.tolist()
    ]
    past = Sessions(items, test.orders.times[learned].tolist())
    return MixedSet(past, test.orders.n_items, _some(questions), are_orders=True)


def _some(questions: Sequence[Question]) -> list[Question]:
    return list(questions[:: max(-(-len(questions) // MOST), 1)])


def _learn(mixed: MixedSet, share: float, kind: str) -> Shop | None:
    """Return a shop that learned from the newest groups; None if it has too few."""
    newest = max(int(len(mixed.past.items) * share), 1)
    items, ends = mixed.past.items[-newest:], mixed.past.ends_ms[-newest:]
    rng = np.random.default_rng(3)
    visits_below, orders_from = SHOPS[kind]
    draws = rng.random(newest).tolist()
    drawn = list(zip(items, ends, draws, strict=True))
    visits = [
        (rng.permutation(one)[:_VISIT_ITEMS].tolist() if mixed.are_orders else one, end)
        for one, end, draw in drawn
        if draw < visits_below
    ]
    orders = [(sorted(set(one)), end) for one, end, draw in drawn if draw >= orders_from]
    if not visits or len(orders) < 2:
        return None
    browse = fit_sessions(*_sessions(visits).events(), mixed.n_items)
    codes, lines, times = _sessions(orders).events()
    ages = age_days(times, ends[-1]).astype(np.float32)
    buy = fit_copurchase(codes, lines, ages, mixed.n_items)
    return Shop(browse, buy, ends[-1])


def _sessions(groups: Sequence[tuple[list[int], int]]) -> Sessions:
    return Sessions([items for items, _ in groups], [end for _, end in groups])


def _add_shop(report: Report, title: str, mixed: MixedSet, share: float, kind: str) -> None:
    shop = _learn(mixed, share, kind)
    if shop is None:
        report.skip(f"mixed lists, {title}", "too few orders or visits")
        return
    groups = np.array([group for group, _, _ in mixed.questions])
    groups = np.unique(groups, return_inverse=True)[1]
    for length in (1,) if mixed.are_orders else (1, _RECENT):
        mine, floor = _hits(shop, mixed, length)
        seen = "" if mixed.are_orders else f", {'page' if length == 1 else 'visit'}"
        for shown, ours, theirs in zip(LENGTHS, mine.T, floor.T, strict=True):
            value, least = float(ours.mean()), float(theirs.mean())
            gain = difference(ours, theirs, groups)
            report.add(
                Figure(
                    f"mixed lists, {title}{seen}, hit@{shown}",
                    value,
                    "share",
                    least,
                    value / max(least, 1e-9),
                    "not below: interval reaches 0",
                    gain.high >= 0.0,
                    f"{len(groups)} questions; floor: ranks alone; difference {gain}",
                )
            )


def _hits(shop: Shop, mixed: MixedSet, length: int) -> tuple[Floats, Floats]:
    """Return the hits with and without support; [questions, lengths]."""
    hits = np.zeros((2, len(mixed.questions), len(LENGTHS)))
    for number, (_, visit, answers) in enumerate(mixed.questions):
        candidates = shop.candidates(visit[-length:])
        without = [ranked._replace(support=None) for ranked in candidates]
        for row, lists in enumerate((candidates, without)):
            items = fuse_candidates(_WEIGHTS, lists).items[: max(LENGTHS)]
            found = [item in answers for item in items.tolist()]
            hits[row, number] = [any(found[:shown]) for shown in LENGTHS]
    return hits[0], hits[1]
