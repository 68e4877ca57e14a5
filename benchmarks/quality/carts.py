"""Carts as served: does `mix` show the hidden item of a later basket among its first ten?

Data and questions: Online Retail, as in `basket_completion`, of baskets of 3 to 50. The
lists come from `recommend`, the function behind `GET /v1/recommendations`, in a store whose
catalog has the items' titles. The store has no visits and, as Online Retail has none, no
categories; and once more with its titles' last words for categories (BAG, HOLDER, CANDLE).
Then the further orders of `shop_kinds`, in stores without titles and categories.
`mix`, the default source, may not find less than `buy` or than cosine, each alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.quality.basket_completion import LARGEST, ask, floors, questions
from benchmarks.quality.bought_together import CUT, LARGEST_ASKED, trial
from benchmarks.quality.datasets import age_days, online_retail, online_retail_titles
from benchmarks.quality.shop_kinds import MOST, further_trials
from benchmarks.quality.statistics import difference
from benchmarks.quality.variants import variant_groups_of
from benchmarks.report import Figure
from productrecs.core.ids import StoreId
from productrecs.engines.complementary import (
    BoughtTogetherPairs,
    ComplementAndCopurchaseModel,
    ComplementModel,
    fit_complements,
)
from productrecs.engines.copurchase import fit_copurchase
from productrecs.engines.registry import BUY, COMPLEMENTARY, TRENDING
from productrecs.engines.trending_and_category import TrendingModel
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import TrainedModels, empty_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.quality.basket_completion import Lists
    from benchmarks.quality.bought_together import Trial
    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats

SHOWN: Final = 10
_STORE: Final = StoreId("st_carts")


class _Rows:
    """A database of one catalog: the titles, and the category of each."""

    def __init__(self, titles: Sequence[str], categories: Sequence[str]) -> None:
        self._items = [
            (
                *(number, str(number), True, 1, title, None, None, 10.0, None, None),
                *(json.dumps([name] if name else []), None, None, 1),
                *(None, "[]", "[]", "[]", "[]", None, "[]"),  # attributes and prices
            )
            for number, (title, name) in enumerate(zip(titles, categories, strict=True))
        ]

    def all(self, _sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        after = parameters[1]
        return [row for row in self._items if isinstance(after, int) and row[0] > after]

    def close(self) -> None:
        """Hold nothing."""


def shop_of(
    test: Trial, titles: Sequence[str], *, has_categories: bool = False
) -> StoreState:
    """Return a store that learned from a trial's earlier orders."""
    words = [(title.split() or [""])[-1] if has_categories else "" for title in titles]
    catalog = CatalogView(_STORE, ZoneInfo("UTC"), lambda _: b"{")
    catalog.refresh(_Rows(titles, words), 1)
    return StoreState(catalog, _models_of(test, titles, words), StoreSettings())


def served(shop: StoreState, source: Source, now_ms: int) -> Lists:
    """Return the lists that a store answers carts with."""

    def lists(given: Any) -> Any:
        basket = tuple(str(item) for item in given.tolist())
        request = RecommendationRequest(source, SHOWN, basket=basket)
        picks = recommend(shop, request, [], now_ms)
        return np.array([pick.item for pick in picks], np.int32)

    return lists


def _models_of(test: Trial, titles: Sequence[str], words: Sequence[str]) -> TrainedModels:
    orders, items, times = test.orders.lines_of(test.learned)
    n_items, ages = test.orders.n_items, age_days(times, test.now_ms)
    learned = fit_copurchase(
        orders, items, ages.astype(np.float32), n_items, variants=variant_groups_of(titles)
    )
    names, places = np.unique(words, return_inverse=True)
    kinds = np.where(names[places] == "", -1, places).astype(np.int32)
    complements = ComplementModel.empty()
    sold = np.bincount(items, minlength=n_items)
    if (kinds >= 0).any():
        wide = learned.widest
        pairs = BoughtTogetherPairs(wide.offsets, wide.companions, wide.support)
        groups = variant_groups_of(titles).groups
        complements = fit_complements(pairs, kinds, groups, sold)
    trending = np.argsort(-sold, kind="stable").astype(np.int32)
    return (
        empty_models()
        .replacing(BUY, learned)
        .replacing(COMPLEMENTARY, ComplementAndCopurchaseModel(complements, learned))
        .replacing(TRENDING, TrendingModel.from_ranking(trending))
    )


def measure(report: Report) -> None:
    """Add HR@10 and MRR@10 of `mix` beside `buy` and beside cosine, in every store.

    Raises:
        MissingDataError: when there are no further orders.
    """
    test, titles = trial(online_retail(), CUT), online_retail_titles()
    for name, has_categories in (("no categories", False), ("last words", True)):
        shop = shop_of(test, titles, has_categories=has_categories)
        _add_shop(report, f"carts as served, {name}", test, shop)
    for name, test in further_trials():
        shop = shop_of(test, [""] * test.orders.n_items)
        _add_shop(report, f"carts as served, {name}", test, shop)


def _add_shop(report: Report, title: str, test: Trial, shop: StoreState) -> None:
    """Add one store's figures; of its newer baskets at most 3,000 are asked."""
    asked = questions(test, test.now_ms, largest=LARGEST_ASKED)
    asked = asked[:: -(-len(asked) // MOST)]
    cosine = ask(asked, floors(test, LARGEST)["cosine"])
    mix, buy = (
        ask(asked, served(shop, source, test.now_ms)) for source in (Source.MIX, Source.BUY)
    )
    for floor, of_floor in (("buy", buy), ("cosine", cosine)):
        _add(report, title, mix, (floor, *of_floor))


def _add(
    report: Report,
    title: str,
    mine: tuple[Floats, Floats],
    floor: tuple[str, Floats, Floats],
) -> None:
    name, *of_floor = floor
    for metric, ours, theirs in zip(("HR@10", "MRR@10"), mine, of_floor, strict=True):
        value, least = float(ours.mean()), float(theirs.mean())
        gain = difference(ours, theirs, np.arange(len(ours)))
        report.add(
            Figure(
                f"{title}, mix beside {name}, {metric}",
                value,
                "share",
                least,
                value / least,
                "not below: interval reaches 0",
                gain.high >= 0,
                f"{len(ours)} baskets; difference {gain}",
            )
        )
