"""Query filters: words of a query that name a price, size, brand, colour or material."""

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from productrecs.engines.text.search_index import IndexQuery
from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    SearchResults,
    find_products,
    read_filters_and_find,
    resolve_query,
)
from productrecs.features.search.query_filters import (
    ALL_FIELDS,
    FilterField,
    QueryWordFilter,
)
from productrecs.features.search.results_page import ResultsPageRequest, results_page
from tests.support.searchable_store import Item, make_store

NOW: Final = 1_772_366_400_000
ROWS: Final = list(
    csv.DictReader(
        Path(__file__).with_name("query_filters.csv").read_text("utf-8").splitlines()
    )
)
STORES: Final = {  # language: currency, kinds, colours, materials
    "en": (
        "USD",
        "trainers dress jacket table bag shirt",
        "Red Blue Black Navy",
        "Leather Cotton Wood",
    ),
    "de": (
        "EUR",
        "Turnschuhe Kleid Jacke Tisch Tasche Hemd",
        "Rot Blau Schwarz Grün",
        "Leder Baumwolle Holz",
    ),
    "fr": (
        "EUR",
        "baskets robe veste table sac chemise",
        "Rouge Bleu Noir Vert",
        "Cuir Coton Bois",
    ),
    "es": (
        "EUR",
        "zapatillas vestido chaqueta mesa bolso camisa",
        "Rojo Azul Negro Verde",
        "Cuero Algodón Madera",
    ),
    "it": (
        "EUR",
        "scarpe vestito giacca tavolo borsa camicia",
        "Rosso Blu Nero Verde",
        "Pelle Cotone Legno",
    ),
    "nl": (
        "EUR",
        "sneakers jurk jas tafel tas overhemd",
        "Rood Blauw Zwart Groen",
        "Leer Katoen Hout",
    ),
    "pl": (
        "PLN",
        "buty sukienka kurtka stół torba koszula",
        "Czerwony Niebieski Czarny Zielony",
        "Skóra Bawełna Drewno",
    ),
    "pt": (
        "EUR",
        "tênis vestido casaco mesa bolsa camisa",
        "Vermelho Azul Preto Verde",
        "Couro Algodão Madeira",
    ),
    "sv": (
        "SEK",
        "skor klänning jacka bord väska skjorta",
        "Röd Blå Svart Grön",
        "Läder Bomull Trä",
    ),
    "da": (
        "DKK",
        "sko kjole jakke bord taske skjorte",
        "Rød Blå Sort Grøn",
        "Læder Bomuld Træ",
    ),
}
BRANDS: Final = ("Nike", "Le Creuset")
SIZES: Final = ["EU 42 / UK 8", "38", "42.5", "S", "M", "XL", "2XL"]
PRICES: Final = (15, 30, 75, 150, 1500)


@pytest.fixture(scope="module")
def store_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SearchableStore]:
    """Return the store of a language, made at its first use."""
    made: dict[str, SearchableStore] = {}

    def store(language: str) -> SearchableStore:
        if language not in made:
            currency, *texts = STORES[language]
            kinds, colours, materials = (text.split() for text in texts)
            items = [
                Item(kind, price, BRANDS[place % 2], [colour], SIZES, [material])
                for place, (kind, colour, material, price) in enumerate(
                    product(kinds, colours, materials, PRICES)
                )
            ]
            folder = tmp_path_factory.mktemp(language)
            made[language] = make_store(folder, items, language, currency)
        return made[language]

    return store


def shown(filters: Sequence[QueryWordFilter]) -> str:
    """Return filters in the form of the table."""
    return "; ".join(sorted(map(_shown, filters)))


def _shown(one: QueryWordFilter) -> str:
    if one.value is not None:
        return f"{one.field.value}:{one.value}"
    limits = ("" if limit is None else f"{limit:g}" for limit in (one.low, one.high))
    return f"price:{'..'.join(limits)}"


@pytest.mark.parametrize("language", STORES)
def test_queries_are_read_into_filters_and_the_words_that_remain(
    store_of: Callable[[str], SearchableStore], language: str
) -> None:
    rows = [row for row in ROWS if row["language"] == language]
    expected = [(row["query"], row["filters"], row["words"]) for row in rows]

    read = [_read(store_of(language), row["query"]) for row in rows]

    assert read == expected
    assert len(ROWS) >= 200


