"""What merchants say of search: kept, checked, and obeyed by queries in any form."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import pytest

from productrecs.core.clock import frozen_at, parse_moment
from productrecs.engines.text.language import Language
from productrecs.engines.text.query import AnalysedQuery
from productrecs.features.search.change import SearchRules
from productrecs.features.search.merchandising import Merchandising, address_of, items_of
from productrecs.features.search.rules import (
    Action,
    SearchRule,
    SearchRuleError,
    Synonym,
    UnknownSearchRuleError,
)
from productrecs.tenancy.accounts.registration import Registration, register

if TYPE_CHECKING:
    from productrecs.storage.database import Database

ENGLISH = Language("en")
NOW = parse_moment("2026-05-05T12:00:00Z")


@pytest.fixture
def rules(database: Database) -> SearchRules:
    store, _ = register(database, Registration("a.example"), frozen_at(0))
    return SearchRules(database, store, frozen_at(NOW))


def test_what_is_added_is_listed_until_it_is_removed(
    rules: SearchRules, database: Database
) -> None:
    other, _ = register(database, Registration("b.example"), frozen_at(0))
    one, synonym = rules.add_synonym("sofa", " couch ", "love  seat")
    two, rule = rules.add_rule(SearchRule(Action.PIN, "sofa", ("c-1", "c-2", "c-1")))

    assert rules.synonyms() == {one: synonym}
    assert rules.rules() == {two: rule}
    assert synonym == Synonym(("sofa", "couch", "love seat"))
    assert rule.items == ("c-1", "c-2")
    assert SearchRules(database, other, frozen_at(0)).rules() == {}

    rules.remove_synonym(one)
    rules.remove_rule(two)
    assert (rules.synonyms(), rules.rules()) == ({}, {})
    with pytest.raises(UnknownSearchRuleError):
        rules.remove_rule(two)
    with pytest.raises(UnknownSearchRuleError):
        rules.remove_synonym(two)


@pytest.mark.parametrize(
    "wrong",
    [
        SearchRule(Action.PIN, "tent"),
        SearchRule(Action.PIN, "", ("a",)),
        SearchRule(Action.HIDE, "x" * 257, ("a",)),
        SearchRule(Action.HIDE, "tent", ("a",), address="/sale"),
        SearchRule(Action.REDIRECT, "tent"),
        SearchRule(Action.REDIRECT, "tent", address="javascript:alert(1)"),
        SearchRule(Action.REDIRECT, "tent", address="/a\r\nset-cookie: x"),
        SearchRule(Action.REDIRECT, "tent", ("a",), address="/sale"),
        SearchRule(Action.PIN, "tent", ("a",), starts="tomorrow"),
    ],
)
def test_what_is_impossible_is_refused(rules: SearchRules, wrong: SearchRule) -> None:
    with pytest.raises(SearchRuleError):
        rules.add_rule(wrong)
    assert rules.rules() == {}


@pytest.mark.parametrize(
    "texts", [("sofa",), ("sofa", " sofa "), ("a", ""), ("x", "y" * 257)]
)
def test_a_synonym_says_that_something_means_something_else(
    rules: SearchRules, texts: tuple[str, ...]
) -> None:
    with pytest.raises(SearchRuleError):
        rules.add_synonym(*texts)


def test_synonyms_go_both_ways_unless_one_way() -> None:
    said = Merchandising(
        1,
        {
            1: Synonym(("sofas", "couch")),
            2: Synonym(("tv set", "television"), one_way=True),
        },
    )

    assert said.synonyms_in(ENGLISH) == {
        ("sofa",): (("couch",),),
        ("couch",): (("sofas",),),
        ("tv", "set"): (("television",),),
    }


def test_a_rule_is_for_its_query_in_every_form_and_for_no_other() -> None:
    rule = SearchRule(Action.REDIRECT, "winter coats", address="/coats")
    said = Merchandising(1, {}, {1: rule})

    for query in ("winter coat", "WINTER coats ", "coats for the winter"):
        found = said.rules_for(AnalysedQuery.of(query, ENGLISH), NOW, UTC)
        assert bool(found) is (query != "coats for the winter"), query
    for query in ("winter", "winter coat red", ""):
        assert said.rules_for(AnalysedQuery.of(query, ENGLISH), NOW, UTC) == []
    assert address_of([rule]) == "/coats"
    assert address_of([]) is None


def test_a_rule_is_in_force_on_its_days() -> None:
    rule = SearchRule(Action.HIDE, "tent", ("t",), starts="2026-05-01", ends="2026-05-05")
    said = Merchandising(1, {}, {1: rule})

    for moment, is_on in (
        ("2026-04-30T23:59:59Z", False),
        ("2026-05-01T00:00:00Z", True),
        ("2026-05-05T23:59:59Z", True),
        ("2026-05-06T00:00:00Z", False),
    ):
        found = said.rules_for(AnalysedQuery.of("tent", ENGLISH), parse_moment(moment), UTC)
        assert items_of(found, Action.HIDE) == (["t"] if is_on else [])
