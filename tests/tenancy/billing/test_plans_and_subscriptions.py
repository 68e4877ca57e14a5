"""Plans: the contract's, unless an operator's file replaces them."""

import pytest

from productrecs.tenancy.billing.plans_and_subscriptions import (
    DEFAULT_PLANS,
    Plan,
    PlansError,
    parse_plans,
)


def test_there_are_five_plans_each_larger_than_the_one_before() -> None:
    *limited, unlimited = DEFAULT_PLANS.values()
    calls = [plan.monthly_calls or 0 for plan in limited]
    items = [plan.catalog_items or 0 for plan in limited]

    assert list(DEFAULT_PLANS) == ["trial", "starter", "growth", "scale", "unlimited"]
    assert (unlimited.monthly_calls, unlimited.catalog_items) == (None, None)
    assert [plan.days for plan in limited] == [14, None, None, None]
    assert 0 < calls[0] < calls[1] < calls[2] < calls[3]
    assert 0 < items[0] < items[1] < items[2] < items[3]


def test_a_file_changes_ours_and_adds_its_own() -> None:
    plans = parse_plans(
        """
        [starter]
        monthly_calls = 250_000
        [trial]
        days = 30
        [gold]
        monthly_calls = "unlimited"
        catalog_items = 7
        """
    )

    assert plans["starter"] == Plan("starter", 250_000, 5_000)
    assert plans["trial"] == Plan("trial", 10_000, 1_000, days=30)
    assert plans["gold"] == Plan("gold", None, 7)
    assert plans["growth"] == DEFAULT_PLANS["growth"]
    assert list(plans) == [*DEFAULT_PLANS, "gold"]


def test_days_that_are_unlimited_never_end() -> None:
    assert parse_plans('[trial]\ndays = "unlimited"')["trial"].days is None


def test_an_empty_file_means_our_plans() -> None:
    assert parse_plans("# nothing yet\n") == DEFAULT_PLANS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[starter", "not valid TOML"),
        ("starter = 3", "starter is not a table"),
        ("[Gold]\nmonthly_calls = 1", "'Gold' is not a valid name of a plan"),
        ("[starter]\ncalls = 1", r"\[starter\] says calls; a plan has monthly_calls"),
        ("[gold]\nmonthly_calls = 1", r"\[gold\] lacks catalog_items"),
        ("[gold]\ncatalog_items = 1", r"\[gold\] lacks monthly_calls"),
        ("[starter]\nmonthly_calls = -1", "from 0 to"),
        ("[starter]\nmonthly_calls = 1.5", "from 0 to"),
        ("[starter]\nmonthly_calls = true", "from 0 to"),
        ("[starter]\nmonthly_calls = '10'", "from 0 to"),
        ("[starter]\ncatalog_items = 10_000_000_000_000_000", "from 0 to"),
        ("[trial]\ndays = 0", "from 1 to 3,660"),
        ("[trial]\ndays = 2015-01-01", "from 1 to"),
    ],
)
def test_an_impossible_plan_is_an_error_that_says_why(text: str, words: str) -> None:
    with pytest.raises(PlansError, match=words):
        parse_plans(text)
