"""Is a rule that cannot be obeyed refused, with what is wrong about it?"""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from productrecs.records.merchandising.check import (
    LONGEST_NAME,
    MOST_ITEMS,
    RuleError,
    checked,
)
from productrecs.records.merchandising.rule import (
    Action,
    Place,
    Places,
    RuleContent,
    Target,
)

SALE = Target(categories=("Sale",))
ONE = Target(items=("a",))


def test_a_rule_is_kept_in_normal_form() -> None:
    said = RuleContent(
        Action.BOOST,
        Target(("a", "b", "a", " "), ("Sale", "Sale"), ("Winter  coats", "COATS"), 5, 5),
        name="  Winter ",
        places=Places((Place.CART, Place.BUY, Place.CART), (Place.SHOPPER,)),
        starts="20261201",
        ends=" 2026-12-01T10:00 ",
        strength=2,
    )

    assert checked(said, UTC) == RuleContent(
        Action.BOOST,
        Target(("a", "b"), ("Sale",), ("coats", "winter"), 5, 5),
        name="Winter",
        places=Places((Place.BUY, Place.CART), (Place.SHOPPER,)),
        starts="2026-12-01",
        ends="2026-12-01T10:00:00",
        strength=2,
    )


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (RuleContent(Action.EXCLUDE, Target()), "target", "say which products"),
        (RuleContent(Action.EXCLUDE, Target(items=(" ",))), "target", "say which"),
        (RuleContent(Action.EXCLUDE, Target(title_words=("!",))), "target", "say which"),
        (RuleContent(Action.BOOST, SALE, name="x" * 201), "name", str(LONGEST_NAME)),
        (RuleContent(Action.BOOST, SALE, name="a\0b"), "name", "characters"),
        (RuleContent(Action.BOOST, SALE, priority=1_001), "priority", "1000"),
        (RuleContent(Action.BOOST, SALE, strength=1), "strength", "above 1"),
        (RuleContent(Action.BOOST, SALE, strength=1e9), "strength", "up to 100"),
        (RuleContent(Action.BOOST, SALE, strength=float("nan")), "strength", "above 1"),
        (RuleContent(Action.PIN, ONE, position=1, strength=2), "strength", "boost and"),
        (RuleContent(Action.BOOST, ONE, position=1), "position", "only pin"),
        (RuleContent(Action.PIN, ONE), "position", "from 1 to 20"),
        (RuleContent(Action.PIN, ONE, position=0), "position", "from 1 to 20"),
        (RuleContent(Action.PIN, ONE, position=21), "position", "from 1 to 20"),
        (RuleContent(Action.PIN, SALE, position=1), "target", "by item"),
        (
            RuleContent(Action.PIN, Target(("a",), price_min=1), position=1),
            "target",
            "nothing else",
        ),
        (RuleContent(Action.PIN, Target(("a", "b")), position=20), "items", "behind 20"),
        (RuleContent(Action.BOOST, SALE, starts="soon"), "starts", "ISO date"),
        (RuleContent(Action.BOOST, SALE, ends="2026-02-30"), "ends", "ISO date"),
        (
            RuleContent(Action.BOOST, SALE, starts="2026-12-02", ends="2026-12-01"),
            "ends",
            "before it starts",
        ),
        (
            RuleContent(Action.BOOST, Target(price_min=5, price_max=4)),
            "price_max",
            "above the greatest",
        ),
        (RuleContent(Action.BOOST, Target(price_min=float("inf"))), "price_min", "number"),
        (RuleContent(Action.BOOST, Target(price_max=1e13)), "price_max", "number"),
        (
            RuleContent(Action.BOOST, Target(tuple(map(str, range(MOST_ITEMS + 1))))),
            "items",
            "second rule",
        ),
        (RuleContent(Action.BOOST, Target(items=("x" * 256,))), "items", "255"),
        (RuleContent(Action.BOOST, Target(categories=("a\0",))), "categories", "no name"),
        (
            RuleContent(Action.BOOST, Target(title_words=tuple("abcdefghijklmnopqrstu"))),
            "title_words",
            "20",
        ),
        (
            RuleContent(Action.BOOST, SALE, places=Places((Place.CART,), (Place.CART,))),
            "places",
            "cart",
        ),
        (
            RuleContent(Action.PIN, ONE, position=1, places=Places((Place.SEARCH,))),
            "places",
            "search-rules",
        ),
    ],
)
def test_what_is_wrong_is_said(content: RuleContent, field: str, words: str) -> None:
    with pytest.raises(RuleError, match=words) as refused:
        checked(content, UTC)

    assert refused.value.field == field


def test_whether_a_schedule_ends_before_it_starts_is_asked_in_the_stores_zone() -> None:
    content = RuleContent(
        Action.BOOST, SALE, starts="2026-12-01T23:30:00+00:00", ends="2026-12-01"
    )

    assert checked(content, UTC) == content
    with pytest.raises(RuleError, match="before it starts"):
        checked(content, ZoneInfo("Europe/Berlin"))
