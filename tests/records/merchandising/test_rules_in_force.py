"""Rules in force: several rules for one list, with defined conflicts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.records.merchandising.rule import (
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
    by_priority,
)
from productrecs.records.merchandising.rules_in_force import PinnedItem, RulesInForce

SIZE = 8


def rule(
    number: int, action: RuleAction, items: list[int], **said: object
) -> tuple[Rule, list[int]]:
    target = RuleTarget(items=tuple(map(str, items)))
    content = RuleContent(action, target, **said)  # type: ignore[arg-type]  # a test's shorthand
    return Rule(number, content, 0, 0), items


def resolved(*rules: tuple[Rule, list[int]]) -> RulesInForce:
    return RulesInForce(
        rules=tuple(by_priority(one for one, _ in rules)),
        selected={one.rule_id: np.array(items, np.int64) for one, items in rules},
        size=SIZE,
    )


def factors(*rules: tuple[Rule, list[int]]) -> list[float]:
    found = resolved(*rules).effects_on_list(ListKind.NO_CONTEXT, ListKind.MIX).factors
    assert found is not None
    return [round(factor, 4) for factor in found[:3].tolist()]


def test_what_is_excluded_is_struck_out_of_what_is_visible() -> None:
    rules = resolved(
        rule(1, RuleAction.EXCLUDE, [3, 1]),
        rule(2, RuleAction.EXCLUDE, [1, 5]),
        rule(3, RuleAction.BOOST, [2]),
    ).effects_on_list(ListKind.CART)
    visible = np.array([True, True, False, True, True])  # a catalog that is behind

    shown = rules.shown_mask(visible)

    assert shown.tolist() == [True, False, False, False, True]
    assert visible.tolist() == [True, True, False, True, True]
    assert rules.shown_mask(visible) is shown
    assert rules.shown_mask(visible.copy()) is not shown


def test_what_came_after_the_rules_were_resolved_waits_where_something_is_excluded() -> (
    None
):
    larger = np.ones(SIZE + 2, bool)
    excluding = resolved(rule(1, RuleAction.EXCLUDE, []), rule(2, RuleAction.BOOST, [0]))
    boosting = resolved(rule(2, RuleAction.BOOST, [0]))

    assert (
        excluding.effects_on_list(ListKind.CART).shown_mask(larger).tolist()
        == [True] * SIZE + [False] * 2
    )
    assert boosting.effects_on_list(ListKind.CART).shown_mask(larger) is larger


def test_nothing_is_weighted_where_nothing_is_boosted_or_buried() -> None:
    rules = resolved(
        rule(1, RuleAction.EXCLUDE, [0]), rule(2, RuleAction.PIN, [1], position=1)
    )

    assert rules.effects_on_list(ListKind.CART).factors is None


def test_rules_of_one_priority_multiply() -> None:
    assert factors(
        rule(1, RuleAction.BOOST, [0, 1], strength=2.0),
        rule(2, RuleAction.BURY, [1, 2], strength=4.0),
    ) == [2.0, 0.5, 0.25]


def test_a_higher_priority_decides_alone() -> None:
    assert factors(
        rule(1, RuleAction.BOOST, [0, 1], strength=2.0, priority=1),
        rule(2, RuleAction.BURY, [1, 2], strength=4.0),
        rule(3, RuleAction.BOOST, [0], strength=3.0, priority=1),
    ) == [6.0, 2.0, 0.25]


def test_the_defaults_are_moderate_up_and_far_down() -> None:
    assert factors(rule(1, RuleAction.BOOST, [0]), rule(2, RuleAction.BURY, [2])) == [
        1.5,
        1,
        0.1,
    ]


def test_a_factor_has_bounds_however_many_rules_agree() -> None:
    boosts = [rule(n, RuleAction.BOOST, [0], strength=100.0) for n in range(1, 4)]
    buries = [rule(n, RuleAction.BURY, [1], strength=100.0) for n in range(4, 7)]

    assert factors(*boosts, *buries) == [100.0, 0.01, 1.0]


def test_the_last_factor_is_for_all_that_came_later() -> None:
    rules = resolved(
        rule(1, RuleAction.BOOST, [0, SIZE - 1], strength=2.0)
    ).effects_on_list(ListKind.CART)
    assert rules.factors is not None

    found = rules.factors.take([0, 1, SIZE - 1, SIZE, 99], mode="clip")

    assert found.tolist() == [2, 1, 2, 1, 1]


def test_pins_come_by_rank_and_an_item_is_pinned_once() -> None:
    rules = resolved(
        rule(1, RuleAction.PIN, [5], position=1),
        rule(2, RuleAction.PIN, [6, 5], position=3, priority=1),
    ).effects_on_list(ListKind.CART)

    assert rules.pins == (PinnedItem(2, 6), PinnedItem(3, 5))


def test_lists_that_obey_the_same_rules_share_what_was_made() -> None:
    made = resolved(
        rule(1, RuleAction.BOOST, [0]),
        rule(2, RuleAction.EXCLUDE, [1], places=RuleListScope(only_in=(ListKind.CART,))),
    )

    assert made.effects_on_list(ListKind.PRODUCT, ListKind.MIX) is made.effects_on_list(
        ListKind.SHOPPER, ListKind.BROWSE
    )
    assert made.effects_on_list(ListKind.CART, ListKind.MIX) is not made.effects_on_list(
        ListKind.PRODUCT, ListKind.MIX
    )
    assert made.effects_on_list(ListKind.CART, ListKind.MIX).excluded.tolist() == [1]
    assert made.effects_on_list(ListKind.TRENDING).excluded.tolist() == []


def test_the_rules_of_an_item_are_listed_by_rank() -> None:
    made = resolved(
        rule(1, RuleAction.EXCLUDE, [1, 2]),
        rule(2, RuleAction.BOOST, [2], priority=3),
        rule(3, RuleAction.BURY, [2], places=RuleListScope(only_in=(ListKind.CART,))),
    )

    assert [
        one.rule_id for one in made.rules_about_item(2, ListKind.PRODUCT, ListKind.MIX)
    ] == [2, 1]
    assert [one.rule_id for one in made.rules_about_item(2, ListKind.CART)] == [2, 1, 3]
    assert made.rules_about_item(7, ListKind.CART) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from([RuleAction.BOOST, RuleAction.BURY]),
            st.lists(st.integers(0, SIZE - 1), unique=True),
            st.integers(-2, 2),
            st.sampled_from([1.5, 2.0, 4.0]),
        ),
        max_size=8,
    )
)
def test_every_factor_is_what_the_rules_of_the_highest_priority_make_of_it(
    said: list[tuple[RuleAction, list[int], int, float]],
) -> None:
    made = resolved(
        *(
            rule(number, action, items, priority=priority, strength=strength)
            for number, (action, items, priority, strength) in enumerate(said)
        )
    ).effects_on_list(ListKind.NO_CONTEXT)

    for item in range(SIZE):
        about = [one for one in said if item in one[1]]
        highest = max((one[2] for one in about), default=0)
        expected = 1.0
        for action, _, priority, strength in about:
            if priority == highest:
                expected *= strength if action is RuleAction.BOOST else 1 / strength
        found = 1.0 if made.factors is None else float(made.factors[item])
        assert found == pytest.approx(min(max(expected, 0.01), 100), rel=1e-5)
