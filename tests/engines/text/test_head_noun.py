"""Head noun: what a product is, by its title, without accessories and comparisons."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.head_nouns import head_nouns
from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, SearchIndex


@pytest.mark.parametrize(
    ("title", "heads"),
    [
        ("Laptop battery 2600mAh 4-cell for Lenovo Touch", ["battery"]),
        ("Men's gold dress watch", ["watch"]),
        ("Skater dress - yellow", ["dress", "yellow"]),
        ("Camera case with strap, black", ["case", "black"]),
        ("For sale", ["sale"]),
        ("A-1 200", []),
        ("", []),
        ("W/ - , ( for", ["for"]),
    ],
)
def test_the_last_word_before_what_it_goes_with_says_what_it_is(
    title: str, heads: list[str]
) -> None:
    assert head_nouns(title, "en") == heads


def test_other_languages_have_other_links_or_none() -> None:
    assert head_nouns("Akku f\u00fcr Laptop", "de") == ["Akku"]
    assert head_nouns("Batterie pour ordinateur", "fr") == []


def test_what_is_searched_for_comes_before_what_goes_with_it(tmp_path: Path) -> None:
    titles = (
        "Dress watch, gold",
        "Portable hard drive case",
        "Gold sequin dress with belt, long",
        "Portable hard drive, black",
    )
    with IndexWriter(tmp_path, "en") as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(titles)), are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(titles), dtype=np.bool_)

    assert index.find(IndexQuery(index.analyse("gold dress"), 5, visible)).items[:2] == [
        2,
        0,
    ]
    assert index.find(IndexQuery(index.analyse("portable hard drive"), 5, visible)).items[
        :2
    ] == [3, 1]
    assert index.find(IndexQuery(index.analyse("case"), 5, visible)).items == [1]


def test_what_is_searched_for_comes_first_of_partial_matches_too(tmp_path: Path) -> None:
    titles = ("Table runner, jute", "Coffee beans", "Table lamp", "Camp table, roll-up")
    with IndexWriter(tmp_path, "en") as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(titles)), are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(titles), dtype=np.bool_)

    found = index.find(IndexQuery(index.analyse("table coffee "), 5, visible))
    assert found.items[0] == 1
    found = index.find(IndexQuery(index.analyse("coffee table "), 5, visible))
    assert next(one for one in found.items if one != 1) == 3


@pytest.mark.parametrize(
    ("query", "first", "same_head_noun"),
    [
        ("coffee table", [1], 1),
        ("xylophone table", [1], 1),  # a word that no product has
        ("table coffee", [2], 1),
        ("table lamp", [3], 0),  # a product has both words
        ("hot coffee table", [2], 0),  # three words
        ("table", [1], 0),
    ],
)
def test_of_two_words_that_no_product_has_both_of_the_head_noun_comes_first(
    tmp_path: Path, query: str, first: list[int], same_head_noun: int
) -> None:
    products = [
        ProductText(0, "Table runner, jute", categories=("Table linen",)),
        ProductText(1, "Camp table, roll-up", categories=("Camping",)),
        ProductText(2, "Ground coffee"),
        ProductText(3, "Table lamp"),
    ]
    with IndexWriter(tmp_path, "en") as writer:
        writer.put(products, are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(products), dtype=np.bool_)

    hits = index.find(IndexQuery(index.analyse(f"{query} "), 5, visible))

    assert (hits.items[:1], hits.same_head_noun) == (first, same_head_noun)
    assert hits.scores == sorted(hits.scores, reverse=True)


def test_a_known_word_is_not_completed_where_others_are_missing(tmp_path: Path) -> None:
    products = [
        ProductText(0, "Bee hotel"),
        ProductText(1, "Milk frother", description="for hot foam"),
        ProductText(2, "Coffee beans"),
        ProductText(3, "Coffee tin, hotel size"),
    ]
    with IndexWriter(tmp_path, "en") as writer:
        writer.put(products, are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(products), dtype=np.bool_)

    def find(text: str) -> list[int]:
        return list(index.find(IndexQuery(index.analyse(text), 5, visible)).items)

    assert {0, 1} < set(find("hot"))  # it may become "hotel"
    found = find("keep coffee hot")
    assert found[0] == 3  # with every word, if it does
    assert set(found) == {1, 2, 3}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("red trainers", [1]),
        ("trainers red", [0, 1]),
        ("trainers size m", [1]),
        ("blood orange", [3, 4]),
        ("red orange", [3]),
        ("red m", [0, 2]),
    ],
)
def test_a_colour_or_size_alone_is_no_match_beside_the_name_of_a_product(
    tmp_path: Path, query: str, expected: list[int]
) -> None:
    products = (
        ("Red lentils", ""),
        ("Canvas shoes", "Low trainers."),
        ("Gardening gloves, M", ""),
        ("Orange juice", ""),
        ("Blood pressure monitor", ""),
    )
    with IndexWriter(tmp_path, "en") as writer:
        texts = (
            ProductText(number, title, description=description)
            for number, (title, description) in enumerate(products)
        )
        writer.put(texts, are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(products), dtype=np.bool_)

    found = index.find(IndexQuery(index.analyse(f"{query} "), 5, visible)).items

    assert sorted(found) == expected


def test_a_colour_alone_is_found_where_no_visible_product_has_the_name(
    tmp_path: Path,
) -> None:
    with IndexWriter(tmp_path, "en") as writer:
        titles = ("Red lentils", "Trainers")
        writer.put((ProductText(n, title) for n, title in enumerate(titles)), are_new=True)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.array([True, False])

    assert index.find(IndexQuery(index.analyse("red trainers "), 5, visible)).items == [0]
