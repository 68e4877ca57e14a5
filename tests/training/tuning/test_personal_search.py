"""Personal search's backtest: on where shoppers' clicks follow their past, else off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pytest

from productrecs.engines.personal_search import ItemTraits
from productrecs.records.events.event import EventKind
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.search.click_boost_inputs import SearchInputs
from productrecs.training.training_inputs import Purchases
from productrecs.training.tuning.personal_search import (
    MIN_CASES,
    N_PERIODS,
    PersonalSearchResult,
    SearchReplay,
    tune_personal_search,
)

if TYPE_CHECKING:
    from productrecs.training.search.repository import SearchEventRepository

BRANDS: Final = 4
LAMPS: Final = 12  # items 0 to 11 are found; brand = number modulo 4
CHAIRS: Final = range(100, 100 + BRANDS)
HOUR: Final = 3_600_000
CASES: Final = N_PERIODS * MIN_CASES


def traits_of(item: int) -> ItemTraits:
    return ItemTraits("lamps" if item < LAMPS else "chairs", (item % BRANDS,), (), 0.5)


REPLAY: Final = SearchReplay(
    traits_of, lambda _: (range(LAMPS), [2.0 - n / 100 for n in range(LAMPS)])
)


class SearchLog:
    """The rows that a `SearchEventRepository` would yield."""

    def __init__(self, page: list[tuple[Any, ...]]) -> None:
        self._page = page

    def events(self, _after_seq: int, _up_to_seq: int) -> list[list[tuple[Any, ...]]]:
        """Return one page of events."""
        return [self._page]


def history(
    count: int, *, loyal: bool, views_come: int = -1
) -> tuple[SearchInputs, Behaviour]:
    """Return searches of shoppers who viewed two chairs of one brand before.

    The loyal click a lamp of that brand; the others any. `views_come` 1: after the click.
    """
    rng = np.random.default_rng(3)
    visitors = np.arange(1, count + 1)
    brands = rng.integers(BRANDS, size=count)
    clicked = rng.integers(LAMPS // BRANDS, size=count) * BRANDS
    clicked += brands if loyal else rng.integers(BRANDS, size=count)
    times = visitors * HOUR
    searches = SearchInputs()
    page = [
        (n, int(times[n]), EventKind.SEARCH_CLICK, int(clicked[n]), "lamp", None, f"s{n}")
        for n in range(count)
    ]
    searches.read_on(cast("SearchEventRepository", SearchLog(page)), 0, count)
    codes = searches.searches.sessions
    views = Behaviour(
        times=np.repeat(times + views_come * 60_000, 2),
        kinds=np.full(2 * count, EventKind.DETAIL_PAGE_VIEW, np.int8),
        items=np.repeat(100 + brands, 2).astype(np.int32),
        visitors=np.repeat(codes, 2),
    )
    return searches, views


def tuned(searches: SearchInputs, views: Behaviour) -> PersonalSearchResult | None:
    return tune_personal_search(searches, (views, Purchases()), REPLAY, lambda: None)


def test_loyal_shoppers_make_search_personal_and_the_figures_say_by_how_much() -> None:
    found = tuned(*history(CASES, loyal=True))

    assert found is not None
    assert found.options.weight > 0
    assert found.options.brand > 0
    assert found.cases == MIN_CASES
    assert found.after > 1.3 * found.before


@pytest.mark.parametrize(
    ("loyal", "views_come"),
    [
        pytest.param(False, -1, id="clicks do not follow the past"),
        pytest.param(True, 1, id="the past came later"),
    ],
)
def test_without_a_gain_search_stays_the_same_for_everybody(
    *, loyal: bool, views_come: int
) -> None:
    searches, views = history(3 * CASES, loyal=loyal, views_come=views_come)
    if views_come > 0:  # an unrelated past, so that there is a profile
        past = replace(
            views, times=views.times - 2 * HOUR, items=np.full_like(views.items, 100)
        )
        views = Behaviour(
            *(
                np.concatenate((getattr(past, name), getattr(views, name)))
                for name in Behaviour.__dataclass_fields__
            )
        )

    found = tuned(searches, views)

    assert found is not None
    assert found.options.weight == 0


def test_too_few_searches_say_nothing() -> None:
    assert tuned(*history(CASES - 1, loyal=True)) is None
