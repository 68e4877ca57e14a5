"""Languages: queries with inflections find products in each language."""

import json
from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
    detect_language,
)
from productrecs.engines.text.opening_and_gift_phrases import (
    without_opening_phrase,
)
from productrecs.engines.text.query_suggestions import spell_as_title
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, SearchIndex
from productrecs.engines.text.tokenizer import query_words

SAMPLES = json.loads(Path(__file__).with_name("languages.json").read_text("utf-8"))
"""What shops sell, by language; queries and the products that they find; texts of each."""

LANGUAGES = {"mode": "de"}


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SearchIndex]:
    """Return the index of each shop."""
    return {
        code: indexed(tmp_path_factory.mktemp(code), LANGUAGES.get(code, code), titles)
        for code, titles in SAMPLES["shops"].items()
    }


def indexed(folder: Path, code: str, titles: list[str]) -> SearchIndex:
    with IndexWriter(folder, code) as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(titles)), are_new=True)
        writer.commit()
    return SearchIndex(folder, code)


@pytest.mark.parametrize(("code", "query", "wanted"), SAMPLES["queries"])
def test_forms_accents_and_compounds_find_what_is_meant(
    shops: dict[str, SearchIndex], code: str, query: str, wanted: int
) -> None:
    found = shops[code].find(
        IndexQuery(shops[code].analyse(query), 5, np.ones(9, dtype=np.bool_))
    )

    assert found.items[:1] == [wanted]


@pytest.mark.parametrize(("code", "text"), SAMPLES["texts"].items())
def test_the_language_of_texts_is_seen(code: str, text: str) -> None:
    assert detect_language([text] * 30, "en") == code


def test_the_given_language_is_kept_if_the_texts_have_its_letters() -> None:
    cyrillic = [SAMPLES["texts"]["ru"]] * 30

    assert detect_language(cyrillic, "bg") == "bg"


def test_a_light_stem_takes_no_more_than_an_ending() -> None:
    polish = LanguageAnalyzer("pl")

    assert polish.stems(["kurtka", "kurtki", "kurtek", "kurtkami"]) == ["kurtk"] * 4
    assert polish.stems(["but", "lan", "wr44526"]) == ["but", "lan", "wr44526"]


@pytest.mark.parametrize(
    ("words", "title", "written"),
    [
        (["tshirt"], "Blue T-Shirt", "t-shirt"),
        (["t", "shirt"], "Blue T-Shirt", "t-shirt"),
        (["sleepingbag"], "Sleeping Bag", "sleeping bag"),
        (["sleeping", "bag"], "Sleeping bag", "sleeping bag"),
        (["theiere"], "Th\u00e9i\u00e8re", "th\u00e9i\u00e8re"),
        (
            ["\u308c\u3055", "\u3055\u30fc"],
            "\u30ec\u30b6\u30fc\u9774",
            "\u30ec\u30b6\u30fc",
        ),
        (["\u513f\u7ae5", "\u7ae5\u8f66"], "\u513f\u7ae5\u8f66", "\u513f\u7ae5\u8f66"),
        (["lamp"], "Something else", "lamp"),
    ],
)
def test_suggestions_are_written_as_titles_are(
    words: list[str], title: str, written: str
) -> None:
    assert spell_as_title(words, title) == written


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("I'm looking for a red mug", "red mug"),
        ("something to keep coffee hot", "coffee hot"),
        ("a gift for my gardener", "gardener"),
        ("best gift ideas for gardeners", "gardeners"),
        ("gift box", "gift box"),
        ("gift wrap", "gift wrap"),
        ("gift", "gift"),
        ("cadeau voor Anna", "anna"),
        ("kids gift", "kids"),
        ("birthday present ideas", "birthday"),
        ("Kinder Geschenke", "kinder"),
        ("Geschenkpapier", "geschenkpapier"),
        ("cadeau enfant", "enfant"),
        ("papier cadeau", "papier cadeau"),
        ("tent for two", "tent for two"),
        ("show me", ""),
        ("ich suche eine Pfanne", "pfanne"),
        ("Geschenk f\u00fcr Papa", "papa"),
        ("Suchebild", "suchebild"),
        ("je cherche une po\u00eale", "poele"),
        ("id\u00e9e cadeau pour jardinier", "jardinier"),
        ("busco una sart\u00e9n", "sarten"),
        ("regalos para mi padre", "padre"),
        ("sto cercando una padella", "padella"),
        ("regalo per bambini", "bambini"),
        ("ik zoek een pan", "pan"),
        ("cadeautje voor mijn zus", "zus"),
        ("szukam patelni", "patelni"),
        ("prezent dla taty", "taty"),
    ],
)
def test_an_opening_is_not_what_is_wanted(query: str, wanted: str) -> None:
    assert " ".join(without_opening_phrase(query_words(query))) == wanted


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("something to keep coffee hot ", "Coffee mug"),  # not what says "keep"
        ("ich suche eine Tasse ", "Coffee mug"),
        ("gift for gardeners ", "Gardeners' soap"),
        ("gardeners gift ", "Gardeners' soap"),
        ("gift for dad ", "Gift tags"),  # nothing else is known
        ("gift tags ", "Gift tags"),
        ("gift ", "Gift tags"),
        ("the gifts ", "Gift tags"),
        ("gift for a camper ", "Camping pillow"),
        ("presents for campers ", "Camping pillow"),
        ("camper ", None),
        ("I need a sofa ", None),  # "need" is no product
    ],
)
def test_words_without_a_product_do_not_vote(
    query: str, first: str | None, tmp_path: Path
) -> None:
    products = {
        "Bee hotel": "Keep it hot and dry, and keep something near. You need no key.",
        "Coffee mug": "",
        "Gift tags": "",
        "Camping pillow": "",
        "Gardeners' soap": "",
    }
    texts = enumerate(products.items())
    with IndexWriter(tmp_path, "en") as writer:
        writer.put(ProductText(n, one, description=text) for n, (one, text) in texts)
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(len(products), dtype=np.bool_)

    found = index.find(IndexQuery(index.analyse(query), 5, visible)).items
    assert (list(products)[found[0]] if found else None) == first