def _read(store: SearchableStore, query: str) -> tuple[str, str, str]:
    """Return a query, its filters and the words that remain; it finds what they say."""
    request = SearchRequest(f"{query} ", 12)
    resolved, hits = read_filters_and_find(
        store,
        resolve_query(store, request, NOW),
        request,
        lambda one: IndexQuery(one.query, 12, one.visible),
    )
    assert all(one.text in query for one in resolved.filters)
    if resolved.filters:
        assert hits.items
        _check(store, resolved.filters, hits.items)
    return query, shown(resolved.filters), resolved.query.text.strip()


def _check(
    store: SearchableStore, filters: Sequence[QueryWordFilter], items: Sequence[int]
) -> None:
    """Check that items have what filters say."""
    prices = store.catalog.prices[list(items)]
    having = [store.catalog.attributes.attributes_of(item) for item in items]
    for one in filters:
        assert one.low is None or prices.min() >= one.low
        assert one.high is None or prices.max() <= one.high
        if one.value is not None:
            assert all(one.value in values[one.field.value] for values in having)


ITEMS: Final = (
    Item("Red trainers"),  # 0: the title alone says the colour
    Item("Trainers", 60, "Nike", ["Red"], ["42"]),  # 1
    Item("Trainers", 120, "Nike", ["Red"], ["42"]),  # 2
    Item("Trainers", 60, "Adidas", ["Blue"], ["43"]),  # 3
    Item("Trainers size 42", 70, "Adidas", ["Blue"]),  # 4: the title says the size
    Item("Home office desk", 300, "Vitra", material=["Oak"]),  # 5
    Item("Home cinema chair", 200, "Vitra"),  # 6
    Item("Office desk", 250, "Home"),  # 7: of a brand that is a common word
    Item("Orange juice", 3, color=["Orange"]),  # 8
    Item("Apron", 20, color=["Orange"]),  # 9
    Item("Oranges", 2),  # 10
    Item("Cap", 20, "Puma", ["Green"]),  # 11
    Item("Cap", 25, "Puma", ["Green"], in_stock=False),  # 12
    Item("iPhone 13", 500),  # 13
    Item("Sandals", 50, size=["13"]),  # 14
    Item("Red Wing boots", 200, "Red Wing", ["Brown"]),  # 15
    Item("Rose soap", 5),  # 16: "rose" is French for pink
    Item("Soap", 5, color=["Pink"]),  # 17
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    return make_store(tmp_path_factory.mktemp("small"), ITEMS)


@pytest.mark.parametrize(
    ("query", "items", "filters"),
    [
        ("red trainers", {0, 1, 2}, "color:Red"),
        ("red trainers under 80", {1}, "color:Red; price:..80"),
        ("trainers under 65 size 42", {1}, "price:..65; size:42"),
        ("trainers size 42", {1, 2, 4}, "size:42"),
        ("trainers under 50", None, ""),  # nothing costs so little
        ("red desk", None, ""),  # none is red
        ("home office desk", None, ""),  # most titles with "home" are of other brands
        ("orange", None, ""),  # one value alone stays a word
        ("puma", {11, 12}, "brand:Puma"),  # in no text
        ("puma in green", {11, 12}, "brand:Puma; color:Green"),
        ("orange juice", {8}, "color:Orange"),
        ("iphone 13", {13}, None),
        ("red wing boots", {15}, None),
        ("oak desk", {5}, "material:Oak"),
        ("rose soap", None, ""),  # titles of this store have the French word
        ("rosa soap", {17}, "color:Pink"),
        ("rote trainers", {0, 1, 2}, "color:Red"),
        ("rod trainers", None, ""),  # Danish for red, but too short
        ("i-3", None, ""),  # the id of a product
    ],
)
def test_a_filter_keeps_what_has_the_value_or_says_it_in_its_title(
    small: SearchableStore, query: str, items: set[int] | None, filters: str | None
) -> None:
    plain = find(small, query, fields=frozenset())
    found = find(small, query)

    if items is None:
        assert found == plain
    else:
        assert {hit.item for hit in found.hits} == items
    assert filters is None or shown(found.filters) == filters


EU_SHOES: Final = ("40", "41", "42", "43", "EU 44", "EU 44.5", "46", "8", "M")
UK_SHOES: Final = ("UK 6", "UK 7", "UK 8", "UK 9", "UK 10")
US_SHOES: Final = ("US 8", "US 9", "US 10", "US 11")


@pytest.mark.parametrize(
    ("sizes", "query", "expected"),
    [
        (EU_SHOES, "trainers UK 9", {"43"}),
        (EU_SHOES, "trainers UK 10", {"EU 44", "EU 44.5"}),
        (EU_SHOES, "Damenschuhe UK 9", {"43"}),
        (EU_SHOES, "chaussures UK 7", {"41"}),
        (EU_SHOES, "zapatos UK 9", {"43"}),
        (EU_SHOES, "scarpe UK 9", {"43"}),
        (EU_SHOES, "schoenen UK 9", {"43"}),
        (EU_SHOES, "buty UK 9", {"43"}),
        (EU_SHOES, "boots UK 8", {"42", "8"}),  # a plain 8 may be of UK
        (EU_SHOES, "shoes US 10", {"41", "42", "43"}),  # of women or of men
        (EU_SHOES, "women shoes US 10", {"41", "42"}),  # makers differ
        (EU_SHOES, "Herren Schuhe US 10", {"43"}),
        (EU_SHOES, "scarpe IT 43", {"43"}),
        (EU_SHOES, "chaussures 46 FR", {"46"}),
        (EU_SHOES, "zapatos talla ES 44", {"EU 44"}),
        (UK_SHOES, "scarpe IT 42", {"UK 8"}),
        (("FR 41", "FR 42"), "chaussures FR 42", {"FR 42"}),
        (EU_SHOES, "tv it 42", set()),
        (EU_SHOES, "shoes UK 13", set()),  # none is as large
        (EU_SHOES, "shoes UK 38", set()),  # no size of UK
        (EU_SHOES, "dress UK 9", set()),  # a dress has other sizes
        (EU_SHOES, "shoes EU 46", {"46"}),
        (EU_SHOES, "trainers size M", {"M"}),
        (UK_SHOES, "trainers EU 42", {"UK 8"}),
        (UK_SHOES, "trainers size 42", {"UK 8"}),
        (UK_SHOES, "Schuhe Größe 42", {"UK 8"}),
        (UK_SHOES, "chaussures taille 43", {"UK 9"}),
        (UK_SHOES, "zapatos talla 42", {"UK 8"}),
        (UK_SHOES, "mens trainers US 9", {"UK 8"}),
        (UK_SHOES, "trainers 42", set()),  # a number alone is not converted
        (UK_SHOES, "tv size 42", set()),
        (UK_SHOES, "iphone 12", set()),
        (UK_SHOES, "trainers size 12", set()),
        (US_SHOES, "trainers EU 42", {"US 9", "US 10"}),
        (US_SHOES, "men trainers EU 42", {"US 9"}),
        (US_SHOES, "women trainers UK 8", {"US 10"}),
        (US_SHOES, "trainers UK 10", {"US 11"}),
    ],
)
def test_a_shoe_size_finds_the_values_of_other_systems(
    tmp_path: Path, sizes: Sequence[str], query: str, expected: set[str]
) -> None:
    title = "Trainers boots shoes dress tv iphone for men and women"
    store = make_store(tmp_path, [Item(title, size=[size]) for size in sizes])

    found = find(store, query)

    items = {hit.item for hit in found.hits}
    assert {sizes[item] for item in items if found.filters} == expected


EU_CLOTHES: Final = ("EU 36", "38", "EU 40", "EU 42", "48", "50", "EU 52")
UK_CLOTHES: Final = ("UK 6", "UK 8", "UK 10", "UK 12", "UK 38", "UK 40")
PLAIN_CLOTHES: Final = ("6", "8", "10", "12", "14")
LETTERS: Final = ("XS", "S", "M", "Large", "XL")
IT_CLOTHES: Final = ("IT 42", "IT 44", "IT 46")
JEANS: Final = ("W30", "W32/L32", "W32/L34", "34W x 32L", "L")
EU_JEANS: Final = ("EU 40", "EU 42", "46", "48")
HEIGHTS: Final = ("80", "98/104", "122/128", "128 cm", "134", "M")
AGES: Final = ("12-18 months", "18M", "2-3 years", "7-8 years", "8Y", "Age 8-9", "8", "M")
CLOTHES_BY_SIZE: Final[tuple[tuple[str, Sequence[str], str, set[str]], ...]] = (
    # currency, sizes, query, the sizes that are found
    ("EUR", EU_CLOTHES, "dress UK 10", {"38"}),
    ("EUR", EU_CLOTHES, "dress US 6", {"38"}),
    ("EUR", EU_CLOTHES, "Kleid UK 8", {"EU 36"}),
    ("EUR", EU_CLOTHES, "robe UK 12", {"EU 40"}),
    ("EUR", EU_CLOTHES, "vestido US 8", {"EU 40"}),
    ("EUR", EU_CLOTHES, "Damenjacke US 10", {"EU 42"}),
    ("EUR", EU_CLOTHES, "mens jacket UK 38", {"48"}),
    ("EUR", ("48", "50"), "mens jacket size 40", {"50"}),
    ("EUR", ("48", "50"), "jacket size 40", {"50"}),  # of women EU 40, which nothing has
    ("EUR", EU_CLOTHES, "Herren Jacke US 42", {"EU 52"}),
    ("EUR", EU_CLOTHES, "dress UK 48", set()),  # no size of a dress
    ("EUR", EU_CLOTHES, "dress size 10", {"38", "EU 42"}),  # of UK or of US
    ("GBP", EU_CLOTHES, "dress size 10", {"38"}),
    ("USD", EU_CLOTHES, "dress size 10", {"EU 42"}),
    ("EUR", EU_CLOTHES, "dress size S", {"EU 36", "38"}),
    ("EUR", EU_CLOTHES, "small dress", {"EU 36", "38"}),
    ("EUR", EU_CLOTHES, "jacket size M", {"EU 40", "EU 42", "48", "50"}),
    ("EUR", EU_CLOTHES, "women jacket size M", {"EU 40", "EU 42"}),
    ("EUR", EU_CLOTHES, "herren jacke gr. M", {"48", "50"}),
    ("EUR", EU_CLOTHES, "small bag", set()),
    ("EUR", EU_CLOTHES, "bag size M", set()),
    ("EUR", EU_CLOTHES, "bag UK 10", set()),
    ("EUR", EU_CLOTHES, "shoes size M", set()),
    ("EUR", EU_CLOTHES, "jeans UK 10", set()),  # jeans count inches
    ("EUR", EU_CLOTHES, "robe FR 40", {"38"}),
    ("EUR", EU_CLOTHES, "robe taille 38 FR", {"EU 36"}),
    ("EUR", EU_CLOTHES, "vestido talla ES 42", {"EU 40"}),
    ("EUR", EU_CLOTHES, "abito IT 44", {"38"}),
    ("EUR", EU_CLOTHES, "dress IT 48", {"EU 42"}),  # not 48
    ("EUR", EU_CLOTHES, "mens jacket IT 48", {"48"}),
    ("EUR", EU_CLOTHES, "bag it 38", set()),
    ("EUR", LETTERS, "abito IT 46", {"M"}),
    ("EUR", IT_CLOTHES, "dress EU 38", {"IT 44"}),
    ("EUR", IT_CLOTHES, "robe FR 38", {"IT 42"}),
    ("EUR", IT_CLOTHES, "dress UK 12", {"IT 46"}),
    ("EUR", IT_CLOTHES, "abito taglia IT 44", {"IT 44"}),
    ("EUR", JEANS, "jeans W32", {"W32/L32", "W32/L34"}),
    ("EUR", JEANS, "jeans W32 L34", {"W32/L34"}),
    ("EUR", JEANS, "jeans 32W 34L", {"W32/L34"}),
    ("EUR", JEANS, "mens jeans EU 48", {"W32/L32", "W32/L34"}),
    ("EUR", JEANS, "Herren Jeans Größe 50", {"34W x 32L"}),
    ("EUR", JEANS, "jeans femme EU 40", {"W30"}),
    ("EUR", JEANS, "jeans size L", {"L"}),  # not the L of a length
    ("EUR", JEANS, "bag W32", set()),
    ("EUR", EU_JEANS, "mens jeans W32", {"48"}),
    ("EUR", EU_JEANS, "women jeans W32", {"EU 42"}),
    ("EUR", EU_JEANS, "jeans hombre W33", {"48"}),
    ("EUR", ("30", "32", "42"), "jeans W32", {"32"}),  # plain numbers are inches
    ("GBP", UK_CLOTHES, "dress EU 38", {"UK 10"}),
    ("GBP", UK_CLOTHES, "Kleid Größe 38", {"UK 10"}),
    ("GBP", UK_CLOTHES, "dress taille 40", {"UK 12"}),
    ("GBP", UK_CLOTHES, "dress US 6", {"UK 10"}),
    ("GBP", UK_CLOTHES, "mens jacket EU 50", {"UK 40"}),
    ("GBP", PLAIN_CLOTHES, "dress EU 38", {"10"}),
    ("USD", PLAIN_CLOTHES, "dress EU 38", {"6"}),
    ("EUR", PLAIN_CLOTHES, "dress EU 38", set()),  # of UK or US: nobody can say
    ("EUR", LETTERS, "dress EU 38", {"S"}),
    ("EUR", LETTERS, "dress UK 16", {"Large"}),
    ("EUR", LETTERS, "mens shirt EU 50", {"M"}),
    ("EUR", LETTERS, "shirt extra large", {"XL"}),
    ("EUR", LETTERS, "camicia taglia grande", {"Large"}),
    ("EUR", HEIGHTS, "kids jacket age 8", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "jacket 8 years", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "jacket for an 8-year-old", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "jacket 7-8 years", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "Kinderjacke 8 Jahre", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "veste 8 ans", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "chaqueta 9 años", {"134"}),
    ("EUR", HEIGHTS, "giacca 9 anni", {"134"}),
    ("EUR", HEIGHTS, "jas 9 jaar", {"134"}),
    ("EUR", HEIGHTS, "kurtka 9 lat", {"134"}),
    ("EUR", HEIGHTS, "jacket age 4", {"98/104"}),
    ("EUR", HEIGHTS, "Jacke 12 Monate", {"80"}),
    ("EUR", HEIGHTS, "jacket size 128", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "jacket 128", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "jacket 128 cm", {"122/128", "128 cm"}),
    ("EUR", HEIGHTS, "bag 128 cm", set()),
    ("EUR", HEIGHTS, "bag 8 years", set()),
    ("EUR", HEIGHTS, "jacket 3 to 8 years", set()),  # several sizes are between
    ("EUR", HEIGHTS, "jacket 110", set()),  # a size that nothing has
    ("EUR", AGES, "jacket size 128", {"7-8 years", "8Y"}),
    ("EUR", AGES, "jacket size 134", {"Age 8-9"}),
    ("EUR", AGES, "Jacke Größe 98", {"2-3 years"}),
    ("EUR", AGES, "jacket 18 months", {"12-18 months", "18M"}),
    ("EUR", AGES, "jacket 86 cm", {"12-18 months", "18M"}),
    ("EUR", AGES, "jacket age 8", {"7-8 years", "8Y"}),
    ("EUR", AGES, "jacket size M", {"M"}),  # not "18M"
)


@pytest.mark.parametrize(("currency", "sizes", "query", "expected"), CLOTHES_BY_SIZE)
def test_a_size_of_clothes_finds_the_values_of_other_systems(
    tmp_path: Path, currency: str, sizes: Sequence[str], query: str, expected: set[str]
) -> None:
    title = "Jacket shirt dress jeans bag shoes for men, women and kids"
    items = [Item(title, size=[size]) for size in sizes]
    store = make_store(tmp_path, items, currency=currency)

    found = find(store, query)

    items_found = {hit.item for hit in found.hits}
    assert {sizes[item] for item in items_found if found.filters} == expected


@pytest.mark.parametrize(
    ("language", "query", "expected"),
    [
        ("fr", "robe FR 40", {"40"}),
        ("fr", "robe taille 40", {"40"}),
        ("fr", "robe EU 40", {"40"}),
        ("fr", "robe UK 12", {"42"}),
        ("es", "vestido UK 10", {"40"}),
        ("it", "abito UK 10", {"44"}),
        ("it", "abito FR 40", {"44"}),
        ("de", "Kleid UK 10", {"38"}),
        ("de", "Kleid FR 40", {"38"}),
    ],
)
def test_a_plain_size_of_clothes_is_of_the_system_of_the_stores_language(
    tmp_path: Path, language: str, query: str, expected: set[str]
) -> None:
    sizes = ("38", "40", "42", "44")
    items = [Item("Robe vestido abito Kleid", size=[size]) for size in sizes]
    store = make_store(tmp_path, items, language)

    found = find(store, query)

    assert {sizes[hit.item] for hit in found.hits if found.filters} == expected


def test_no_size_empties_a_search_that_finds_something_without_it(tmp_path: Path) -> None:
    by_kind = (("Jacket", "EU 38"), ("Dress", "UK 10"), ("Puzzle", "M"), ("Jacket", "128"))
    items = [Item(title, size=[size]) for title, size in by_kind]
    store = make_store(tmp_path, items)
    sizes = ("size 38", "UK 10", "EU 48", "extra large", "size M", "age 8", "128 cm", "12")

    for title, size in product(dict(by_kind), sizes):
        assert find(store, f"{title} {size}").hits, (title, size)


@pytest.mark.parametrize(
    ("language", "query", "filters", "hits"),
    [
        ("en", "tents on sale", "on_sale:true", [0]),
        ("en", "sale", "on_sale:true", [0, 2]),
        ("en", "Clearance tents under 50", "on_sale:true; price:..50", [0]),
        ("en", "tents", "", [0, 1]),
        ("en", "reduced", "", [3]),  # the title has it
        ("de", "reduzierte tents", "on_sale:true", [0]),
        ("fr", "tents en promo", "on_sale:true", [0]),
        ("fr", "tents sale", "", [0, 1]),
        ("sv", "tents på rea", "on_sale:true", [0]),
    ],
)
def test_words_of_a_sale_find_reduced_products(
    tmp_path: Path, language: str, query: str, filters: str, hits: list[int]
) -> None:
    items = [
        Item("Small tents", 40, list_price=60),
        Item("Large tents", 90),
        Item("Lantern", 20, list_price=25),
        Item("Reduced salt", 5),
    ]
    store = make_store(tmp_path, items, language)

    found = find(store, query)

    assert shown(found.filters) == filters
    assert sorted(hit.item for hit in found.hits) == hits


def test_a_brand_counts_more_than_another_product_with_its_name(tmp_path: Path) -> None:
    items = [
        *(Item(f"Desk lamp {n}", brand="Philips") for n in range(3)),
        Item("Hue bulb Philips", brand="Other"),
        Item("Floor lamp", brand="Acme"),
    ]

    found = find(make_store(tmp_path, items), "lamp philips")

    assert shown(found.filters) == "brand:Philips"
    assert {hit.item for hit in found.hits[:3]} == {0, 1, 2}


def find(
    store: SearchableStore, query: str, *, fields: frozenset[FilterField] = ALL_FIELDS
) -> SearchResults:
    request = SearchRequest(f"{query} ", 12, query_filters=fields)
    return find_products(store, request, NOW)


def test_pages_and_a_plain_search_read_a_query_alike(small: SearchableStore) -> None:
    request = SearchRequest("red trainers under 80 ", 12)

    page = results_page(small, ResultsPageRequest(request, counts=True), NOW, lambda _: ())

    assert [hit.item for hit in page.hits] == [1]
    assert page.total == 1
    assert page.filters == find_products(small, request, NOW).filters


def test_only_the_named_fields_and_only_a_store_that_allows_it_filter(
    small: SearchableStore,
) -> None:
    query = "red trainers under 80"
    by_price = find(small, query, fields=frozenset({FilterField.PRICE}))
    switched_off = replace(small, query_filters=False)

    assert shown(by_price.filters) == "price:..80"
    assert find(switched_off, query).filters == ()
    assert find(switched_off, query) == find(small, query, fields=frozenset())


def test_long_and_strange_queries_are_read_quickly(small: SearchableStore) -> None:
    hard = ("1 " * 128, "under " * 43, "20-" * 85, "in " * 85, "size " * 51, "1.1" * 85)
    began = time.process_time()

    for query in hard:
        find(small, query)

    assert time.process_time() - began < len(hard)
