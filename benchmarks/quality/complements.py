"""What completes a product: does `mix` gain by telling it apart, and what does it cost?

Two stores. Online Retail has no categories: there the engine says nothing, and `mix` is as
it was. So its titles' last words are taken for categories (BAG, HOLDER, CANDLE), which is
the hardest case, for in a gift shop people buy bags with bags; learned and asked as in
`bought_together` and `basket_completion`. And an invented shop of forty categories that go
with two others each, of every third of which people buy several: orders hold a product,
with luck one of each partner, something by chance, and now and then a second one of the
same category, as who cannot decide; visits compare products of a category and go on to a
partner. Beside `mix` stands the same without `complementary`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from benchmarks.quality.basket_completion import questions
from benchmarks.quality.bought_together import CUT, LARGEST_ASKED, trial
from benchmarks.quality.datasets import age_days, online_retail, online_retail_titles
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import SessionIndex, fit_sessions
from productrecs.engines.complementary import (
    BoughtTogetherPairs,
    ComplementAndCopurchaseModel,
    fit_complements,
)
from productrecs.engines.copurchase import fit_copurchase
from productrecs.engines.engine_protocol import ListContext
from productrecs.engines.registry import BROWSE, BUY, BY_NAME, COMPLEMENTARY
from productrecs.features.recommendations.candidates import fuse_candidates
from productrecs.features.recommendations.recommendation_request import Source
from productrecs.features.recommendations.source_recipes import (
    PageType,
    Recipe,
    choose_recipe,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import TrainedModels, empty_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items
    from productrecs.engines.engine_protocol import ListRequest

MIX: Final = choose_recipe(Source.MIX, StoreSettings())
BEFORE: Final = replace(MIX, blend_with_complements={})
SHOWN: Final = (4, 10)
LEAST: Final = 0.98  # of what `mix` hits without it
_CANDIDATES: Final = 60
_KINDS, _EACH, _PARTNERS = 40, 25, 2
_MADE: Final = 8_000  # orders, and visits
_LEARNED: Final = 0.8  # of them
_TWICE, _BOTH = 0.6, 0.05  # who buys two of a kind: where that is usual, and elsewhere
_PLACES: Final = {
    "pages": PageType.PRODUCT,
    "visits": PageType.PRODUCT,
    "carts": PageType.CART,
}


class Question(NamedTuple):
    """What a list is made for, what should be in it, and whose question it is."""

    given: list[int]
    answers: set[int]
    group: int


class Store(NamedTuple):
    """What was learned of one store, and of which kind each item is."""

    models: TrainedModels
    kinds: Items


Asked = dict[str, list[Question]]


def learned(
    lines: tuple[Ints, Items, Floats],
    kinds: Items,
    visits: tuple[Ints, Items, Ints] | None = None,
) -> Store:
    """Return what a store's lines (orders, items, ages in days) and visits teach."""
    orders, items, ages = lines
    n_items = len(kinds)
    bought = fit_copurchase(orders, items, ages.astype(np.float32), n_items)
    pairs = bought.plain
    complements = fit_complements(
        BoughtTogetherPairs(pairs.offsets, pairs.companions, pairs.support),
        kinds,
        np.zeros(n_items, np.int32),
        np.bincount(items, minlength=n_items),
    )
    models = (
        empty_models()
        .replacing(BUY, bought)
        .replacing(COMPLEMENTARY, ComplementAndCopurchaseModel(complements, bought))
        .replacing(
            BROWSE,
            SessionIndex.empty() if visits is None else fit_sessions(*visits, n_items),
        )
    )
    return Store(models, kinds)


def listed(store: Store, recipe: Recipe, place: PageType, given: list[int]) -> list[int]:
    """Return ten products for a product page or a cart, as `mix` blends them."""
    basket = tuple(given if place is PageType.CART else given[-1:])
    context = cast(  # these engines need no more
        "ListRequest",
        ListContext(anchors=basket, basket=basket, visit=tuple(given[-9:]), now_ms=0),
    )
    models, weights = store.models, recipe.blend[place]
    if len(COMPLEMENTARY.candidates(models.of(COMPLEMENTARY), context).items):
        weights = recipe.blend_with_complements.get(place, weights)
    lists = [BY_NAME[one].candidates(models.by_engine[one], context) for one in weights]
    blended = fuse_candidates(weights, lists).items
    return [item for item in blended.tolist() if item not in basket][: max(SHOWN)]


def titled(cut: str, end: str = "2100-01-01") -> tuple[Store, Asked]:
    """Return Online Retail with its titles' last words for categories."""
    test = trial(online_retail(), cut, end)
    words = [(title.split() or [""])[-1] for title in online_retail_titles()]
    names, places = np.unique(words, return_inverse=True)
    kinds = np.where(names[places] == "", -1, places).astype(np.int32)
    orders, items, times = test.orders.lines_of(test.learned)
    store = learned((orders, items, age_days(times, test.now_ms)), kinds)
    pages = [
        Question([anchor], set(order.tolist()) - {anchor}, number)
        for number, order in enumerate(test.asked)
        for anchor in order.tolist()
    ]
    until = int(np.datetime64(end, "ms").astype(np.int64))
    hidden = questions(test, test.now_ms, until, LARGEST_ASKED)
    carts = [Question(one.given.tolist(), {one.hidden}, n) for n, one in enumerate(hidden)]
    return store, {"pages": pages, "carts": carts}


