"""Photo search: do a barcode and printed words come before what looks alike?"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Bools, RankedItems
from productrecs.features.search.photo_search import find_products_by_photo
from productrecs.features.search.product_search import SearchableStore
from productrecs.training.visual.photo_matcher import PhotoSearchHits, RegionMatches
from tests.support.searchable_store import Item, make_store

ITEMS: Final = (
    Item("Oat drink 1 l", brand="Nordmark"),
    Item("Oat drink vanilla 1 l", brand="Nordmark"),
    Item("Almond drink 1 l", brand="Nordmark"),
    Item("Oat drink 1 l", brand="Solverde"),
    Item("Orange juice 1 l", brand="Solverde"),
    Item("Water pump", codes=("WR-44526-B", "4006381333931")),
    Item("Wool socks with a long name for cold and wet winter days in the woods"),
    Item("Oat drink 2 l, out of range", brand="Nordmark", in_stock=False),
)
ALL: Final = np.ones(len(ITEMS), np.bool_)


class Seen:
    """A photo search that sees what it is told."""

    def __init__(
        self, scores: Sequence[float], lines: Sequence[str] = (), codes: Sequence[str] = ()
    ) -> None:
        """Give the scores of the first products, in falling order."""
        items = np.arange(len(scores), dtype=np.int32)
        ranked = RankedItems(items, np.array(scores, np.float32))
        self._hits = PhotoSearchHits(ranked, tuple(codes), tuple(lines))

    def similar_items(self, photo: bytes, limit: int, visible: Bools) -> PhotoSearchHits:
        """Return them, whatever the photo."""
        assert photo
        assert limit
        assert len(visible)
        return self._hits

    def similar_items_by_region(
        self, photo: bytes, limit: int, visible: Bools
    ) -> RegionMatches:
        """Nothing here asks for regions."""
        raise NotImplementedError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SearchableStore:
    """Return a store with packages that look alike."""
    return make_store(tmp_path_factory.mktemp("packages"), ITEMS)


def found(
    store: SearchableStore, seen: Seen, visible: Bools = ALL, num: int = 4
) -> list[int]:
    """Return the products that a photo finds; their scores fall from at most 1."""
    hits = find_products_by_photo(b"photo", seen, store.index, store.catalog, visible, num)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    return [hit.item for hit in hits]


def test_without_print_the_look_decides(store: SearchableStore) -> None:
    assert found(store, Seen([0.9, 0.8, 0.7, 0.6, 0.5])) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (["Nordmark", "Almond Drink", "Net 1 l"], 2),
        (["NORDMARK", "ALMONDDRINK"], 2),  # joined by the detector
        (["Nordmark", "Alm0nd", "Amond drink"], 2),  # a misread letter
        (["Solverde", "Orange Juice"], 4),
        (["Solverde", "oat drink", "plant based", "keep cool"], 3),
        (["Nordmark", "Oat Drink", "Vanilla"], 1),
    ],
)
def test_printed_words_tell_packages_apart(
    store: SearchableStore, lines: list[str], first: int
) -> None:
    assert found(store, Seen([0.9, 0.85, 0.8, 0.75, 0.7], lines))[0] == first


def test_of_equal_titles_the_more_similar_comes_first(store: SearchableStore) -> None:
    seen = Seen([0.7, 0.65, 0.6, 0.95], ["oat drink 1 l"])

    assert found(store, seen)[:2] == [3, 0]


def test_a_printed_code_finds_its_product(store: SearchableStore) -> None:
    assert found(store, Seen([0.9, 0.8], ["WR-44526-B"]))[0] == 5


def test_a_barcode_comes_before_printed_words(store: SearchableStore) -> None:
    seen = Seen([0.9], ["Nordmark", "Oat drink"], ["4006381333931"])

    assert found(store, seen)[0] == 5


@pytest.mark.parametrize("lines", [["zx", "qq"], ["the", "long"], ["unknownword"], ["1 l"]])
def test_words_that_name_no_product_change_nothing(
    store: SearchableStore, lines: list[str]
) -> None:
    scores = [0.9, 0.8, 0.7, 0.6, 0.5]

    assert found(store, Seen(scores, lines)) == found(store, Seen(scores))


def test_products_that_may_not_be_shown_are_not_found(store: SearchableStore) -> None:
    visible = ALL.copy()
    visible[[2, 7]] = False

    items = found(store, Seen([0.9], ["Nordmark", "Almond drink"]), visible, num=8)

    assert not {2, 7} & set(items)
