"""Rules in lists: whatever the rules, a list keeps its guarantees."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.features.recommendations import recommend, reranking, trending
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
    ResolvedPlacement,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.item_filters import NO_FILTERS
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule import (
    ListKind,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.records.merchandising.rules_in_force import ListRuleEffects
from productrecs.records.placements.placement import Strategy
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.features.recommendations.small_shop import (
    NOW,
    CatalogRows,
    obey,
    obey_nothing,
    shopper,
    small_shop,
)

SIZE = 18  # fewer than a list may hold: then a whole catalog can be compared
SOLD_OUT = 17


def trained_state() -> StoreState:
    rows = CatalogRows()
    for number in range(SIZE):
        rows.add(
            f"i{number}",
            categories=[f"c{number % 3}", "all"],
            price=float(number),
            stock=0 if number == SOLD_OUT else None,
        )
    groups = [[n % SIZE, (n * 5 + 1) % SIZE, (n * 3 + 2) % SIZE] for n in range(40)]
    return small_shop(
        rows,
        baskets=[*groups, *groups],
        visits=[[n % SIZE, (n + 1) % SIZE, (n * 7) % SIZE] for n in range(60)],
        trending=[4, 2, 9, 0, 11, 13, 1, 3],
    )


SHOP = trained_state()
ITEMS = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=4, unique=True)
PLACES = st.one_of(
    st.just(RuleListScope()),
    st.builds(RuleListScope, st.tuples(st.sampled_from(list(ListKind)))),
    st.builds(lambda one: RuleListScope((), (one,)), st.sampled_from(list(ListKind))),
)


@st.composite
def contents(draw: st.DrawFn) -> RuleContent:
    action = draw(st.sampled_from(list(RuleAction)))
    return RuleContent(
        action,
        RuleTarget(items=tuple(map(str, draw(ITEMS)))),
        places=draw(PLACES),
        priority=draw(st.integers(-1, 1)),
        strength=draw(st.sampled_from([1.5, 3.0, 50.0]))
        if action in {RuleAction.BOOST, RuleAction.BURY}
        else None,
        position=draw(st.integers(1, 12)) if action is RuleAction.PIN else None,
    )


REQUESTS = st.builds(
    RecommendationRequest,
    filters=st.just(NO_FILTERS),
    source=st.sampled_from(list(Source)),
    num=st.sampled_from([1, 4, 20]),
    item_id=st.sampled_from([None, "i0", "i7"]),
    basket=st.sampled_from([(), ("i3",), ("i1", "i8", "i12")]),
    placement=st.just(""),
    plan=st.none()
    | st.sampled_from([ResolvedPlacement("", strategy) for strategy in Strategy]),
)
HISTORIES = st.one_of(
    st.just(()),
    st.builds(lambda recent, bought: (shopper("anna", recent, bought),), ITEMS, ITEMS),
)


def here(request: RecommendationRequest, histories: Sequence[ShopperHistory]) -> ListKind:
    if request.basket:
        return ListKind.CART
    if request.item_id:
        return ListKind.PRODUCT
    return ListKind.SHOPPER if any(one.recent for one in histories) else ListKind.NO_CONTEXT


class ExpectedRules:
    """What rules mean for one list, written the long way."""

    def __init__(
        self, rules: Sequence[RuleContent], place: ListKind, source: ListKind | None
    ) -> None:
        self.rules = [one for one in rules if one.places.matches(place, source)]
        self.excluded = {
            int(item)
            for one in self.rules
            if one.action is RuleAction.EXCLUDE
            for item in one.target.items
        }

    def places(self, may_show: set[int], num: int) -> dict[int, int]:
        """Return which item belongs at which place, the first being 0."""
        ranked = sorted(
            (one for one in self.rules if one.action is RuleAction.PIN),
            key=lambda one: -one.priority,
        )
        wanted: dict[int, int] = {}
        for rule in ranked:
            for step, item in enumerate(map(int, rule.target.items)):
                if item not in wanted:
                    wanted[item] = (rule.position or 1) - 1 + step
        taken: dict[int, int] = {}
        for item, place in wanted.items():
            if item in may_show:
                free = next(p for p in range(place, 99) if p not in taken)
                taken[free] = item
        return {place: item for place, item in taken.items() if place < num}


def broken_promises(
    picks: Sequence[Pick], may_show: set[int], num: int, said: ExpectedRules
) -> list[str]:
    """Return what is wrong with a list; `may_show` is what no rule was asked about."""
    items = [pick.item for pick in picks]
    scores = [pick.score for pick in picks]
    allowed = may_show - said.excluded
    places = said.places(allowed, num)
    others = len(items) - len(places)
    expected = {
        min(place, others + sum(other < place for other in places)): item
        for place, item in places.items()
    }
    promises = {
        "nothing excluded": not set(items) & said.excluded,
        "nothing that may not be shown": set(items) <= allowed,
        "nothing twice": len(set(items)) == len(items),
        "as many as there are": len(items) == min(num, len(allowed)),
        "scores that fall": scores == sorted(scores, reverse=True),
        "pins at their places": expected.items() <= dict(enumerate(items)).items(),
    }
    return [promise for promise, is_kept in promises.items() if not is_kept]


def check(
    rules: Sequence[RuleContent],
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    settings: StoreSettings,
) -> list[str]:
    SHOP.settings = settings
    obey_nothing(SHOP)
    everything = request._replace(num=20)
    may_show = {p.item for p in recommend.recommend(SHOP, everything, histories, NOW)}
    obey(SHOP, *rules)
    picks = recommend.recommend(SHOP, request, histories, NOW)
    ruled = request.ruled_source
    kind = None if ruled is None else ListKind(ruled)
    said = ExpectedRules(rules, here(request, histories), kind)
    broken = broken_promises(picks, may_show, request.num, said)
    if ruled is Source.BUY and {pick.engine for pick in picks} - {EngineName.BUY}:
        broken.append("no stranger in buy")
    return broken


def check_trending(rules: Sequence[RuleContent], num: int, least: float) -> list[str]:
    SHOP.settings = StoreSettings(trending_min_price=least)
    obey_nothing(SHOP)
    may_show = {pick.item for pick in trending_list(SHOP, 20, NOW)}
    obey(SHOP, *rules)
    picks = trending_list(SHOP, num, NOW)
    said = ExpectedRules(rules, ListKind.TRENDING, None)
    return broken_promises(picks, may_show, num, said)


@given(
    st.lists(contents(), min_size=1, max_size=6),
    REQUESTS,
    HISTORIES,
    st.builds(
        StoreSettings,
        allow_repeat_recommendations=st.booleans(),
        hide_out_of_stock=st.booleans(),
    ),
)
def test_a_list_keeps_its_promises_whatever_the_rules(
    rules: list[RuleContent],
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
    settings: StoreSettings,
) -> None:
    assert check(rules, request, histories, settings) == []


@given(
    st.lists(contents(), min_size=1, max_size=6),
    st.sampled_from([1, 5, 20]),
    st.sampled_from([0.0, 5.0]),
)
def test_trending_keeps_them_too(rules: list[RuleContent], num: int, least: float) -> None:
    assert check_trending(rules, num, least) == []


@given(ITEMS, st.sampled_from([1.5, 20.0]), REQUESTS, HISTORIES)
def test_a_boost_takes_products_up_and_changes_nothing_else(
    boosted: list[int],
    strength: float,
    request: RecommendationRequest,
    histories: Sequence[ShopperHistory],
) -> None:
    SHOP.settings = StoreSettings()
    whole = RecommendationRequest(request.source, 20, request.item_id, request.basket)
    obey_nothing(SHOP)
    before = [pick.item for pick in recommend.recommend(SHOP, whole, histories, NOW)]
    target = RuleTarget(items=tuple(map(str, boosted)))
    obey(SHOP, RuleContent(RuleAction.BOOST, target, strength=strength))

    after = [pick.item for pick in recommend.recommend(SHOP, whole, histories, NOW)]

    assert set(after) == set(before)
    if request.source is Source.BUY:  # one engine, no fills: one order
        others = [item for item in before if item not in boosted]
        assert [item for item in after if item not in boosted] == others
        up = [after.index(item) - before.index(item) for item in boosted if item in after]
        assert sum(up) <= 0


CONTROLS: dict[str, tuple[object, str, Any]] = {
    "exclusions are forgotten": (ListRuleEffects, "shown_mask", lambda _, visible: visible),
    "pins are forgotten": (recommend, "place_pins", lambda picks, *_: picks),
    "pins come on top": (
        recommend,
        "place_pins",
        lambda picks, pinned, num: [*(pick for _, pick in pinned), *picks][:num],
    ),
    "scores rise": (reranking, "_falling_score_of_pin", lambda *_: 1e9),
}


@pytest.mark.parametrize("how", CONTROLS)
def test_control_a_broken_list_is_noticed(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, broken = CONTROLS[how]
    monkeypatch.setattr(where, name, broken)
    request = RecommendationRequest(Source.MIX, 4, "i0")
    rules = [
        RuleContent(RuleAction.EXCLUDE, RuleTarget(items=("1", "2", "3", "4", "5"))),
        RuleContent(RuleAction.PIN, RuleTarget(items=("9",)), position=2),
    ]

    assert check(rules, request, (), StoreSettings())
    monkeypatch.undo()
    assert not check(rules, request, (), StoreSettings())


def test_control_trending_without_its_rules_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = [RuleContent(RuleAction.PIN, RuleTarget(items=("15",)), position=1)]
    assert check_trending(rules, 5, 0.0) == []
    monkeypatch.setattr(trending, "place_pins", lambda picks, *_: picks)

    assert check_trending(rules, 5, 0.0)


def items_of(picks: Sequence[Pick]) -> list[int]:
    return [pick.item for pick in picks]


def ask(source: Source = Source.MIX, num: int = 8, **about: Any) -> list[Pick]:
    request = RecommendationRequest(source, num, **about)
    return recommend.recommend(SHOP, request, (), NOW)


@pytest.fixture
def shop() -> StoreState:
    SHOP.settings = StoreSettings()
    obey_nothing(SHOP)
    return SHOP


def test_a_boost_reaches_what_stood_below_the_cut(shop: StoreState) -> None:
    whole = items_of(ask(Source.BUY, 20, item_id="i0"))
    last = whole[-1]
    assert last not in items_of(ask(Source.BUY, 2, item_id="i0"))

    target = RuleTarget(items=(str(last),))
    obey(shop, RuleContent(RuleAction.BOOST, target, strength=100.0))

    assert items_of(ask(Source.BUY, 2, item_id="i0"))[0] == last


def test_a_bury_is_shown_where_there_is_nothing_better(shop: StoreState) -> None:
    whole = items_of(ask(Source.BUY, 20, item_id="i0"))
    target = RuleTarget(items=(str(whole[0]),))

    obey(shop, RuleContent(RuleAction.BURY, target, strength=100.0))

    assert items_of(ask(Source.BUY, 20, item_id="i0")) == [*whole[1:], whole[0]]


def test_what_fills_is_boosted_too(shop: StoreState) -> None:
    assert items_of(ask(num=3)) == items_of(trending_list(shop, 3, NOW)) == [4, 2, 9]

    obey(shop, RuleContent(RuleAction.BOOST, RuleTarget(items=("13",)), strength=2.0))

    assert items_of(ask(num=3)) == items_of(trending_list(shop, 3, NOW)) == [13, 4, 2]


def test_a_stranger_that_is_pinned_says_trending(shop: StoreState) -> None:
    fresh = next(n for n in range(1, SIZE) if n not in items_of(ask(item_id="i0")))
    obey(shop, RuleContent(RuleAction.PIN, RuleTarget(items=(str(fresh),)), position=2))

    picks = ask(item_id="i0")

    assert picks[1].item == fresh
    assert len(picks) == 8
    assert picks[1].engine in {EngineName.TRENDING, EngineName.BROWSE, EngineName.BUY}


def test_buy_takes_no_stranger_in(shop: StoreState) -> None:
    together = items_of(ask(Source.BUY, 20, item_id="i0"))
    stranger = next(n for n in range(1, SIZE) if n not in together)
    pin = RuleTarget(items=(str(stranger), str(together[-1])))

    obey(shop, RuleContent(RuleAction.PIN, pin, position=1))

    found = items_of(ask(Source.BUY, 20, item_id="i0"))
    assert sorted(found) == sorted(together)
    assert found[1] == together[-1]


def test_a_pin_never_brings_back_what_must_not_be_shown(shop: StoreState) -> None:
    target = RuleTarget(items=("0", "3", str(SOLD_OUT)))
    obey(shop, RuleContent(RuleAction.PIN, target, position=1))
    request = RecommendationRequest(Source.MIX, 20, "i0")
    anna = shopper("anna", [1], [3])

    found = items_of(recommend.recommend(shop, request, (anna,), NOW))

    assert not {0, 3, SOLD_OUT} & set(found)


def test_what_was_bought_long_ago_may_come_again_where_the_store_says_so(
    shop: StoreState,
) -> None:
    day = 86_400_000
    request = RecommendationRequest(Source.MIX, 20)
    anna = shopper("anna", [1], [3], at=NOW - 30 * day)

    def shows(days: int) -> bool:
        shop.settings = StoreSettings(repeat_after_days=days)
        return 3 in items_of(recommend.recommend(shop, request, (anna,), NOW))

    assert [shows(days) for days in (0, 29, 30, 31)] == [False, True, True, False]


def test_without_pictures_similar_answers_as_mix_does(shop: StoreState) -> None:
    shop.settings = StoreSettings(visual_recommendations=False)

    assert ask(Source.SIMILAR, item_id="i0") == ask(Source.MIX, item_id="i0")