class Town:
    """Who buys in the invented shop, by chance, the same for one seed."""

    def __init__(self, seed: int) -> None:
        """Found it: which kinds go with which."""
        self.rng = np.random.default_rng(seed)
        others = [np.delete(np.arange(_KINDS), kind) for kind in range(_KINDS)]
        self.partners = [self.rng.choice(one, _PARTNERS, replace=False) for one in others]
        fame = 1.0 / np.arange(1, _EACH + 1)
        self.fame = fame / fame.sum()

    def one_of(self, kind: int) -> int:
        """Return a product of a kind, the famous ones more often."""
        return int(kind * _EACH + self.rng.choice(_EACH, p=self.fame))

    def order(self) -> list[int]:
        """Return what somebody buys."""
        kind = int(self.rng.integers(_KINDS))
        content = [self.one_of(kind)]
        content += self._partners_of(kind, 0.5)
        if self.rng.random() < (_TWICE if kind % 3 == 0 else _BOTH):
            content.append(self.one_of(kind))
        strays = self.rng.integers(_KINDS, size=self.rng.integers(3))
        return list(dict.fromkeys(content + [self.one_of(one) for one in strays.tolist()]))

    def visit(self) -> list[int]:
        """Return what somebody looks at."""
        kind = int(self.rng.integers(_KINDS))
        seen = [self.one_of(kind) for _ in range(int(self.rng.integers(2, 6)))]
        return list(dict.fromkeys(seen + self._partners_of(kind, 0.4)))

    def _partners_of(self, kind: int, chance: float) -> list[int]:
        partners = self.partners[kind].tolist()
        return [self.one_of(one) for one in partners if self.rng.random() < chance]


def invented(seed: int) -> tuple[Store, Asked]:
    """Return the invented shop, and what its later orders and visits ask."""
    town, until = Town(seed), int(_MADE * _LEARNED)
    orders = [town.order() for _ in range(_MADE)]
    visits = [town.visit() for _ in range(_MADE)]
    codes, items = _columns(orders[:until])
    sessions, seen = _columns(visits[:until])
    kinds = np.repeat(np.arange(_KINDS, dtype=np.int32), _EACH)
    ages, times = np.zeros(len(items)), np.arange(len(seen), dtype=np.int64)
    store = learned((codes, items, ages), kinds, (sessions, seen, times))
    later = [(number, one) for number, one in enumerate(orders[until:]) if len(one) > 1]
    return (
        store,
        {
            "pages": [
                Question([item], set(one) - {item}, number)
                for number, one in later
                for item in one
            ],
            "carts": [
                Question(one[:-1], {one[-1]}, number)
                for number, one in later
                if len(one) > 2
            ],
            "visits": [
                Question(one[:step], {one[step]}, number)
                for number, one in enumerate(visits[until:])
                for step in range(1, len(one))
            ],
        },
    )


class Outcome(NamedTuple):
    """How one recipe did: hits by length of the list, and how much was of the own kind."""

    hits: dict[int, Floats]
    own_kind: float


def ask(store: Store, recipe: Recipe, task: str, asked: Sequence[Question]) -> Outcome:
    """Return which questions the lists answered."""
    known: dict[tuple[int, ...], list[int]] = {}
    hits = {length: np.zeros(len(asked)) for length in SHOWN}
    same: list[bool] = []
    for number, question in enumerate(asked):
        key = tuple(question.given)
        if key not in known:
            known[key] = listed(store, recipe, _PLACES[task], question.given)
        for length in SHOWN:
            hits[length][number] = not question.answers.isdisjoint(known[key][:length])
        own = store.kinds[question.given[-1]]
        same += [bool(store.kinds[item] == own) for item in known[key][:4]]
    return Outcome(hits, float(np.mean(same)))


def measure(report: Report) -> None:
    """Add hits of `mix` on product pages, in carts and visits, beside `mix` without it."""
    stores = {f"Online Retail's words from {CUT}": titled(CUT), "invented": invented(11)}
    for name, (store, tasks) in stores.items():
        for task, asked in tasks.items():
            mine, before = (ask(store, recipe, task, asked) for recipe in (MIX, BEFORE))
            groups = np.array([question.group for question in asked])
            for length in SHOWN:
                report.add(_figure(f"{name}, {task}", length, mine, before, groups))


def _figure(
    title: str, length: int, mine: Outcome, before: Outcome, groups: Ints
) -> Figure:
    value, floor = (float(one.hits[length].mean()) for one in (mine, before))
    gain = difference(mine.hits[length], before.hits[length], groups)
    kinds = f"of the page's own kind {mine.own_kind:.1%}, before {before.own_kind:.1%}"
    return Figure(
        f"what completes, {title}, hit@{length}",
        value,
        "share",
        floor,
        value / floor,
        f">= {LEAST} x without it",
        value >= LEAST * floor,
        f"{len(groups)} questions; {gain}; {kinds}",
    )


def _columns(groups: Sequence[Sequence[int]]) -> tuple[Ints, Items]:
    codes = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    return codes, np.array([item for one in groups for item in one], np.int32)
