"""Merchandising rule: its lists, its schedule and its title."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from productrecs.core.clock import parse_timestamp
from productrecs.records.merchandising.rule import (
    ListFilter,
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleState,
    RuleTarget,
    by_priority,
    describe_rule,
)

BERLIN = ZoneInfo("Europe/Berlin")
SALE = RuleTarget(categories=("Sale",))


@pytest.mark.parametrize(
    ("places", "page_type", "source", "holds"),
    [
        (ListFilter(), "cart", "buy", True),
        (ListFilter(), "trending", None, True),
        (ListFilter(only_in=(ListKind.CART,)), "cart", "mix", True),
        (ListFilter(only_in=(ListKind.CART,)), "product", "mix", False),
        (ListFilter(only_in=(ListKind.CART, ListKind.PRODUCT)), "product", "mix", True),
        (ListFilter(only_in=(ListKind.BUY,)), "cart", "buy", True),
        (ListFilter(only_in=(ListKind.BUY,)), "cart", "mix", False),
        (ListFilter(only_in=(ListKind.BUY,)), "trending", None, False),
        (ListFilter(only_in=(ListKind.CART, ListKind.BUY)), "cart", "buy", True),
        (ListFilter(only_in=(ListKind.CART, ListKind.BUY)), "cart", "mix", False),
        (ListFilter(only_in=(ListKind.CART, ListKind.BUY)), "product", "buy", False),
        (ListFilter(not_in=(ListKind.TRENDING,)), "trending", None, False),
        (ListFilter(not_in=(ListKind.TRENDING,)), "nobody", "mix", True),
        (ListFilter(not_in=(ListKind.BUY,)), "product", "buy", False),
        (
            ListFilter(only_in=(ListKind.CART,), not_in=(ListKind.BUY,)),
            "cart",
            "buy",
            False,
        ),
    ],
)
def test_a_rule_holds_where_it_says(
    places: ListFilter, page_type: str, source: str | None, *, holds: bool
) -> None:
    asked = None if source is None else ListKind(source)

    assert places.matches(ListKind(page_type), asked) is holds


@pytest.mark.parametrize(
    ("now", "state"),
    [
        ("2026-11-30T23:59:59.999+01:00", RuleState.WAITING),
        ("2026-12-01T00:00:00+01:00", RuleState.ON),
        ("2026-12-24T23:59:59.999+01:00", RuleState.ON),
        ("2026-12-25T00:00:00+01:00", RuleState.OVER),
    ],
)
def test_dates_of_a_schedule_are_whole_days_of_the_store(
    now: str, state: RuleState
) -> None:
    christmas = RuleContent(RuleAction.BOOST, SALE, starts="2026-12-01", ends="2026-12-24")

    assert christmas.state(parse_timestamp(now), BERLIN) is state


def test_a_rule_without_schedule_is_on_unless_it_is_disabled() -> None:
    assert RuleContent(RuleAction.BOOST, SALE).state(0, BERLIN) is RuleState.ON
    assert (
        RuleContent(RuleAction.BOOST, SALE, enabled=False).state(0, BERLIN) is RuleState.OFF
    )


def test_rules_are_obeyed_by_priority_then_by_age() -> None:
    rules = [
        Rule(number, RuleContent(RuleAction.BOOST, SALE, priority=priority), 0, 0)
        for number, priority in [(1, 0), (2, 5), (3, 5), (4, -1)]
    ]

    assert [rule.rule_id for rule in by_priority(rules)] == [2, 3, 1, 4]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (RuleContent(RuleAction.EXCLUDE, SALE), "exclude in Sale"),
        (RuleContent(RuleAction.BOOST, SALE, strength=2), "boost in Sale by 2"),
        (
            RuleContent(RuleAction.PIN, RuleTarget(items=("a", "b")), position=3),
            "pin a or b at 3",
        ),
        (
            RuleContent(
                RuleAction.BURY,
                RuleTarget(tuple("abcde"), title_words=("old", "stock"), price_max=9.5),
            ),
            "bury a or b or c and 2 more, titled old stock, up to 9.5",
        ),
    ],
)
def test_a_rule_is_told_in_plain_words(content: RuleContent, words: str) -> None:
    assert describe_rule(content) == words
