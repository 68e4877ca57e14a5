"""Search counter: counts queries that shoppers stay with, not keystrokes."""

from __future__ import annotations

from collections import Counter

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.search_counts import search_counter as limits
from productrecs.records.search_counts.search_counter import ObservedSearch, SearchCounter

STORE = StoreId("st_1")


class Hall:
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
        self.tally.finish_typing()
        return Counter({one.text: n for one, n in self.tally.take_counts().items()})


@pytest.fixture
def hall() -> Hall:
    """Return an empty one."""
    return Hall()


def test_the_letters_of_a_word_are_one_search(hall: Hall) -> None:
    hall.type("t", "te", "ten", "tent")

    assert hall.counted() == {"tent": 1}
    assert hall.counted() == {}


def test_nothing_is_counted_while_somebody_types(hall: Hall) -> None:
    hall.type("t", "te")

    assert hall.counted(after=1.0) == {}
    hall.type("tent")
    assert hall.counted() == {"tent": 1}


def test_going_back_and_on_to_something_else_is_one_search(hall: Hall) -> None:
    hall.type("tenr", "ten", "te", "t", "l", "la", "lam", "lamp")

    assert hall.counted() == {"lamp": 1}


def test_two_searches_without_a_pause_are_two(hall: Hall) -> None:
    hall.type("tent", "lamp")

    assert hall.counted() == {"tent": 1, "lamp": 1}


def test_going_on_after_a_pause_is_another_search(hall: Hall) -> None:
    hall.type("tent")
    assert hall.counted() == {"tent": 1}
    hall.type("tent p", "tent pe", "tent pegs")

    assert hall.counted() == {"tent pegs": 1}


def test_the_same_again_within_two_minutes_is_not_another(hall: Hall) -> None:
    hall.type("tent")
    first = hall.counted()
    hall.type("Tent ", each=60)
    again = hall.counted()
    hall.type("tent", each=130)

    assert (first, again, hall.counted()) == ({"tent": 1}, {}, {"tent": 1})


def test_everybody_types_for_themselves(hall: Hall) -> None:
    for who in ("anna", "ben"):
        hall.type("te", "tent", who=who)

    assert hall.counted() == {"tent": 2}


def test_a_stop_counts_what_is_being_typed(hall: Hall) -> None:
    hall.type("tent")
    hall.tally.finish_typing(at_once=True)

    assert hall.counted() == {"tent": 1}


def test_memory_is_bounded_and_lost_counts_are_counted(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TYPING", 10)
    monkeypatch.setattr(limits, "MAX_WAITING", 20)
    for n in range(100):
        hall.type(f"query {n}", who=n, each=0)

    assert sum(hall.counted().values()) == 20
    assert hall.tally.lost == 80


def test_what_could_not_be_kept_waits_again(hall: Hall) -> None:
    hall.type("tent")
    hall.now += 5
    hall.tally.finish_typing()
    hall.tally.put_back(hall.tally.take_counts())

    assert hall.counted() == {"tent": 1}
