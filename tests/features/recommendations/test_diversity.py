"""Diversity: variants and one category leave room for others, if there are any."""

from __future__ import annotations

import pytest

from productrecs.features.recommendations.list_request_and_picks import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.recommend import recommend
from tests.features.recommendations.small_shop import NOW, Rows, small_shop


def listed(names: dict[str, str], num: int, source: Source = Source.MIX) -> list[str]:
    """Return the list on the page of the first, all others bought with it, in order."""
    rows = Rows()
    for title, category in names.items():
        rows.add(title, [category, "all"])
    others = range(1, len(names))
    # The earlier stands with the first more often.
    baskets = [[0, one] for one in others for _ in range(2 * (len(names) - one))]
    rows.add("what most people buy", ["all"])
    shop = small_shop(rows, [*baskets, *[[len(names)]] * 400], [], [])
    request = RecommendationRequest(source, num, item_id=next(iter(names)))
    titles = list(names)
    return [titles[pick.item] for pick in recommend(shop, request, [], NOW)]


SHIRTS = {
    "belt": "belts",
    "shirt red": "shirts",
    "shirt blue": "shirts",
    "shirt green": "shirts",
    "scarf": "scarves",
    "hat": "hats",
}


def test_one_of_a_products_variants_goes_first_and_the_others_wait() -> None:
    short, long = listed(SHIRTS, 3), listed(SHIRTS, 5)

    assert short[0] == "shirt red"
    assert set(short) == {"shirt red", "scarf", "hat"}
    assert long == [*short, "shirt blue", "shirt green"]


def test_the_pages_own_variants_wait_too() -> None:
    own = {"shirt black": "shirts", **SHIRTS}

    assert set(listed(own, 3)) == {"belt", "scarf", "hat"}


def test_one_category_does_not_fill_a_list() -> None:
    mugs = {"kettle": "kettles", **{f"mug {n}": "mugs" for n in range(6)}, "pot": "pots"}

    assert set(listed(mugs, 4)) == {"mug 0", "mug 1", "mug 2", "pot"}
    assert set(listed(mugs, 7)) == {*mugs} - {"kettle"}  # there is nothing else


def test_what_was_bought_together_is_told_as_it_was_bought() -> None:
    assert listed(SHIRTS, 3, Source.BUY) == ["shirt red", "shirt blue", "shirt green"]


def test_scores_fall_whoever_waited() -> None:
    rows = Rows()
    for title in SHIRTS:
        rows.add(title, ["all"])
    shop = small_shop(rows, [[0, one] for one in range(1, 6)], [], [])

    picks = recommend(shop, RecommendationRequest(Source.MIX, 5, item_id="belt"), [], NOW)

    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)


def filled(names: dict[str, str], num: int, source: Source = Source.MIX) -> list[str]:
    """Return the list for nobody of whom anything is known, where the earlier trends."""
    rows = Rows()
    for title, category in names.items():
        rows.add(title, [category, "all"])
    shop = small_shop(rows, [], [], range(len(names)))
    picks = recommend(shop, RecommendationRequest(source, num), [], NOW)
    return [list(names)[pick.item] for pick in picks]


@pytest.mark.parametrize("source", [Source.MIX, Source.BROWSE])
def test_what_trends_fills_no_list_with_one_category(source: Source) -> None:
    season = {f"scarf {n}": "scarves" for n in range(6)}
    others = {"hat": "hats", "belt": "belts", "sock": "socks"}

    shown = filled({**season, **others}, 5, source)

    assert shown == ["scarf 0", "scarf 1", "hat", "belt", "sock"]
    assert filled(season, 5, source) == list(season)[:5]  # there is nothing else


def test_what_trends_fills_no_list_with_variants() -> None:
    sizes = {f"shirt {size}": f"of size {size}" for size in ("s", "m", "l", "xl")}
    others = {"hat": "hats", "belt": "belts"}

    assert filled({**sizes, **others}, 3) == ["shirt s", "hat", "belt"]
    assert filled({**sizes, **others}, 6) == ["shirt s", "hat", "belt", *list(sizes)[1:]]


def test_a_category_fills_no_list_with_the_pages_own_variants() -> None:
    rows = Rows()
    for title in ("shirt red", "shirt blue", "shirt green", "blouse", "top"):
        rows.add(title, ["tops"])
    shop = small_shop(rows, [], [], range(5))
    request = RecommendationRequest(Source.MIX, 4, item_id="shirt red")

    picks = recommend(shop, request, [], NOW)

    assert [pick.item for pick in picks] == [3, 4, 1, 2]
    assert [pick.engine for pick in picks] == ["category"] * 2 + ["trending"] * 2


CLOCKS = ("clock green", "clock ivory", "clock red", "pot", "lamp", "vase")


COLLECTED = [*[[0, 1]] * 9, *[[0, 3]] * 7, *[[0, 4]] * 5, *[[0, 5]] * 3]


def beside(item: str, baskets: list[list[int]], *, is_cart: bool) -> list[str]:
    """Return three products for a cart or a page of an item, by baskets of `CLOCKS`."""
    rows = Rows()
    for title in (*CLOCKS, "what most people buy"):
        rows.add(title)
    shop = small_shop(rows, [*baskets, *[[len(CLOCKS)]] * 600], [], [])
    about = {"basket": (item,)} if is_cart else {"item_id": item}
    request = RecommendationRequest(Source.MIX, 3)._replace(**about)
    return [CLOCKS[pick.item] for pick in recommend(shop, request, [], NOW)]


def test_beside_a_cart_stand_variants_that_are_bought_together() -> None:
    assert beside("clock green", COLLECTED, is_cart=True) == ["clock ivory", "pot", "lamp"]


def test_beside_a_cart_other_variants_wait() -> None:
    apart = [*[[0, 3]] * 7, *[[0, 4]] * 5, *[[0, 1]] * 1, *[[0, 5]] * 3]

    assert beside("clock green", apart, is_cart=True) == ["pot", "lamp", "vase"]


def test_on_a_page_variants_wait_even_if_they_are_bought_together() -> None:
    assert beside("clock green", COLLECTED, is_cart=False) == ["pot", "lamp", "vase"]


def test_beside_a_cart_variants_of_one_another_wait_unless_bought_together() -> None:
    apart = [*[[0, 3]] * 9, *[[1, 3]] * 8, *[[3, 4]] * 7, *[[3, 5]] * 6]
    together = [*apart, *[[0, 1, 3]] * 9]

    assert set(beside("pot", apart, is_cart=True)) == {"clock green", "lamp", "vase"}
    assert {"clock green", "clock ivory"} < set(beside("pot", together, is_cart=True))
    assert set(beside("pot", together, is_cart=False)) == {"clock green", "lamp", "vase"}
