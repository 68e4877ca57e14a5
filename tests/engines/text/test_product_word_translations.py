"""Product words: products are found by other names, of another language or their own."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.product_word_translations import product_words
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, SearchIndex

TITLES = {
    "en": [
        "Ridge tent for two", "Candlestick, brass", "Enamel mug", "Walking boots",
        "Rubber gloves", "Wine glasses, four", "Frying pan 28 cm", "Golf shoes",
        "Red paint", "Canvas rucksack", "Notebook A5", "Velo brake cable", "Desk lamp",
        "Vacuum flask 1 l", "Dice, wooden, six", "Sofa cover", "Linen settee",
        "Waxed jacket", "Quilted vest", "Bath robe", "Padlock", "Scented candle",
        "Tea strainer",
    ],
    "de": ["Kuppelzelt grün", "Kerzenhalter Messing", "Becher", "Lederschuhe Herren"],
    "fr": ["Tente dôme", "Bougeoir en laiton", "Sac à dos", "Chaussures en cuir"],
}  # fmt: skip


def test_each_product_has_a_name_in_each_language() -> None:
    table = files("productrecs.engines.text").joinpath("product_words.txt")
    heading, *rows = table.read_text(encoding="utf-8").splitlines()

    assert heading.split("|") == ["en", "de", "fr", "es", "it", "nl", "pl"]
    for row in rows:
        cells = [cell.split(",") for cell in row.split("|")]
        assert len(cells) == 7, row
        assert all(name.strip() for cell in cells for name in cell), row


@pytest.mark.parametrize(
    ("language", "query", "title"),
    [
        ("en", "Zelt", "Ridge tent for two"),
        ("en", "zelte", "Ridge tent for two"),
        ("en", "Kerzenhalter", "Candlestick, brass"),
        ("en", "tasse", "Enamel mug"),
        ("en", "sartén", "Frying pan 28 cm"),
        ("en", "tienda de campaña", "Ridge tent for two"),  # a name of several words
        ("en", "sac à dos", "Canvas rucksack"),
        ("en", "plecak", "Canvas rucksack"),
        ("en", "rugzakken", "Canvas rucksack"),
        ("en", "zaino", "Canvas rucksack"),
        ("en", "vaso de cerveza", "Wine glasses, four"),  # no beer glass, but a glass
        ("en", "Gummistiefel", "Walking boots"),  # no rubber boots, but boots
        ("en", "Schreibtischlampe", "Desk lamp"),
        ("en", "thermos", "Vacuum flask 1 l"),  # another name of the same language
        ("en", "couch", "Linen settee"),
        ("en", "Golfschuhe", "Golf shoes"),  # a compound that the table lacks
        ("en", "rote Farbe", "Red paint"),
        ("en", "cahier A5", "Notebook A5"),  # beside a word of the catalog
        ("en", "velo", "Velo brake cable"),  # the catalog's own word, not a "bike"
        ("en", "noteboko A5", "Notebook A5"),  # a misspelled word of the catalog
        ("en", "cande", "Scented candle"),  # misspelled, not a Spanish "candado", a padlock
        ("en", "veste", "Waxed jacket"),  # a French name, only another form of "vest"
        ("en", "vests", "Quilted vest"),
        ("en", "robes", "Bath robe"),  # a form of the catalog's word, not a dress
        ("de", "shoes", "Lederschuhe Herren"),  # by the end of a compound
        ("de", "candle holder", "Kerzenhalter Messing"),
        ("de", "leather shoes", "Lederschuhe Herren"),
        ("fr", "Rucksack", "Sac à dos"),
        ("fr", "leather shoes", "Chaussures en cuir"),
        ("fr", "candlestick brass", "Bougeoir en laiton"),
    ],
)
def test_a_product_is_found_by_its_name_in_another_language(
    language: str, query: str, title: str, indexes: dict[str, SearchIndex]
) -> None:
    assert _first(indexes[language], query, TITLES[language]) == title


@pytest.mark.parametrize(
    "query",
    [
        "vélo enfant",
        "fromage",
        "Klavier",
        "zzgabel",
        "jupplampe",
        "dad",
        "trainers",
        "laptop",
    ],
)
def test_what_the_shop_does_not_sell_is_not_found(
    query: str, indexes: dict[str, SearchIndex]
) -> None:
    assert _first(indexes["en"], query, TITLES["en"]) in {None, "Velo brake cable"}


def test_another_name_also_finds_products_whose_description_has_the_word(
    tmp_path: Path,
) -> None:
    with IndexWriter(tmp_path, "en") as writer:
        writer.put([ProductText(0, "Headset", description="Earbud, black")])
        writer.put([ProductText(1, "Earphones, black"), ProductText(2, "Desk lamp")])
        writer.commit()
    index, visible = SearchIndex(tmp_path, "en"), np.ones(3, dtype=np.bool_)

    assert index.find(IndexQuery(index.analyse("earbuds"), 5, visible)).items == [1, 0]


def test_a_catalog_in_a_language_without_names_is_searched_as_before() -> None:
    assert product_words().translate(["zelt"], "hu", lambda _: True) == []


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SearchIndex]:
    return {
        language: _index(tmp_path_factory.mktemp("index"), language) for language in TITLES
    }


def _index(folder: Path, language: str) -> SearchIndex:
    with IndexWriter(folder, language) as writer:
        titles = enumerate(TITLES[language])
        writer.put(ProductText(number, title) for number, title in titles)
        writer.commit()
    return SearchIndex(folder, language)


def _first(index: SearchIndex, text: str, titles: list[str]) -> str | None:
    visible = np.ones(len(titles), dtype=np.bool_)
    found = index.find(IndexQuery(index.analyse(f"{text} "), 5, visible)).items
    return titles[found[0]] if found else None
