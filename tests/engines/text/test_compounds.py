"""Compound splitting by the catalog's words: a Winterjacke is a Jacke, a Motor no Tor."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import (
    IndexQuery,
    IndexWriter,
    QueryRelaxation,
    SearchIndex,
)

TITLES = (
    "Jacke, blau",
    "Winterjacke Herren",
    "Schal f\u00fcr den Winter",
    "Motor 12 V",
    "Gartentor aus Holz",
    "Garten Bank",
    "Arbeitshosen, schwarz",
    "Arbeit leicht gemacht",
    "Jacken f\u00fcr Hunde im Winter",
    "Kreisel",
)


@pytest.fixture(params=["de", "en"])
def indexes(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, SearchIndex]:
    """Return a language and an index in it."""
    language = str(request.param)
    return language, indexed(tmp_path, language)


def indexed(folder: Path, language: str) -> SearchIndex:
    with IndexWriter(folder, language) as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(TITLES)), are_new=True)
        writer.commit()
    return SearchIndex(folder, language)


@pytest.mark.parametrize(
    ("query", "german", "english"),
    [
        ("Jacke ", {0, 1, 8}, {0, 8}),
        ("jacken ", {0, 1, 8}, {0, 8}),
        ("Tor ", set(), set()),
        ("Hose ", {6}, set()),
        ("Winterschal ", {2, 8}, set()),
        ("Eisel ", set(), set()),
        ("Bank ", {5}, {5}),
    ],
)
def test_a_word_finds_what_is_made_of_it(
    indexes: tuple[str, SearchIndex], query: str, german: set[int], english: set[int]
) -> None:
    language, index = indexes
    found = index.find(
        IndexQuery(index.analyse(query), 10, np.ones(len(TITLES), dtype=np.bool_))
    )

    assert set(found.items) == (german if language == "de" else english)


def test_what_is_called_so_comes_before_what_is_made_of_it(tmp_path: Path) -> None:
    index, visible = indexed(tmp_path, "de"), np.ones(len(TITLES), dtype=np.bool_)

    assert index.find(IndexQuery(index.analyse("jacke "), 10, visible)).items[-1] == 1
    assert index.find(IndexQuery(index.analyse("winterjacke "), 10, visible)).items[0] == 1
    assert index.find(IndexQuery(index.analyse("gartenjacke "), 10, visible)).items[:1] != [
        3
    ]


def test_a_part_of_compounds_is_no_mistake_and_each_suggestion_finds_something(
    tmp_path: Path,
) -> None:
    titles = ("Herrenjacke", "Damenjacke rot", "Schuhe f\u00fcr Damen", "Damenschuhe")
    with IndexWriter(tmp_path, "de") as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(titles)), are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "de"), np.ones(len(titles), dtype=np.bool_)

    def offered(query: str) -> list[str]:
        return [
            " ".join(one.words)
            for one in index.suggest(index.analyse(query), 5, visible).next
        ]

    assert index.suggest(index.analyse("jacke "), 5, visible).meant is None
    assert (
        index.find(IndexQuery(index.analyse("jacke "), 5, visible)).relaxed
        is QueryRelaxation.NOTHING
    )
    assert offered("schuhe damen") == ["schuhe damen"]
    assert offered("schuhe f\u00fcr dam") == ["schuhe fur damen"]
    assert offered("schuhe f\u00fcr") == ["schuhe", "damenschuhe"]
