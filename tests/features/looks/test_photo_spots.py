"""Photo spots: labels only where the nearest products agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import RankedItems
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.visual_similarity import (
    MatchCalibration,
    NeighbourTable,
    PicturedItems,
)
from productrecs.features.looks.photo_spots import (
    MAX_PRODUCTS,
    PhotoSpot,
    choose_photo_spots,
)
from productrecs.training.visual.photo_matcher import Box, RegionMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.records.catalog.catalog_view import CatalogView

NOBODY = np.zeros(0)
TRUSTING = MatchCalibration(0.0, 1.0, NOBODY, NOBODY)
LOOKS_LIKE_NOTHING = 30  # items that stand in no place's way


class Catalog:
    """What of a catalog decides on labels."""

    def __init__(self, categories: Sequence[tuple[str, ...]]) -> None:
        self.categories = list(categories)
        self.numbers = {str(number): number for number in range(len(categories))}
        self.members: dict[str, list[int]] = {}
        for number, named in enumerate(categories):
            for name in named:
                self.members.setdefault(name, []).append(number)


def spots(
    *categories: tuple[str, ...],
    sureness: MatchCalibration = TRUSTING,
    label: str = "",
    confidence: float | None = None,
) -> list[PhotoSpot]:
    """Return what is said of one place that looks like items of these categories."""
    others = [("Everything", "Elsewhere")] * LOOKS_LIKE_NOTHING
    catalog = cast("CatalogView", Catalog([*categories, *others]))
    count = len(categories) + len(others)
    vectors = np.zeros((count, 2), np.float32)
    vectors[: len(categories), 0] = vectors[len(categories) :, 1] = 1.0
    model = VisualModel(
        PicturedItems(
            vectors,
            np.arange(count, dtype=np.int32),
            np.full(count, -1, np.int32),
            np.full(count, np.nan, np.float32),
        ),
        NeighbourTable(np.zeros((count, 1), np.int32), np.zeros((count, 1), np.float32)),
        0.0,
    )
    alike = model.similar_to_vectors(np.array([[1.0, 0.0]]), MAX_PRODUCTS)[0]
    seen = RegionMatch((0.1, 0.1, 0.3, 0.3), label, confidence, alike)
    return choose_photo_spots(sureness, catalog, [seen])


TEE, SHIRT = ("Everything", "Tops", "Tops > Tees"), ("Everything", "Tops", "Tops > Shirts")
BAG, HAT = ("Everything", "Bags"), ("Everything", "Hats")


@pytest.mark.parametrize(
    ("categories", "label"),
    [
        ((TEE, TEE, TEE, TEE, BAG), "Tees"),  # the name of the narrowest they agree on
        ((TEE, TEE, SHIRT, SHIRT, BAG), "Tops"),  # if not on that, on what is around it
        ((TEE, TEE, BAG, BAG, HAT), ""),  # all are of "Everything", which tells nothing
        ((TEE, BAG, HAT, ("Everything",), ()), ""),
        (((), (), (), (), ()), ""),
    ],
)
def test_a_label_is_what_neighbours_agree_on(
    categories: tuple[tuple[str, ...], ...], label: str
) -> None:
    assert [spot.label for spot in spots(*categories)] == [label]


def test_neighbours_that_agree_make_surer_than_those_that_do_not() -> None:
    agreed, split = spots(*[TEE] * 5), spots(TEE, TEE, BAG, BAG, HAT)

    assert agreed[0].confidence > split[0].confidence


def test_a_label_that_is_likelier_wrong_is_left_out() -> None:
    rarely_right = MatchCalibration(0.0, 1.0, np.array([0.0, 1.0]), np.array([0.0, 0.6]))

    found = spots(*[TEE] * 5, sureness=rarely_right)

    assert [(spot.label, spot.confidence) for spot in found] == [("", 0.36)]
    assert len(found[0].items) >= 5


def test_a_detector_has_the_last_word() -> None:
    found = spots(TEE, BAG, HAT, BAG, TEE, label="handbag", confidence=0.8)

    assert [(spot.label, spot.confidence) for spot in found] == [("handbag", 0.8)]


@pytest.mark.parametrize(
    ("one", "other", "stays"),
    [
        ((0.0, 0.0, 0.3, 0.3), (0.5, 0.5, 0.3, 0.3), True),
        ((0.0, 0.0, 0.3, 0.3), (0.2, 0.2, 0.3, 0.3), True),  # their corners touch
        ((0.0, 0.0, 0.3, 0.3), (0.1, 0.0, 0.3, 0.3), False),  # half of both
        ((0.0, 0.0, 0.5, 0.5), (0.4, 0.0, 0.2, 0.2), True),  # half of the smaller
        ((0.0, 0.0, 0.5, 0.5), (0.1, 0.1, 0.2, 0.2), False),  # a part of the other
        ((0.1, 0.1, 0.2, 0.2), (0.0, 0.0, 0.5, 0.5), False),  # the other is around it
        ((0.0, 0.0, 0.9, 0.9), (0.1, 0.1, 0.2, 0.2), False),  # of one label
    ],
)
def test_of_two_spots_on_one_thing_the_surer_stays(
    one: Box, other: Box, *, stays: bool
) -> None:
    alike = RankedItems(np.array([0], np.int32), np.array([0.9], np.float32))
    catalog = cast("CatalogView", Catalog([TEE, BAG]))
    places = [
        RegionMatch(box, "thing", sure, alike) for box, sure in ((one, 0.9), (other, 0.8))
    ]

    boxes = [spot.box for spot in choose_photo_spots(TRUSTING, catalog, places)]

    assert boxes == ([one, other] if stays else [one])


@pytest.mark.parametrize(
    ("categories", "label", "similarity", "said"),
    [
        ((TEE, TEE, TEE, TEE, BAG), "Chair", 0.9, ["Tees"]),
        ((TEE, TEE, BAG, BAG, HAT), "Chair", 0.9, ["Chair"]),
        ((TEE, TEE, TEE, TEE, BAG), "Chair", 0.3, []),
    ],
    ids=["the products agree", "the detector's label", "nothing similar"],
)
def test_a_thing_that_was_detected_counts_if_the_catalog_has_something_similar(
    categories: tuple[tuple[str, ...], ...], label: str, similarity: float, said: list[str]
) -> None:
    catalog = cast("CatalogView", Catalog([*categories, *[HAT] * LOOKS_LIKE_NOTHING]))
    count = len(categories)
    alike = RankedItems(np.arange(count, dtype=np.int32), np.full(count, similarity))
    thing = RegionMatch((0.1, 0.1, 0.3, 0.3), label, None, alike)

    assert [spot.label for spot in choose_photo_spots(TRUSTING, catalog, [thing])] == said


@pytest.mark.parametrize(
    ("category", "label", "similarity", "nearest", "counts"),
    [
        (TEE, "", 0.36, None, True),
        (TEE, "Chair", 0.36, None, False),  # a thing is seen in more detail
        (TEE, "Chair", 0.2, 0.9, True),  # the nearest picture decides
        (TEE, "Chair", 0.9, 0.2, False),
        ((), "", 0.5, None, True),  # neighbours without a category may agree
        ((), "", 0.45, None, False),
    ],
)
def test_how_similar_a_region_must_be(
    category: tuple[str, ...],
    label: str,
    similarity: float,
    nearest: float | None,
    counts: bool,  # noqa: FBT001 - a row of the table
) -> None:
    catalog = cast("CatalogView", Catalog([category] * 5))
    alike = RankedItems(np.arange(5, dtype=np.int32), np.full(5, similarity))
    region = RegionMatch((0.1, 0.1, 0.3, 0.3), label, None, alike, similarity=nearest)

    assert bool(choose_photo_spots(TRUSTING, catalog, [region])) == counts


def test_two_things_that_were_detected_may_overlap() -> None:
    alike = RankedItems(np.array([0], np.int32), np.array([0.9], np.float32))
    catalog = cast("CatalogView", Catalog([TEE, BAG]))
    chair, table, part = (0.0, 0.2, 0.4, 0.6), (0.1, 0.2, 0.6, 0.6), (0.0, 0.2, 0.5, 0.6)
    places = [
        RegionMatch(chair, "Chair", None, alike),
        RegionMatch(table, "Table", None, alike),
        RegionMatch(part, "", None, alike),
    ]

    boxes = {spot.box for spot in choose_photo_spots(TRUSTING, catalog, places)}

    assert boxes == {chair, table}


@pytest.mark.parametrize(("sure", "stays"), [(0.7, False), (0.8, False), (0.9, True)])
def test_beside_garments_only_what_is_more_certain_is_a_spot(
    sure: float, *, stays: bool
) -> None:
    alike = RankedItems(np.array([0], np.int32), np.array([0.9], np.float32))
    catalog = cast("CatalogView", Catalog([TEE, BAG]))
    coat: Box = (0.28, 0.18, 0.42, 0.45)
    shoes: Box = (0.35, 0.85, 0.26, 0.12)
    aside: Box = (0.0, 0.0, 0.2, 0.2)
    places = [
        RegionMatch(box, "thing", confidence, alike, is_garment=box is not aside)
        for box, confidence in ((coat, 0.8), (shoes, 0.5), (aside, sure))
    ]

    boxes = {spot.box for spot in choose_photo_spots(TRUSTING, catalog, places)}

    assert boxes == {coat, shoes} | ({aside} if stays else set())
