"""Synonyms: they match, also unfinished and misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import (
    IndexQuery,
    IndexWriter,
    QueryRelaxation,
    SearchIndex,
)
from productrecs.engines.text.vocabulary import edit_distance, may_be_correction

if TYPE_CHECKING:
    from pathlib import Path

TITLES = ("Blue couch", "Grey sofa", "Cell phone", "Mobile case", "Oak table", "Love seat")
VISIBLE = np.ones(len(TITLES), dtype=np.bool_)
SAID = {
    ("sofa",): (("couch",), ("love", "seat")),
    ("couch",): (("sofa",), ("love", "seat")),
    ("cell", "phone"): (("mobile",),),
    ("davenport",): (("sofa",),),  # the catalog has no such word
    ("chaise", "longu"): (("sofa",),),  # a text of two, as stems
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    folder: Path = tmp_path_factory.mktemp("index")
    with IndexWriter(folder, "en") as writer:
        writer.put(ProductText(number, title) for number, title in enumerate(TITLES))
        writer.commit()
    return SearchIndex(folder, "en")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sofa ", [1, 0, 5]),
        ("sofas", [1, 0, 5]),
        ("couch ", [0, 1, 5]),
        ("cuoch", [0, 1, 5]),
        ("blue sofa", [0, 1, 5]),
        ("cell phone", [2, 3]),
        ("davenport", [1]),
        ("davenprot", [1]),
        ("daven", [1]),
        ("chaise longue", [1]),
        ("chaise lon", [1]),
        ("chaise lnogue ", [1]),
        ("table ", [4]),
    ],
)
def test_a_word_finds_its_synonyms_after_itself(
    index: SearchIndex, query: str, found: list[int]
) -> None:
    items = index.find(IndexQuery(index.analyse(query), 6, VISIBLE, SAID)).items

    assert items[0] == found[0]
    assert set(items) == set(found)


def test_control_without_synonyms(index: SearchIndex) -> None:
    assert index.find(IndexQuery(index.analyse("sofa "), 6, VISIBLE)).items == [1]
    assert index.find(IndexQuery(index.analyse("davenport"), 6, VISIBLE)).items == []


def test_a_synonym_is_no_guess(index: SearchIndex) -> None:
    assert (
        index.find(IndexQuery(index.analyse("davenport"), 6, VISIBLE, SAID)).relaxed
        is QueryRelaxation.NOTHING
    )


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("a", "a", 0),
        ("ab", "ba", 1),
        ("kitten", "sitting", 3),
        ("", "ab", 2),
        ("ca", "abc", 3),
    ],
)
def test_a_swap_of_neighbours_is_one_edit(one: str, other: str, edits: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == edits


def test_short_words_and_codes_are_never_mistyped() -> None:
    assert not may_be_correction("seta", "seat", is_typing=False)
    assert not may_be_correction("ps34", "ps345", is_typing=False)
    assert may_be_correction("ps34", "ps345", is_typing=True)
