"""In which lists does a rule hold, when, and what is it called?"""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from productrecs.core.clock import parse_moment
from productrecs.records.merchandising.rule import (
    Action,
    Place,
    Places,
    Rule,
    RuleContent,
    State,
    Target,
    by_rank,
    described,
)

BERLIN = ZoneInfo("Europe/Berlin")
SALE = Target(categories=("Sale",))


@pytest.mark.parametrize(
    ("places", "placement", "source", "holds"),
    [
        (Places(), "cart", "buy", True),
        (Places(), "trending", None, True),
        (Places(only_in=(Place.CART,)), "cart", "mix", True),
        (Places(only_in=(Place.CART,)), "product", "mix", False),
        (Places(only_in=(Place.CART, Place.PRODUCT)), "product", "mix", True),
        (Places(only_in=(Place.BUY,)), "cart", "buy", True),
        (Places(only_in=(Place.BUY,)), "cart", "mix", False),
        (Places(only_in=(Place.BUY,)), "trending", None, False),
        (Places(only_in=(Place.CART, Place.BUY)), "cart", "buy", True),
        (Places(only_in=(Place.CART, Place.BUY)), "cart", "mix", False),
        (Places(only_in=(Place.CART, Place.BUY)), "product", "buy", False),
        (Places(not_in=(Place.TRENDING,)), "trending", None, False),
        (Places(not_in=(Place.TRENDING,)), "nobody", "mix", True),
        (Places(not_in=(Place.BUY,)), "product", "buy", False),
        (Places(only_in=(Place.CART,), not_in=(Place.BUY,)), "cart", "buy", False),
    ],
)
def test_a_rule_holds_where_it_says(
    places: Places, placement: str, source: str | None, *, holds: bool
) -> None:
    asked = None if source is None else Place(source)

    assert places.hold(Place(placement), asked) is holds


@pytest.mark.parametrize(
    ("now", "state"),
    [
        ("2026-11-30T23:59:59.999+01:00", State.WAITING),
        ("2026-12-01T00:00:00+01:00", State.ON),
        ("2026-12-24T23:59:59.999+01:00", State.ON),
        ("2026-12-25T00:00:00+01:00", State.OVER),
    ],
)
def test_dates_of_a_schedule_are_whole_days_of_the_store(now: str, state: State) -> None:
    christmas = RuleContent(Action.BOOST, SALE, starts="2026-12-01", ends="2026-12-24")

    assert christmas.state(parse_moment(now), BERLIN) is state


def test_a_rule_without_schedule_is_on_unless_it_is_disabled() -> None:
    assert RuleContent(Action.BOOST, SALE).state(0, BERLIN) is State.ON
    assert RuleContent(Action.BOOST, SALE, enabled=False).state(0, BERLIN) is State.OFF


def test_rules_are_obeyed_by_priority_then_by_age() -> None:
    rules = [
        Rule(number, RuleContent(Action.BOOST, SALE, priority=priority), 0, 0)
        for number, priority in [(1, 0), (2, 5), (3, 5), (4, -1)]
    ]

    assert [rule.rule_id for rule in by_rank(rules)] == [2, 3, 1, 4]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (RuleContent(Action.EXCLUDE, SALE), "exclude in Sale"),
        (RuleContent(Action.BOOST, SALE, strength=2), "boost in Sale by 2"),
        (RuleContent(Action.PIN, Target(items=("a", "b")), position=3), "pin a or b at 3"),
        (
            RuleContent(
                Action.BURY,
                Target(tuple("abcde"), title_words=("old", "stock"), price_max=9.5),
            ),
            "bury a or b or c and 2 more, titled old stock, up to 9.5",
        ),
    ],
)
def test_a_rule_is_told_in_plain_words(content: RuleContent, words: str) -> None:
    assert described(content) == words
