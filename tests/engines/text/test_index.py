"""Text index: finds what was meant, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text import word_interpreter
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.index_schema import BrokenIndexError, ProductText
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.engines.text.search_hyperparameters import (
    InterpretationLimits,
)
from productrecs.engines.text.search_index import (
    IndexQuery,
    IndexWriter,
    QueryRelaxation,
    SearchIndex,
)

TITLES = (
    "Laptop 15 inch",  # 0
    "Lap top stand",  # 1
    "Garden tent, green",  # 2
    "Camping tent for two",  # 3
    "Refrigerator, white",  # 4
    "Red shoes",  # 5
    "Running shoe, red sole, for women",  # 6
    "Charger 65W USB-C",  # 7
    "Bookcase in oak",  # 8
    "Greener lawn seed",  # 9
    "Headphones over ear",  # 10
    "Screw M6 10 mm",  # 11
)
ALL = np.ones(len(TITLES) + 1, dtype=np.bool_)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    folder = tmp_path_factory.mktemp("index")
    with IndexWriter(folder, "en") as writer:
        writer.put(
            ProductText(number, title, (f"id-{number}", f"SKU {number}77"), ("Shop",))
            for number, title in enumerate(TITLES)
        )
        words = "for chargers and laptops, by refrigerator makers. Not a tent."
        writer.put([ProductText(12, "Cable", ("c",), ("Electronics > Cables",), words)])
        writer.commit()
    return SearchIndex(folder, "en")


def search(index: SearchIndex, query: str, limit: int = 5) -> list[int]:
    return index.find(IndexQuery(index.analyse(query), limit, ALL)).items


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("laptop", 0),
        ("lap top", 1),
        ("laptops", 0),
        ("LÁPTOP", 0),
        ("garden tents", 2),
        ("tent camping", 3),
        ("red shoe", 5),
        ("shoes women", 6),
        ("65 watt charger", 7),
        ("m6 screws 10mm", 11),
        ("book case", 8),
        ("cables", 12),
        ("refrigerator", 4),  # in a title before a description
    ],
)
def test_words_find_their_product_first(index: SearchIndex, query: str, first: int) -> None:
    assert search(index, query)[0] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("labtop", 0),
        ("lpatop", 0),
        ("laptpo", 0),
        ("refrigirator", 4),
        ("refridgerater", 4),
        ("eradphones", 10),
        ("hedaphones", 10),
        ("garden tnt", 2),
        ("bokcase", 8),
        ("charger usbc", 7),
        ("headphonesover", 10),
    ],
)
def test_mistypings_find_what_was_meant(index: SearchIndex, query: str, first: int) -> None:
    assert search(index, query)[0] == first


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("lapt", 0),
        ("refr", 4),
        ("red sho", 5),
        ("head", 10),
        ("headphn", 10),
        ("65w ch", 7),
    ],
)
def test_the_last_word_may_be_unfinished(
    index: SearchIndex, query: str, first: int
) -> None:
    assert search(index, query)[0] == first


def test_a_blank_at_the_end_says_that_the_word_is_whole(index: SearchIndex) -> None:
    assert search(index, "refr")
    assert not search(index, "refr ")


@pytest.mark.parametrize(
    "query",
    [
        "greece",  # not greener: too many letters differ
        "tant",  # four letters are never another word
        "65v",  # nor are codes and numbers
        "m7",
        "xylophone",
        "qwrtzpsd",
        "...",
        "",
    ],
)
def test_what_means_nothing_here_finds_nothing(index: SearchIndex, query: str) -> None:
    assert search(index, query) == []


def test_control_without_limits_something_wrong_is_found(
    index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = InterpretationLimits(unfinished_mistyped_from=2)
    monkeypatch.setattr(word_interpreter, "LIMITS", loose)
    index.reload()  # what words mean is remembered until then
    try:
        assert search(index, "greece")
    finally:
        monkeypatch.undo()
        index.reload()


@pytest.mark.parametrize("code", ["id-3", "ID-3", "sku 377", "SKU377", "sku-377"])
def test_an_exact_id_or_sku_comes_first(index: SearchIndex, code: str) -> None:
    result = index.find(IndexQuery(index.analyse(code), 5, ALL))

    assert (result.items[0], result.exact) == (3, 1)
    assert result.scores == sorted(result.scores, reverse=True)


def test_hits_say_how_the_query_was_relaxed(index: SearchIndex) -> None:
    assert (
        index.find(IndexQuery(index.analyse("laptop"), 1, ALL)).relaxed
        is QueryRelaxation.NOTHING
    )
    assert (
        index.find(IndexQuery(index.analyse("labtop"), 1, ALL)).relaxed
        is QueryRelaxation.SPELLING
    )
    assert (
        index.find(IndexQuery(index.analyse("garden xylophone"), 5, ALL)).relaxed
        is QueryRelaxation.WORDS
    )
    assert (
        index.find(IndexQuery(index.analyse("garden laptop"), 5, ALL)).relaxed
        is QueryRelaxation.WORDS
    )


def test_every_word_comes_before_some_words_and_scores_fall(index: SearchIndex) -> None:
    result = index.find(IndexQuery(index.analyse("red shoes women"), 10, ALL))

    assert result.items[0] == 6
    assert result.scores == sorted(result.scores, reverse=True)
    assert len(set(result.items)) == len(result.items) > 1


@pytest.mark.parametrize(
    ("language", "titles", "query", "first"),
    [
        # "tank" is rare, "water" and "heater" are not: two words count more than one.
        (
            "en",
            [*["Water heater"] * 9, "Tank top in white"],
            "water heater propane tank",
            0,
        ),
        # A compound is as many words as it stands for.
        (
            "de",
            [
                "Damenschuhe, Modell Anna, in Grau, mit Riemen und Schnalle",
                *["Damenschuhe, Schuhe", "Schuhe", "Damen"] * 4,
                "Wildleder",
            ],
            "schuhe damen wildleder",
            0,
        ),
    ],
)
def test_products_with_more_of_the_words_come_first(
    tmp_path: Path, language: str, titles: list[str], query: str, first: int
) -> None:
    with IndexWriter(tmp_path, language) as writer:
        writer.put(ProductText(number, title) for number, title in enumerate(titles))
        writer.commit()
    index = SearchIndex(tmp_path, language)
    hits = index.find(
        IndexQuery(index.analyse(f"{query} "), 20, np.ones(len(titles), dtype=np.bool_))
    )
    rarest = len(titles) - 1
    assert hits.items.index(first) < hits.items.index(rarest)
    assert hits.scores == sorted(hits.scores, reverse=True)


def test_only_the_visible_is_found_however_far_down(index: SearchIndex) -> None:
    one = np.zeros(13, dtype=np.bool_)
    one[12] = True

    assert index.find(IndexQuery(index.analyse("laptop"), 1, one)).items == [12]
    assert index.find(IndexQuery(index.analyse("laptop"), 1, ALL[:1])).items == [0]
    assert index.find(IndexQuery(index.analyse("laptop"), 5, ALL[:0])).items == []


@pytest.mark.parametrize("known", [0, 4])
def test_what_came_after_the_catalog_was_read_is_not_shown(
    index: SearchIndex, known: int
) -> None:
    items = index.find(
        IndexQuery(index.analyse("red shoe tent garden"), 20, ALL[:known])
    ).items
    assert items == ([2, 3] if known else [])


def test_a_change_is_found_after_the_commit_and_a_removal_is_not(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, "en") as writer:
        writer.put([ProductText(1, "Blue kite"), ProductText(2, "Blue kite too")])
        writer.commit()
        index = SearchIndex(tmp_path, "en")
        writer.put([ProductText(1, "Green sledge")])
        writer.remove([2])
        writer.commit()

        assert set(search(index, "kite")) == {1, 2}
        index.reload()

    assert search(index, "kite") == []
    assert search(index, "sledge") == [1]
    assert len(index) == 1


def test_what_is_remembered_of_words_is_forgotten_when_they_change(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, "en") as writer:
        writer.put([ProductText(1, "Blue kite")])
        writer.commit()
        index = SearchIndex(tmp_path, "en")
        for query in ("sledge", "sledg", "slegde ", "kites"):
            assert search(index, query) == ([1] if query == "kites" else [])
        writer.put([ProductText(2, "Green sledge")])
        writer.remove([1])
        writer.commit()
        index.reload()
        for query in ("sledge", "sledg", "slegde "):
            assert search(index, query) == [2]
        assert search(index, "kites") == []
        writer.put([ProductText(1, "Blue kite")])  # a word that the index once had
        writer.commit()
        index.reload()

    assert search(index, "kites") == [1]


def test_two_words_written_as_one_are_read_apart_where_products_are_both(
    tmp_path: Path,
) -> None:
    with IndexWriter(tmp_path, "en") as writer:
        for n in range(6):
            writer.put([ProductText(n, f"Tank model {n}", (), ("Men > Tops",))])
            writer.put([ProductText(n + 6, f"Kettle model {n}", (), ("Kitchen",))])
        writer.commit()
    index = SearchIndex(tmp_path, "en")

    apart = index.find(IndexQuery(index.analyse("tanktop"), 20, ALL))
    assert (set(apart.items), apart.relaxed) == ({*range(6)}, QueryRelaxation.SPELLING)
    assert search(index, "kettletop") == []  # nothing is both


def test_what_is_no_index_is_refused_in_our_words(tmp_path: Path) -> None:
    with pytest.raises(BrokenIndexError):
        SearchIndex(tmp_path / "nothing", "en")
    with IndexWriter(tmp_path, "en") as writer:
        writer.put([ProductText(1, "Blue kite")])
        writer.commit()
    for file in (tmp_path / "products").glob("*.term"):
        file.write_bytes(b"")

    with pytest.raises(BrokenIndexError):
        SearchIndex(tmp_path, "en").find(
            IndexQuery(AnalysedQuery.of("kite", LanguageAnalyzer("en")), 1, ALL)
        )


def test_there_is_one_writer_at_a_time(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, "en"), pytest.raises(BrokenIndexError):
        IndexWriter(tmp_path, "en")
