"""Search counter: counts queries that shoppers stay with, not keystrokes."""

from __future__ import annotations

from collections import Counter

import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.records.search_counts import search_counter as limits
from productrecs.records.search_counts.search_counter import (
    ObservedSearch,
    SearchCounter,
    count_by_intent,
    search_intent,
)

STORE = StoreId("st_1")


class TypedSearches:
    """A tally and its clock; people type into it."""

    def __init__(self) -> None:
        """Begin at a quiet moment."""
        self.now = 100.0
        self.tally = SearchCounter(lambda: self.now)

    def type(self, *texts: str, who: object = "anna", each: float = 0.2) -> None:
        """Let somebody ask for texts, one after another."""
        for text in texts:
            self.now += each
            self.tally.count(ObservedSearch(STORE, text, is_empty=len(text) > 9), who)

    def counted(self, after: float = 5.0) -> Counter[str]:
        """Return what is counted some seconds later."""
        self.now += after
        self.tally.count_finished_queries()
        return Counter({one.text: n for one, n in self.tally.take_counts().items()})


@pytest.fixture
def searches() -> TypedSearches:
    """Return an empty one."""
    return TypedSearches()


def test_the_letters_of_a_word_are_one_search(searches: TypedSearches) -> None:
    searches.type("t", "te", "ten", "tent")

    assert searches.counted() == {"tent": 1}
    assert searches.counted() == {}


def test_nothing_is_counted_while_somebody_types(searches: TypedSearches) -> None:
    searches.type("t", "te")

    assert searches.counted(after=1.0) == {}
    searches.type("tent")
    assert searches.counted() == {"tent": 1}


def test_going_back_and_on_to_something_else_is_one_search(searches: TypedSearches) -> None:
    searches.type("tenr", "ten", "te", "t", "l", "la", "lam", "lamp")

    assert searches.counted() == {"lamp": 1}


def test_two_searches_without_a_pause_are_two(searches: TypedSearches) -> None:
    searches.type("tent", "lamp")

    assert searches.counted() == {"tent": 1, "lamp": 1}


def test_going_on_after_a_pause_is_another_search(searches: TypedSearches) -> None:
    searches.type("tent")
    assert searches.counted() == {"tent": 1}
    searches.type("tent p", "tent pe", "tent pegs")

    assert searches.counted() == {"tent pegs": 1}


def test_the_same_again_within_two_minutes_is_not_another(searches: TypedSearches) -> None:
    searches.type("tent")
    first = searches.counted()
    searches.type("Tent ", each=60)
    again = searches.counted()
    searches.type("tent", each=130)

    assert (first, again, searches.counted()) == ({"tent": 1}, {}, {"tent": 1})


def test_everybody_types_for_themselves(searches: TypedSearches) -> None:
    for who in ("anna", "ben"):
        searches.type("te", "tent", who=who)

    assert searches.counted() == {"tent": 2}


def test_a_stop_counts_what_is_being_typed(searches: TypedSearches) -> None:
    searches.type("tent")
    searches.tally.count_finished_queries(at_once=True)

    assert searches.counted() == {"tent": 1}


def test_memory_is_bounded_and_lost_counts_are_counted(
    searches: TypedSearches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TYPING", 10)
    monkeypatch.setattr(limits, "MAX_WAITING", 20)
    for n in range(100):
        searches.type(f"query {n}", who=n, each=0)

    assert sum(searches.counted().values()) == 20
    assert searches.tally.lost == 80


def test_what_could_not_be_kept_waits_again(searches: TypedSearches) -> None:
    searches.type("tent")
    searches.now += 5
    searches.tally.count_finished_queries()
    searches.tally.put_back(searches.tally.take_counts())

    assert searches.counted() == {"tent": 1}


@pytest.mark.parametrize(
    "text",
    ["Red  Lamps", " ".join(f"lamp{n}" for n in range(40)), "mail anna@shop.example"],
    ids=["short", "longer than what is kept", "with an e-mail address"],
)
def test_the_clicks_of_a_query_count_for_its_searches(
    searches: TypedSearches, text: str
) -> None:
    searches.type(text)
    searches.now += 5.0
    searches.tally.count_finished_queries()
    language = LanguageAnalyzer("en")

    counted = count_by_intent(searches.tally.take_counts(), language)

    assert counted.keys() == {search_intent(text, language)}
