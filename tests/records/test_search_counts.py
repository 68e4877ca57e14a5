"""Search counter: counts queries that shoppers stay with, not keystrokes."""

from collections import Counter

import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.records.search_counts import search_counter as limits
from productrecs.records.search_counts.repository import (
    QuestionCount,
    SearchCountRepository,
    read_question_counts,
)
from productrecs.records.search_counts.search_counter import (
    ObservedSearch,
    OfferedQuestion,
    QuestionCounter,
    SearchCounter,
    count_by_intent,
    search_intent,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import raw_connection

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
            self.tally.record_search(
                ObservedSearch(STORE, text, is_empty=len(text) > 9), who
            )

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


@pytest.mark.parametrize("pause", [1.0, 3.5, 4.5, 60.0])
def test_the_results_page_of_a_typed_query_is_the_same_search(
    searches: TypedSearches, pause: float
) -> None:
    searches.type("mu", "mug")
    searches.type("mug", each=pause)  # no counting in between

    assert searches.counted() == {"mug": 1}


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


class Asked:
    """Questions in a store, at a time that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.counter = QuestionCounter(lambda: self.now)

    def search(
        self,
        text: str,
        asked: str = "",
        filtered: tuple[str, ...] = (),
        who: str = "a",
        answered: str = "",
    ) -> None:
        """Search with filters of some kinds; the reply asks for an attribute."""
        search = ObservedSearch(STORE, text, is_empty=False)
        self.counter.record_search(search, who, asked, filtered, answered)

    def counts(self, *, at_once: bool = False) -> dict[tuple[str, bool], int]:
        """Return the counts by attribute, and by whether it was answered."""
        counts = self.counter.take_counts(at_once=at_once)
        return {(one.attribute, one.is_answered): times for one, times in counts.items()}


def test_a_filter_of_the_attribute_that_was_asked_for_is_an_answer() -> None:
    asked = Asked()

    asked.search("shoe ", "color")
    asked.search("Shoe", "size", ("color",))
    asked.search("shoe", "", ("color", "size"))

    assert asked.counts() == {("color", True): 1, ("size", True): 1}
    assert asked.counts(at_once=True) == {}


@pytest.mark.parametrize(
    ("text", "filtered", "who", "seconds", "expected"),
    [
        ("shoes", (), "a", 1.0, {}),  # typed on before they saw it
        ("shoes", (), "a", 5.0, {("color", False): 1}),
        ("shoe", ("brand",), "a", 5.0, {("color", False): 1}),
        ("boot", ("color",), "a", 5.0, {("color", False): 1}),
        ("shoe", ("color",), "b", 5.0, {}),  # another shopper's; "a" may still answer
        ("shoe", ("color",), "a", 1.0, {("color", True): 1}),
    ],
)
def test_a_question_counts_once_shoppers_saw_or_answered_it(
    text: str,
    filtered: tuple[str, ...],
    who: str,
    seconds: float,
    expected: dict[tuple[str, bool], int],
) -> None:
    asked = Asked()
    asked.search("shoe", "color")
    asked.now += seconds

    asked.search(text, "", filtered, who)

    assert asked.counts() == expected


def test_an_answer_counts_although_another_process_asked() -> None:
    asking, answering = Asked(), Asked()
    asking.search("shoe", "color")
    asking.now += 300.0

    answering.search("shoe", "size", ("color",), answered="color")
    answering.search("shoe", "size", ("color",), answered="brand")  # not a filter of it

    elsewhere = OfferedQuestion(STORE, "color", is_answered=True, is_counted_elsewhere=True)
    assert answering.counter.take_counts() == {elsewhere: 1}
    assert asking.counts() == {("color", False): 1}, "it was seen, once"


def test_an_answer_to_the_process_that_asked_counts_once() -> None:
    asked = Asked()
    asked.search("shoe", "color")

    asked.search("shoe", "", ("color",), answered="color")

    assert asked.counter.take_counts() == {
        OfferedQuestion(STORE, "color", is_answered=True): 1
    }


def test_a_question_without_an_answer_counts_after_two_minutes_and_once() -> None:
    asked = Asked()
    asked.search("shoe", "color")
    asked.now += 60
    asked.search("shoe", "color")  # the same results again
    assert asked.counts() == {}

    asked.now += 60

    assert asked.counts() == {("color", False): 1}
    asked.search("shoe", "", ("color",))
    assert asked.counts(at_once=True) == {}


def test_the_questions_of_a_day_add_up_and_are_deleted_with_its_searches(
    database: Database,
) -> None:
    with database.transaction() as transaction:
        ours = SearchCountRepository(transaction, STORE)
        ours.add_questions("2026-03-01", [QuestionCount("color", 4, 1)])
        ours.add_questions(
            "2026-03-01", [QuestionCount("color", 2, 2), QuestionCount("size", 9, 0)]
        )
        ours.add_questions("2026-03-02", [QuestionCount("color", 1, 0)])

    def stored(store_id: StoreId = STORE) -> list[QuestionCount]:
        with database.reading() as connection:
            days = ("2026-03-01", "2026-03-02")
            return read_question_counts(raw_connection(connection), store_id, days)

    assert stored() == [QuestionCount("size", 9, 0), QuestionCount("color", 7, 3)]
    assert stored(StoreId("another")) == []
    with database.transaction() as transaction:
        SearchCountRepository(transaction, STORE).delete_before("2026-03-02")
    assert stored() == [QuestionCount("color", 1, 0)]
