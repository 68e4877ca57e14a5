"""Recommendation cache: entries are dropped, revalidated or recomputed when due."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import pytest

from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.serving.list_cache import (
    MAX_AGE_SECONDS,
    MAX_STALE_SECONDS,
    MIN_AGE_SECONDS,
    REFRESH_WITHIN_SECONDS,
    CachedListInputs,
    ListCache,
    ListFingerprintSource,
    NoFingerprintSource,
)
from tests.features.recommendations.small_shop import NOW, CatalogRows, small_shop

LIST = [Pick(1, EngineName.BUY, 0.5)]
SETTINGS, OTHER_SETTINGS = object(), object()


def moment(
    *shown: int, models: str = "first", settings: object = SETTINGS
) -> CachedListInputs:
    return CachedListInputs(np.array(shown or (1, 1, 1), dtype=bool), models, settings)


def cache_with_list(
    first: CachedListInputs, request: object = "a", now: float = 100.0
) -> ListCache:
    cache = ListCache()
    assert cache.get(first, request, now, written("never"), UNTOLD) is None
    cache.put(request, LIST, b"old", now, UNTOLD)
    return cache


@dataclass
class Rests:
    """What a list rests on: marks that a test chose."""

    of_its_own: int | None
    backfill: int | None = None

    def of_list(self) -> int | None:
        """Return the one."""
        return self.of_its_own

    def of_backfill(self, engines: Set[EngineName]) -> int | None:
        """Return the other."""
        assert engines <= {EngineName.CATEGORY}
        return self.backfill


UNTOLD = NoFingerprintSource()


def written(text: str):  # type: ignore[no-untyped-def]
    def write(picks: Sequence[Pick]) -> bytes:
        assert picks == LIST
        return text.encode()

    return write


def test_the_same_moment_gives_the_same_bytes() -> None:
    now = moment()
    cache = cache_with_list(now)

    assert cache.get(now, "a", 10_000.0, written("new"), UNTOLD) == b"old"
    assert cache.get(now, "b", 10_000.0, written("new"), UNTOLD) is None


def test_a_changed_price_is_written_at_once() -> None:
    cache = cache_with_list(moment())
    cache.put("a", LIST, b"old", 100.0, Rests(7))

    assert cache.get(moment(), "a", 100.0, written("new price"), Rests(7)) == b"new price"


@pytest.mark.parametrize("after", [moment(1, 0), moment(1)])
def test_a_product_that_went_counts_at_once(after: CachedListInputs) -> None:
    """Lists that are made anew rest, but not where a product of theirs is gone."""
    cache = cache_with_list(moment())
    for other in range(8_192):
        cache.put(other, LIST, b"old", 100.0, Rests(7))

    assert cache.get(after, "a", 100.0, written("never"), UNTOLD) is None


def test_lists_without_the_product_that_went_stay() -> None:
    before, after = moment(1, 1, 1), moment(1, 1, 0)
    cache = cache_with_list(before)
    cache.put("a", LIST, b"old", 100.0, Rests(7))

    assert cache.get(after, "a", 130.0, written("again"), Rests(7)) == b"again"


@pytest.mark.parametrize(
    "after", [moment(1, 1, 1), moment(1, 1, 0, 1), moment(1, 1, 0, settings=OTHER_SETTINGS)]
)
def test_a_product_that_comes_and_other_settings_count_at_once(
    after: CachedListInputs,
) -> None:
    cache = cache_with_list(moment(1, 1, 0))

    assert cache.get(after, "a", 100.0, written("never"), UNTOLD) is None
    assert cache.size == 0


def test_new_models_reach_every_list_in_use_within_the_lag_but_not_all_at_once() -> None:
    cache, first, second = ListCache(), moment(), moment(models="second")
    for request in range(8_192):
        cache.get(first, request, 100.0, written("never"), UNTOLD)
        cache.put(request, LIST, b"old", 100.0, UNTOLD)

    made = [0]
    for step in range(round(REFRESH_WITHIN_SECONDS * 10) + 1):
        now = 120.0 + step / 10
        made.append(
            sum(
                not is_served_from_cache(cache, second, request, now)
                for request in range(8_192)
            )
        )

    assert max(made[1:-1]) <= 60  # of some ten at once and five hundred a second
    assert sum(made) == 8_192  # what was left when the time was over is made, too


def is_served_from_cache(
    cache: ListCache, at: CachedListInputs, request: object, now: float
) -> bool:
    """Ask for a list as everybody does, made anew if need be; tell whether it was kept."""
    if cache.get(at, request, now, written("old"), UNTOLD) is not None:
        return True
    cache.put(request, LIST, b"new", now, UNTOLD)
    return False


def test_where_very_many_are_kept_a_list_rests_that_was_just_made() -> None:
    cache, first = ListCache(), moment()
    second = first._replace(models="second")
    for request in range(8_192):
        cache.get(first, request, 100.0, written("never"), UNTOLD)
        cache.put(request, LIST, b"old", 100.0, Rests(7))

    just_made = 99.9 + MIN_AGE_SECONDS
    assert cache.get(second, 1, just_made, written("never"), Rests(8)) == b"old"
    assert cache.get(second, 1, 100.0 + MIN_AGE_SECONDS, written("never"), Rests(8)) is None


def test_lists_that_are_new_to_the_cache_delay_others() -> None:
    cache, second = (
        cache_with_list(moment(), request="page", now=100.0),
        moment(models="second"),
    )
    for new in range(1_000):
        assert cache.get(second, new, 101.0, written("never"), UNTOLD) is None

    assert is_served_from_cache(cache, second, "page", 101.2)
    assert not is_served_from_cache(cache, second, "page", 102.0)


def test_where_few_lists_are_kept_new_models_reach_them_all_in_a_moment() -> None:
    cache, second = (
        cache_with_list(moment(), request="page", now=100.0),
        moment(models="second"),
    )

    assert cache.get(second, "page", 100.01, written("new"), UNTOLD) is None


def test_a_list_without_recent_requests_is_recomputed_at_once() -> None:
    cache = cache_with_list(moment(), now=100.0)

    assert cache.get(moment(models="second"), "a", 200.0, written("new"), UNTOLD) is None


def test_a_list_that_may_be_a_minute_behind_waits_for_no_other() -> None:
    first, second = moment(), moment(models="second")
    cache = cache_with_list(first, request="page", now=100.0)
    assert cache.get(first, "page", 500.0, written("never"), UNTOLD) == b"old"
    for new in range(1_000):
        cache.get(second, new, 544.0, written("never"), UNTOLD)

    assert is_served_from_cache(cache, second, "page", 544.0)
    assert not is_served_from_cache(cache, second, "page", 500.0 + MAX_STALE_SECONDS)


def test_a_list_whose_mark_stays_outlives_new_models_for_minutes() -> None:
    cache, first = ListCache(), moment()
    second, third = first._replace(models="second"), first._replace(models="third")
    cache.get(first, "a", 100.0, written("never"), UNTOLD)
    cache.put("a", LIST, b"old", 100.0, Rests(7))

    assert cache.get(second, "a", 300.0, written("never"), Rests(7)) == b"old"
    assert cache.get(third, "a", 399.0, written("never"), Rests(7)) == b"old"
    late = 100.0 + MAX_AGE_SECONDS
    assert cache.get(first, "a", late, written("never"), Rests(7)) is None


FILLED = [*LIST, Pick(2, EngineName.CATEGORY, 0.1)]


def filled() -> ListCache:
    cache = cache_with_list(moment())
    cache.put("a", FILLED, b"old", 100.0, Rests(7, 1))
    return cache


def kept_on(cache: ListCache, now: float, filling: int | None) -> bool:
    """Tell whether the list is kept when a new model comes at `now`."""
    rests_on = Rests(7, filling)
    models = moment(models=str(now))
    return cache.get(models, "a", now, lambda _: b"written", rests_on) is not None


def test_what_fills_a_list_up_counts_within_a_minute() -> None:
    cache = filled()

    assert kept_on(cache, 119.0, filling=2)
    assert not kept_on(cache, 141.0, filling=2)


def test_a_list_stays_for_minutes_while_what_fills_it_up_does() -> None:
    cache = filled()

    assert all(kept_on(cache, 100.0 + 41 * turn, filling=1) for turn in range(1, 7))
    assert not kept_on(cache, 100.0 + 41 * 7, filling=2)


def test_a_list_with_unfingerprinted_backfill_is_recomputed_within_a_minute() -> None:
    cache = cache_with_list(moment())
    cache.put("a", FILLED, b"old", 100.0, Rests(7))

    assert kept_on(cache, 119.0, filling=None)
    assert not kept_on(cache, 141.0, filling=None)


def test_the_backfill_of_other_lists_is_not_fingerprinted() -> None:
    cache = cache_with_list(moment())
    cache.put("a", LIST, b"old", 100.0, Rests(7, 1))

    assert kept_on(cache, 141.0, filling=2)


def test_a_list_whose_mark_is_another_is_made_anew_within_the_lag() -> None:
    cache, second = ListCache(), moment(models="second")
    cache.get(moment(), "a", 100.0, written("never"), UNTOLD)
    cache.put("a", LIST, b"old", 100.0, Rests(7))

    assert (
        cache.get(second, "a", 100.0 + REFRESH_WITHIN_SECONDS, written("new"), Rests(8))
        is None
    )


def test_a_list_stays_when_its_body_had_to_leave() -> None:
    cache, now = ListCache(limit_bytes=4_000), moment()
    for request in "abc":
        cache.get(now, request, 0.0, written("never"), UNTOLD)
        cache.put(request, LIST, b"x" * 600, 0.0, UNTOLD)

    assert cache.get(now, "a", 0.0, written("again"), UNTOLD) == b"again"
    assert cache.get(now, "c", 0.0, written("never"), UNTOLD) == b"x" * 600
    assert cache.size <= 4_000


def test_lists_without_products_are_made_anew_too() -> None:
    cache = ListCache()
    cache.get(moment(), "a", 0.0, written("never"), UNTOLD)
    cache.put("a", [], b"empty", 0.0, UNTOLD)

    later = moment(models="second")
    assert cache.get(later, "a", REFRESH_WITHIN_SECONDS, written("never"), UNTOLD) is None


def test_the_least_recently_used_leave_first() -> None:
    cache, now = ListCache(limit_bytes=2_500), moment()
    for request in ("a", "b", "c"):
        cache.get(now, request, 0.0, written("never"), UNTOLD)
        cache.put(request, LIST, b"x" * 200, 0.0, UNTOLD)
    cache.get(now, "a", 0.0, written("never"), UNTOLD)
    cache.put("d", LIST, b"x" * 200, 0.0, UNTOLD)

    remaining = [
        cache.get(now, request, 0.0, written("x"), UNTOLD) is not None for request in "abcd"
    ]

    assert remaining == [True, False, True, True]
    assert cache.size <= 2_500


ITEMS = 60
BASKETS = [[0, 1], [0, 2], [3, 4]]
PAGE = RecommendationRequest(Source.MIX, 6, item_id="item-0")
CART = RecommendationRequest(Source.MIX, 9, basket=("item-0", "item-3"))


def shop_where(trending: Sequence[int]) -> StoreState:
    """Return a shop in which products of three categories trend in this order."""
    rows = CatalogRows()
    for number in range(ITEMS):
        rows.add(f"item-{number}", [("mugs", "pots", "pans")[number % 3], "all"])
    return small_shop(rows, BASKETS, [], trending)


def listed(
    shop: StoreState, request: RecommendationRequest
) -> list[tuple[int, EngineName]]:
    return [(pick.item, pick.engine) for pick in recommend(shop, request, [], NOW)]


def test_while_what_fills_a_list_up_stays_so_does_the_list() -> None:
    rng = np.random.default_rng(8)
    order = list(range(ITEMS))
    stayed = changed = 0
    for _ in range(150):
        rng.shuffle(order)
        later = [*order]
        one, other = sorted(rng.choice(ITEMS, 2, replace=False).tolist())
        later[one], later[other] = later[other], later[one]
        for request in (PAGE, CART):
            before, after = shop_where(order), shop_where(later)
            engines = {engine for _, engine in listed(before, request)}
            fingerprints = [
                ListFingerprintSource(shop, request, NOW).of_backfill(engines)
                for shop in (before, after)
            ]
            if fingerprints[0] == fingerprints[1]:
                stayed += 1
                assert listed(before, request) == listed(after, request)
            else:
                changed += 1

    assert stayed > 50
    assert changed > 50


def test_only_the_backfill_of_this_list_is_fingerprinted() -> None:
    order = list(range(ITEMS))
    # Of another category than the page's, so that it moves what trends alone.
    moved = [*order[3:], *order[:3]]
    before, after = (
        ListFingerprintSource(shop_where(one), PAGE, NOW) for one in (order, moved)
    )

    assert before.of_backfill({EngineName.TRENDING}) != after.of_backfill(
        {EngineName.TRENDING}
    )
    assert before.of_backfill({EngineName.BUY}) == after.of_backfill({EngineName.BUY})


def test_unknown_products_of_a_call_have_no_fingerprint() -> None:
    shop = shop_where(range(ITEMS))
    unknown = RecommendationRequest(Source.MIX, 6, item_id="never pushed")
    nothing = RecommendationRequest(Source.MIX, 6)

    assert ListFingerprintSource(shop, unknown, NOW).of_list() is None
    assert ListFingerprintSource(shop, nothing, NOW).of_list() is None
