"""Relevance feedback: similar products rise from far down, within their tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.text import relevance_feedback, search_index
from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Ninety lamps whose titles fit alike: the first forty, half of the others and no more are
# for a desk. Ten more say it only in their descriptions.
LAMPS, COUNT = 90, 100
DESK = [*range(40), *range(40, LAMPS, 2)]
VISIBLE = np.ones(COUNT, dtype=np.bool_)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    """Give the index of the lamps."""
    folder: Path = tmp_path_factory.mktemp("lamps")
    with IndexWriter(folder, "en") as writer:
        writer.put(_lamps(), are_new=True)
        writer.commit()
    return SearchIndex(folder, "en")


def _lamps() -> Iterator[ProductText]:
    for n in range(LAMPS):
        own = f"{chr(97 + n // 26)}{chr(97 + n % 26)}q"
        kind = "swing arm desk" if n in DESK else f"x{own} y{own} z{own}"
        yield ProductText(n, f"{kind} lamp")
    for n in range(LAMPS, COUNT):
        yield ProductText(n, "shade for swing arm desk", description="fits a lamp")


def test_what_is_like_the_best_comes_before_what_only_has_the_word(
    index: SearchIndex,
) -> None:
    found = index.find(IndexQuery(index.analyse("lamp "), 80, VISIBLE))
    assert set(found.items[: len(DESK)]) == set(DESK)
    assert found.scores == sorted(found.scores, reverse=True)


def test_control_without_likeness_the_words_alone_decide(
    index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance_feedback, "_MAX_BONUS", 0.0)
    found = index.find(IndexQuery(index.analyse("lamp "), 80, VISIBLE))
    assert set(found.items[: len(DESK)]) != set(DESK)


def test_without_likeness_where_a_caller_has_other_reasons(index: SearchIndex) -> None:
    found = index.find(IndexQuery(index.analyse("lamp "), 80, VISIBLE, with_feedback=False))
    assert set(found.items[: len(DESK)]) != set(DESK)


def test_the_first_page_and_short_lists_stay_as_they_are(index: SearchIndex) -> None:
    short = index.find(IndexQuery(index.analyse("lamp "), 36, VISIBLE))
    long = index.find(IndexQuery(index.analyse("lamp "), 80, VISIBLE))
    assert (
        long.items[: search_index.FEEDBACK_DEPTH]
        == short.items[: search_index.FEEDBACK_DEPTH]
    )
    assert len(short.items) == 36


def test_what_holds_only_some_of_the_words_stays_behind(index: SearchIndex) -> None:
    found = index.find(IndexQuery(index.analyse("arm lamp "), 95, VISIBLE))
    assert found.with_every_word == len(DESK) + 10
    some = found.items[found.with_every_word :]
    assert not set(some) & set(DESK)
    assert all(n >= LAMPS for n in found.items[len(DESK) : found.with_every_word])
