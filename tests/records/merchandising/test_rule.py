"""Merchandising rule: its lists, its schedule and its title."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.records.merchandising.rule import (
    MAX_ITEMS,
    MAX_NAME_LENGTH,
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleError,
    RuleListScope,
    RuleState,
    RuleTarget,
    by_priority,
    describe_rule,
    validate_rule,
)

BERLIN = ZoneInfo("Europe/Berlin")
SALE = RuleTarget(categories=("Sale",))


@pytest.mark.parametrize(
    ("places", "page_type", "source", "holds"),
    [
        (RuleListScope(), "cart", "buy", True),
        (RuleListScope(), "trending", None, True),
        (RuleListScope(only_in=(ListKind.CART,)), "cart", "mix", True),
        (RuleListScope(only_in=(ListKind.CART,)), "product", "mix", False),
        (RuleListScope(only_in=(ListKind.CART, ListKind.PRODUCT)), "product", "mix", True),
        (RuleListScope(only_in=(ListKind.BUY,)), "cart", "buy", True),
        (RuleListScope(only_in=(ListKind.BUY,)), "cart", "mix", False),
        (RuleListScope(only_in=(ListKind.BUY,)), "trending", None, False),
        (RuleListScope(only_in=(ListKind.CART, ListKind.BUY)), "cart", "buy", True),
        (RuleListScope(only_in=(ListKind.CART, ListKind.BUY)), "cart", "mix", False),
        (RuleListScope(only_in=(ListKind.CART, ListKind.BUY)), "product", "buy", False),
        (RuleListScope(not_in=(ListKind.TRENDING,)), "trending", None, False),
        (RuleListScope(not_in=(ListKind.TRENDING,)), "nobody", "mix", True),
        (RuleListScope(not_in=(ListKind.BUY,)), "product", "buy", False),
        (
            RuleListScope(only_in=(ListKind.CART,), not_in=(ListKind.BUY,)),
            "cart",
            "buy",
            False,
        ),
    ],
)
def test_a_rule_holds_where_it_says(
    places: RuleListScope, page_type: str, source: str | None, *, holds: bool
) -> None:
    list_kind = None if source is None else ListKind(source)

    assert places.matches(ListKind(page_type), list_kind) is holds


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
def test_a_rule_is_described_in_plain_words(content: RuleContent, words: str) -> None:
    assert describe_rule(content) == words


ONE = RuleTarget(items=("a",))


def test_a_rule_is_kept_in_normal_form() -> None:
    said = RuleContent(
        RuleAction.BOOST,
        RuleTarget(
            ("a", "b", "a", " "), ("Sale", "Sale"), ("Winter  coats", "COATS"), 5, 5
        ),
        name="  Winter ",
        places=RuleListScope(
            (ListKind.CART, ListKind.BUY, ListKind.CART), (ListKind.SHOPPER,)
        ),
        starts="20261201",
        ends=" 2026-12-01T10:00 ",
        strength=2,
    )

    assert validate_rule(said, UTC) == RuleContent(
        RuleAction.BOOST,
        RuleTarget(("a", "b"), ("Sale",), ("coats", "winter"), 5, 5),
        name="Winter",
        places=RuleListScope((ListKind.BUY, ListKind.CART), (ListKind.SHOPPER,)),
        starts="2026-12-01",
        ends="2026-12-01T10:00:00",
        strength=2,
    )


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (RuleContent(RuleAction.EXCLUDE, RuleTarget()), "target", "choose products"),
        (
            RuleContent(RuleAction.EXCLUDE, RuleTarget(items=(" ",))),
            "target",
            "choose products",
        ),
        (
            RuleContent(RuleAction.EXCLUDE, RuleTarget(title_words=("!",))),
            "target",
            "choose products",
        ),
        (RuleContent(RuleAction.BOOST, SALE, name="x" * 201), "name", str(MAX_NAME_LENGTH)),
        (RuleContent(RuleAction.BOOST, SALE, name="a\0b"), "name", "characters"),
        (RuleContent(RuleAction.BOOST, SALE, priority=1_001), "priority", "1000"),
        (RuleContent(RuleAction.BOOST, SALE, strength=1), "strength", "above 1"),
        (RuleContent(RuleAction.BOOST, SALE, strength=1e9), "strength", "up to 100"),
        (RuleContent(RuleAction.BOOST, SALE, strength=float("nan")), "strength", "above 1"),
        (RuleContent(RuleAction.PIN, ONE, position=1, strength=2), "strength", "boost and"),
        (RuleContent(RuleAction.BOOST, ONE, position=1), "position", "only pin"),
        (RuleContent(RuleAction.PIN, ONE), "position", "from 1 to 20"),
        (RuleContent(RuleAction.PIN, ONE, position=0), "position", "from 1 to 20"),
        (RuleContent(RuleAction.PIN, ONE, position=21), "position", "from 1 to 20"),
        (RuleContent(RuleAction.PIN, SALE, position=1), "target", "by item"),
        (
            RuleContent(RuleAction.PIN, RuleTarget(("a",), price_min=1), position=1),
            "target",
            "by item only",
        ),
        (
            RuleContent(RuleAction.PIN, RuleTarget(("a", "b")), position=20),
            "items",
            "after position 20",
        ),
        (
            RuleContent(RuleAction.BOOST, SALE, starts="soon"),
            "starts",
            "write a date such as",
        ),
        (
            RuleContent(RuleAction.BOOST, SALE, ends="2026-02-30"),
            "ends",
            "write a date such as",
        ),
        (
            RuleContent(RuleAction.BOOST, SALE, starts="2026-12-02", ends="2026-12-01"),
            "ends",
            "before it starts",
        ),
        (
            RuleContent(RuleAction.BOOST, RuleTarget(price_min=5, price_max=4)),
            "price_max",
            "above the highest",
        ),
        (
            RuleContent(RuleAction.BOOST, RuleTarget(price_min=float("inf"))),
            "price_min",
            "number",
        ),
        (RuleContent(RuleAction.BOOST, RuleTarget(price_max=1e13)), "price_max", "number"),
        (
            RuleContent(
                RuleAction.BOOST, RuleTarget(tuple(map(str, range(MAX_ITEMS + 1))))
            ),
            "items",
            "second rule",
        ),
        (RuleContent(RuleAction.BOOST, RuleTarget(items=("x" * 256,))), "items", "255"),
        (
            RuleContent(RuleAction.BOOST, RuleTarget(categories=("a\0",))),
            "categories",
            "is invalid",
        ),
        (
            RuleContent(
                RuleAction.BOOST, RuleTarget(title_words=tuple("abcdefghijklmnopqrstu"))
            ),
            "title_words",
            "20",
        ),
        (
            RuleContent(
                RuleAction.BOOST,
                SALE,
                places=RuleListScope((ListKind.CART,), (ListKind.CART,)),
            ),
            "places",
            "cart",
        ),
        (
            RuleContent(
                RuleAction.PIN, ONE, position=1, places=RuleListScope((ListKind.SEARCH,))
            ),
            "places",
            "search-rules",
        ),
    ],
)
def test_a_wrong_rule_gets_an_error_at_its_field(
    content: RuleContent, field: str, words: str
) -> None:
    with pytest.raises(RuleError, match=words) as refused:
        validate_rule(content, UTC)

    assert refused.value.field == field


def test_a_schedule_is_checked_in_the_stores_zone() -> None:
    content = RuleContent(
        RuleAction.BOOST, SALE, starts="2026-12-01T23:30:00+00:00", ends="2026-12-01"
    )

    assert validate_rule(content, UTC) == content
    with pytest.raises(RuleError, match="before it starts"):
        validate_rule(content, ZoneInfo("Europe/Berlin"))
