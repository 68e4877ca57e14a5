"""Shown lists: reconstructed with their page and their clicks."""

from __future__ import annotations

import pytest

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.records.events.event import EventKind
from productrecs.training.repository import RankingFact
from productrecs.training.shown_lists import ShownList, ShownListReader

NOW = 1_772_366_400_000
VIEW, CART = EventKind.DETAIL_PAGE_VIEW, EventKind.ADD_TO_CART
CLICK, BUY = EventKind.REC_CLICK, EventKind.BUY


class Log:
    """A store's log, written as it happens."""

    def __init__(self) -> None:
        self.facts: list[RankingFact] = []
        self.bought: list[RankingFact] = []
        self.now = NOW
        self._seq = 0

    def do(self, kind: EventKind, item: int, person: str = "anna") -> Log:
        """Let somebody do something."""
        self._put(self.bought if kind is BUY else self.facts, kind, item, person, None)
        return self

    def show(self, *items: int, person: str = "anna", places: bool = True) -> Log:
        """Let a list be shown."""
        for place, item in enumerate(items, 1):
            at = place if places else None
            self._put(self.facts, EventKind.REC_IMPRESSION, item, person, at)
        return self

    def after(self, ms: int) -> Log:
        """Let time pass."""
        self.now += ms
        return self

    def _put(
        self,
        where: list[RankingFact],
        kind: EventKind,
        item: int,
        person: str,
        at: int | None,
    ) -> None:
        self._seq += 1
        where.append(RankingFact(self._seq, self.now, int(kind), item, person, at))

    def read(self) -> ShownListReader:
        """Return what is read of it all."""
        reading = ShownListReader()
        reading.read(self.facts, self.bought)
        return reading


def one_list(log: Log) -> ShownList:
    found = log.read().with_outcome
    assert len(found) == 1
    return found[0]


def test_a_list_knows_its_page_its_places_and_what_was_taken_up() -> None:
    log = Log().do(VIEW, 7).after(5).show(1, 2, 3).after(5).do(CLICK, 2)

    found = one_list(log)

    assert (found.page, found.items, found.places) == (7, [1, 2, 3], [1, 2, 3])
    assert found.outcomes == [0, 1, 0]
    assert found.recent == (7,)


@pytest.mark.parametrize(("kind", "what"), [(CLICK, 1), (CART, 2), (BUY, 3)])
def test_the_most_that_was_done_counts(kind: EventKind, what: int) -> None:
    log = Log().show(1, 2, 3).after(5).do(CLICK, 3).do(kind, 3)

    assert one_list(log).outcomes == [0, 0, what]


def test_the_last_list_with_a_product_is_the_one_it_was_taken_up_of() -> None:
    log = Log().show(1, 2, 3).after(5).show(4, 2, 5).after(5).do(CLICK, 2)

    assert one_list(log).items == [4, 2, 5]


def test_lists_of_two_people_are_two_and_clicks_are_their_own() -> None:
    log = Log().show(1, 2, 3).show(1, 2, 3, person="ben").after(5).do(CLICK, 1)

    reading = log.read()

    assert reading.lists == 2
    assert [one.person for one in reading.with_outcome] == ["anna"]


@pytest.mark.parametrize(
    "log",
    [
        Log().show(1, 2, 3).after(DAY_MS + 1).do(CLICK, 1),
        Log().show(1, 2).after(5).do(CLICK, 1),
        Log().show(1, 2, 3, places=False).after(5).do(CLICK, 1),
        Log().show(1, 2, 3).after(5).do(VIEW, 1),
    ],
    ids=["too late", "too short", "no places", "only seen"],
)
def test_what_teaches_nothing_is_left_out(log: Log) -> None:
    assert log.read().with_outcome == []


def test_a_page_of_half_an_hour_ago_is_not_the_lists_page() -> None:
    log = Log().do(VIEW, 7).after(31 * MINUTE_MS).show(1, 2, 3).after(5).do(CLICK, 1)

    found = one_list(log)

    assert found.page is None
    assert found.recent == (7,)


def test_what_was_known_of_a_product_is_as_of_then() -> None:
    log = Log().show(1, 2, 3).after(5).do(CLICK, 1).show(1, 2, 3).after(5).do(CLICK, 2)

    first, second = log.read().with_outcome

    assert first.rates[0] == first.rates[1] == 1.0
    assert second.rates[0] > 1.0 > second.rates[1]


def test_places_count_what_was_shown_and_clicked() -> None:
    log = Log().show(1, 2, 3).after(5).do(CLICK, 2).after(5).show(2, 4, 6).do(CLICK, 2)

    reading = log.read()

    assert reading.shown[:4] == [2, 2, 2, 0]
    assert reading.clicked[:4] == [1, 1, 0, 0]
