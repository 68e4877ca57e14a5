"""Diversity: variants and one category leave room for others, if there are any."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.features.recommendations.earnings.earnings_replay import (
    WEIGHTS,
    earnings_replay_report,
    replay_earning_weights_and_store_result,
)
from productrecs.features.recommendations.earnings.repository import (
    EarningsRepository,
    index_computed_at,
    read_earning_index,
)
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.reranking import (
    MAX_MOVES,
    RELEVANCE_LOSS,
    compute_earning_index,
    rank_by_earnings,
)
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import NOW, CatalogRows, small_shop
from tests.features.reports.shop import ReportedStore
from tests.support.stores import new_store


def listed(names: dict[str, str], num: int, source: Source = Source.MIX) -> list[str]:
    """Return the list on the page of the first, all others bought with it, in order."""
    rows = CatalogRows()
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


def test_the_buy_source_does_not_diversify_variants() -> None:
    assert listed(SHIRTS, 3, Source.BUY) == ["shirt red", "shirt blue", "shirt green"]


def test_scores_fall_whoever_waited() -> None:
    rows = CatalogRows()
    for title in SHIRTS:
        rows.add(title, ["all"])
    shop = small_shop(rows, [[0, one] for one in range(1, 6)], [], [])

    picks = recommend(shop, RecommendationRequest(Source.MIX, 5, item_id="belt"), [], NOW)

    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)


def filled(names: dict[str, str], num: int, source: Source = Source.MIX) -> list[str]:
    """Return the list for an unknown shopper, where items listed earlier trend more."""
    rows = CatalogRows()
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
    rows = CatalogRows()
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
    rows = CatalogRows()
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


NOON = 1_772_366_400_000  # 2026-03-01 12:00 UTC
UNKNOWN = float("nan")


def picks(*scores: float) -> list[Pick]:
    """Return picks of the items 0, 1, ... with these scores."""
    return [Pick(item, EngineName.BROWSE, score) for item, score in enumerate(scores)]


def items(found: list[Pick]) -> list[int]:
    return [pick.item for pick in found]


def test_the_index_compares_margins_with_the_stores_median() -> None:
    prices = np.array([20.0, 40.0, 80.0, 12.5, UNKNOWN, 50.0, 10.0])
    costs = np.array([10.0, 20.0, 0.0, 10.0, 5.0, UNKNOWN, 12.0])

    index = compute_earning_index(prices, costs, (), ())

    # Margins of 10, 20, 80 and 2.50: the median of those above 0 is 15.
    assert index == pytest.approx([-0.292, 0.208, 1.0, -1.0, 0.0, 0.0, -1.0], abs=0.001)


def test_what_runs_out_steps_back_and_overstock_forward() -> None:
    prices = np.full(4, 20.0)
    costs = np.array([10.0, 10.0, 10.0, UNKNOWN])

    assert compute_earning_index(prices, costs, [1], [2, 3]).tolist() == [
        0.0,
        -1.0,
        0.5,
        0.5,
    ]


def test_without_costs_and_alerts_every_index_is_0() -> None:
    assert not compute_earning_index(
        np.array([5.0, 9.0]), np.full(2, UNKNOWN), (), ()
    ).any()


@pytest.mark.parametrize(
    ("weight", "index", "order"),
    [
        (0.0, [-1.0, 1.0, 0.0], [0, 1, 2]),  # relevance only
        (1.0, [-1.0, 1.0, 0.0], [1, 0, 2]),  # similar relevance: what earns more first
        (1.0, [-1.0, -1.0, 1.0], [0, 1, 2]),  # the third has half of their relevance
        (1.0, [0.0, 0.0, 0.0], [0, 1, 2]),
        (1.0, [-1.0], [1, 0, 2]),  # the index does not know the others: they count as 0
    ],
)
def test_earnings_decide_among_products_of_similar_relevance(
    weight: float, index: list[float], order: list[int]
) -> None:
    found = rank_by_earnings(picks(1.0, 0.9, 0.45), np.array(index), weight)

    assert items(found) == order
    assert [pick.score for pick in found] == [1.0, 0.9, 0.45]


def test_the_first_places_may_be_fixed() -> None:
    found = rank_by_earnings(picks(1.0, 0.99, 0.98), np.array([-1.0, -1.0, 1.0]), 1.0, 1)

    assert items(found) == [0, 2, 1]


@given(
    scores=st.lists(st.floats(0.001, 1.0), max_size=30),
    index=st.lists(st.floats(-1.0, 1.0), max_size=30),
    weight=st.floats(0.0, 1.0),
)
def test_the_loss_of_relevance_is_bounded(
    scores: list[float], index: list[float], weight: float
) -> None:
    ranked = sorted(scores, reverse=True)

    found = rank_by_earnings(picks(*ranked), np.array(index), weight)

    assert sorted(items(found)) == list(range(len(ranked)))
    assert [pick.score for pick in found] == ranked
    places = {item: place for place, item in enumerate(items(found))}
    reach = np.ceil(MAX_MOVES * weight)
    for item, place in places.items():
        assert abs(place - item) <= reach
        passed = [one for one in range(item) if places[one] > place]
        assert all(
            ranked[item] >= (1 - RELEVANCE_LOSS * weight) * ranked[one] for one in passed
        )


def test_a_list_follows_the_setting_and_shows_as_many_products() -> None:
    rows = CatalogRows([])
    for name in ("page", "rope", "tent", "mug", "pot", "lamp", "cup", "jug"):
        rows.add(name)
    baskets = [(0, item) for item in range(1, 8) for _ in range(12 - item)]
    shop = small_shop(rows, baskets, [], range(8), StoreSettings(earnings_weight=1.0))
    request = RecommendationRequest(Source.MIX, 4, "page")
    plain = items(recommend(shop, request, [], NOW))
    shop.earnings = np.array([0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])

    earning = recommend(shop, request, [], NOW)

    assert items(earning) != plain
    assert items(earning)[0] == 3
    assert len(items(earning)) == len(plain) == 4
    scores = [pick.score for pick in earning]
    assert scores == sorted(scores, reverse=True)
    shop.settings = StoreSettings(earnings_weight=0.0)
    assert items(recommend(shop, request, [], NOW)) == plain


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> ReportedStore:
    """Return a store that sells three products with a lamp; the tent earns most."""
    shop = ReportedStore(database, tmp_path)
    patches = [
        ItemPatch("rope", {"price": 10.0, "cost": 9.0}),
        ItemPatch("tent", {"price": 100.0, "cost": 40.0}),
        ItemPatch("mug", {"price": 5.0}),
        ItemPatch("lamp", {"price": 20.0, "cost": 10.0}),
    ]
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, shop.store.store_id)
        upsert_items(log, patches, 10, NOON)
    rows = [
        f"o{n},{item},{'2025-01-01' if n < 200 else '2025-02-01'}"
        for n in range(400)
        for item in ("lamp", *(("rope", "tent") if n % 3 else ("mug",)))
    ]
    shop.history("order_id,item_id,timestamp\n" + "\n".join(rows) + "\n")
    return shop


def test_the_index_survives_the_database(shop: ReportedStore) -> None:
    store_id = shop.store.store_id
    with shop.database.transaction() as transaction:
        repository = EarningsRepository(transaction, store_id)
        found = repository.prices_and_costs()
        assert repository.index_computed_at() == 0
        index = compute_earning_index(found.prices, found.costs, (), ())
        repository.store_index(index, NOON)
        repository.store_index(index, NOON + 1)
    reader = shop.database.raw_reader()
    read, at = read_earning_index(reader, store_id), index_computed_at(reader, store_id)
    reader.close()

    assert at == NOON + 1
    assert read == pytest.approx(index, abs=1e-6)
    tent, rope, mug = (read[found.numbers_by_id[name]] for name in ("tent", "rope", "mug"))
    assert (tent, mug) == (1.0, 0.0)
    assert rope < 0


def test_a_replay_shows_margin_against_relevance(shop: ReportedStore) -> None:
    store, database = shop.store, shop.database
    assert earnings_replay_report(database, store, max_rows=20).notes == (
        "The store's past was not replayed yet.",
    )

    replay_earning_weights_and_store_result(database, store, NOON)

    made = earnings_replay_report(database, store, max_rows=20)
    names = [column.name for column in made.columns]
    rows = [dict(zip(names, row, strict=True)) for row in made.rows]
    assert [row["weight"] for row in rows] == list(WEIGHTS)
    assert rows[0]["found_change"] == rows[0]["found_low"] == 0
    assert all(row["revenue"] > row["margin"] > 0 for row in rows)  # type: ignore[operator]  # numbers


def test_a_replay_without_costs_says_what_is_missing(database: Database) -> None:
    store = new_store(database)

    replay_earning_weights_and_store_result(database, store, NOON)

    made = earnings_replay_report(database, store, max_rows=20)
    assert made.rows == ()
    assert made.notes == ("No product has a cost: send `cost` with your products.",)
