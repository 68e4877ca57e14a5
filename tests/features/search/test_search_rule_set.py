"""Search rules: stored, validated, and applied to queries in any form."""

from datetime import UTC

import pytest

from productrecs.core.clock import fixed_clock
from productrecs.core.timestamps import parse_timestamp
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rule_set import (
    SearchRuleSet,
    item_ids_of,
    redirect_address,
)
from productrecs.features.search.search_rules import (
    InvalidSynonymOrRuleError,
    SearchRule,
    SearchRuleAction,
    Synonym,
    UnknownSynonymOrRuleError,
)
from productrecs.storage.sql.database import Database
from tests.support.migrated import ON_SQLITE
from tests.support.stores import new_store

ENGLISH = LanguageAnalyzer("en")
NOW = parse_timestamp("2026-05-05T12:00:00Z")


@pytest.fixture
def rules(database: Database) -> SearchRuleEditor:
    store = new_store(database, "a.example")
    return SearchRuleEditor(database, store, fixed_clock(NOW))


def test_what_is_added_is_listed_until_it_is_removed(
    rules: SearchRuleEditor, database: Database
) -> None:
    other = new_store(database, "b.example")
    one, synonym = rules.add_synonym("sofa", " couch ", "love  seat")
    two, rule = rules.add_rule(
        SearchRule(SearchRuleAction.PIN, "sofa", ("c-1", "c-2", "c-1"))
    )

    assert rules.synonyms() == {one: synonym}
    assert rules.rules() == {two: rule}
    assert synonym == Synonym(("sofa", "couch", "love seat"))
    assert rule.items == ("c-1", "c-2")
    assert SearchRuleEditor(database, other, fixed_clock(0)).rules() == {}

    rules.remove_synonym(one)
    rules.remove_rule(two)
    assert (rules.synonyms(), rules.rules()) == ({}, {})
    with pytest.raises(UnknownSynonymOrRuleError):
        rules.remove_rule(two)
    with pytest.raises(UnknownSynonymOrRuleError):
        rules.remove_synonym(two)


@ON_SQLITE
@pytest.mark.parametrize(
    "wrong",
    [
        SearchRule(SearchRuleAction.PIN, "tent"),
        SearchRule(SearchRuleAction.PIN, "", ("a",)),
        SearchRule(SearchRuleAction.HIDE, "x" * 257, ("a",)),
        SearchRule(SearchRuleAction.HIDE, "tent", ("a",), address="/sale"),
        SearchRule(SearchRuleAction.REDIRECT, "tent"),
        SearchRule(SearchRuleAction.REDIRECT, "tent", address="javascript:alert(1)"),
        SearchRule(SearchRuleAction.REDIRECT, "tent", address="/a\r\nset-cookie: x"),
        SearchRule(SearchRuleAction.REDIRECT, "tent", ("a",), address="/sale"),
        SearchRule(SearchRuleAction.PIN, "tent", ("a",), starts="tomorrow"),
    ],
)
def test_what_is_impossible_is_refused(rules: SearchRuleEditor, wrong: SearchRule) -> None:
    with pytest.raises(InvalidSynonymOrRuleError):
        rules.add_rule(wrong)
    assert rules.rules() == {}


@ON_SQLITE
@pytest.mark.parametrize(
    "texts", [("sofa",), ("sofa", " sofa "), ("a", ""), ("x", "y" * 257)]
)
def test_a_synonym_says_that_something_means_something_else(
    rules: SearchRuleEditor, texts: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidSynonymOrRuleError):
        rules.add_synonym(*texts)


def test_synonyms_go_both_ways_unless_one_way() -> None:
    said = SearchRuleSet(
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
    rule = SearchRule(SearchRuleAction.REDIRECT, "winter coats", address="/coats")
    said = SearchRuleSet(1, {}, {1: rule})

    for query in ("winter coat", "WINTER coats ", "coats for the winter"):
        found = said.active_rules_for(AnalysedQuery.of(query, ENGLISH), NOW, UTC)
        assert bool(found) is (query != "coats for the winter"), query
    for query in ("winter", "winter coat red", ""):
        assert said.active_rules_for(AnalysedQuery.of(query, ENGLISH), NOW, UTC) == []
    assert redirect_address([rule]) == "/coats"
    assert redirect_address([]) is None


def test_a_rule_is_in_force_on_its_days() -> None:
    rule = SearchRule(
        SearchRuleAction.HIDE, "tent", ("t",), starts="2026-05-01", ends="2026-05-05"
    )
    said = SearchRuleSet(1, {}, {1: rule})

    for moment, is_on in (
        ("2026-04-30T23:59:59Z", False),
        ("2026-05-01T00:00:00Z", True),
        ("2026-05-05T23:59:59Z", True),
        ("2026-05-06T00:00:00Z", False),
    ):
        found = said.active_rules_for(
            AnalysedQuery.of("tent", ENGLISH), parse_timestamp(moment), UTC
        )
        assert item_ids_of(found, SearchRuleAction.HIDE) == (["t"] if is_on else [])
