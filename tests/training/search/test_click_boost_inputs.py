"""Search choices: the query behind a cart or purchase, compared with a reference."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.ids import visitor_hash
from productrecs.engines.click_boosts import CART, CLICK, PURCHASE
from productrecs.records.events.event import EventKind
from productrecs.training.search.click_boost_inputs import (
    ClickBoostInputs,
    SearchInteractionRows,
)
from productrecs.training.training_inputs import OrderLineArrays, purchase_interaction_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from productrecs.records.events.event_log.repository import EventLogRepository

MINUTE_MS = 60_000
NOW = 1_000 * DAY_MS
CLICKED = EventKind.SEARCH_CLICK
SEARCHED = EventKind.SEARCH_PREF
CARTED = EventKind.ADD_TO_CART


class Log:
    """A log that can be read, as the repository gives it."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def pages_with_terms(
        self, _after: int, _up_to: int, _kinds: object
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Give one page."""
        yield [(seq, *row) for seq, row in enumerate(self._rows)]


def bought(lines: list[tuple[Any, ...]]) -> SearchInteractionRows:
    """Return order lines: (line_seq, ts, item, shopper, session, counts)."""
    columns = zip(*lines, strict=True) if lines else [()] * 6
    line_seqs, times, items, shoppers, sessions, counts = columns
    buyers = [visitor_hash(one) if one else 0 for one in shoppers]
    visitors = [
        visitor_hash(one) if one else buyer
        for one, buyer in zip(sessions, buyers, strict=True)
    ]
    return purchase_interaction_rows(
        OrderLineArrays(
            line_seqs=np.array(line_seqs, np.int64),
            items=np.array(items, np.int32),
            quantities=np.ones(len(items), np.int64),
            times=np.array(times, np.int64),
            is_active=np.array(counts, np.bool_),
            buyers=np.array(buyers, np.int64),
            visitors=np.array(visitors, np.int64),
            baskets=np.zeros(len(items), np.int64),
            totals=np.zeros(len(items)),
        )
    )


def chosen(
    rows: list[tuple[Any, ...]], lines: list[tuple[Any, ...]] | None = None
) -> list[tuple[str, int, float]]:
    """Return (query, item, weight) of every choice, sorted."""
    inputs = ClickBoostInputs()
    inputs.read_searches_and_carts(cast("EventLogRepository", Log(rows)), 0, 1)
    found = inputs.interactions(NOW, bought(lines or []))
    return sorted(
        (inputs.terms[query], item, weight)
        for query, item, weight in zip(
            found.queries.tolist(),
            found.items.tolist(),
            found.weights.tolist(),
            strict=True,
        )
    )


def at(minutes: float) -> int:
    return int(NOW - 30 * DAY_MS + minutes * MINUTE_MS)


def test_a_click_a_cart_and_a_purchase_of_it_are_choices() -> None:
    rows = [
        (at(0), CLICKED, 7, "tent", "anna", "s_1"),
        (at(1), CARTED, 7, None, "anna", "s_1"),
    ]
    lines = [(1, at(2), 7, "anna", None, True)]

    assert chosen(rows, lines) == [
        ("tent", 7, CLICK),
        ("tent", 7, CART),
        ("tent", 7, PURCHASE),
    ]


def test_a_session_and_its_customer_are_one_shopper() -> None:
    rows = [(at(0), CLICKED, 7, "tent", "s_1", "s_1")]

    assert chosen(rows, [(1, at(5), 7, "anna", "s_1", True)])[1:] == [("tent", 7, PURCHASE)]
    assert chosen(rows, [(1, at(5), 7, "anna", None, True)])[1:] == []


def test_windows_end_and_returns_and_voids_are_no_choices() -> None:
    rows = [
        (at(0), CLICKED, 7, "tent", "a", None),
        (at(0) + 24 * HOUR_MS, CARTED, 7, None, "a", None),
        (at(0) + 24 * HOUR_MS + 1, CARTED, 7, None, "a", None),
    ]
    week = 7 * DAY_MS
    lines = [
        (1, at(0) + week, 7, "a", None, True),
        (2, at(0) + week + 1, 7, "a", None, True),
        (3, at(1), 7, "a", None, False),
        (4, at(-1), 7, "a", None, True),
    ]

    assert chosen(rows, lines) == [
        ("tent", 7, CLICK),
        ("tent", 7, CART),
        ("tent", 7, PURCHASE),
    ]


def test_what_is_bought_within_a_visit_belongs_to_its_last_search() -> None:
    rows = [
        (at(0), SEARCHED, None, "tent", "a", None),
        (at(10), SEARCHED, None, "lamp", "a", None),
        (at(20), CARTED, 9, None, "a", None),
        (at(41), CARTED, 8, None, "a", None),
        (at(20), CARTED, 9, None, "b", None),
    ]

    assert chosen(rows) == [("lamp", 9, CART)]


def test_every_choice_is_found_as_a_plain_reading_finds_it() -> None:
    rng = random.Random(3)  # noqa: S311 - a fixed choice
    kinds = (CLICKED, CLICKED, SEARCHED, CARTED)
    rows: list[tuple[Any, ...]] = []
    for place in range(600):
        kind = rng.choice(kinds)
        item = None if kind is SEARCHED else rng.randrange(5)
        term = None if kind is CARTED else f"q{rng.randrange(6)}"
        who = f"u{rng.randrange(8)}"
        session = rng.choice([None, f"s{rng.randrange(8)}"])
        rows.append((at(place * 7), kind, item, term, who, session))

    assert chosen(rows) == sorted(plainly(rows))


def plainly(rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, int, float]]:
    """Give the choices, looking at every row before each."""
    for place, (ts, kind, item, term, who, session) in enumerate(rows):
        if kind is CLICKED:
            yield term, item, CLICK
        if kind is not CARTED:
            continue
        before = [
            row
            for row in rows[:place]
            if row[1] is not CARTED and (row[4] == who or (session and row[5] == session))
        ]
        clicks = [
            row
            for row in before
            if row[1] is CLICKED and row[2] == item and ts - row[0] <= 24 * HOUR_MS
        ]
        visits = [row for row in before if ts - row[0] <= 30 * MINUTE_MS]
        last = (clicks or visits)[-1:]
        if last:
            yield last[0][3], item, CART
