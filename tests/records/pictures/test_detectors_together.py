"""Detectors together: a person's garments come first, else things or our proposals."""

from pathlib import Path
from typing import Final

import numpy as np
import pytest
from PIL import Image, ImageDraw

from productrecs.engines.visual.region_proposals import MAX_REGIONS
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from tests.records.pictures.test_yolox_detector import red_detector
from tests.support.lite_models import red_chair, red_person, write_archived_model
from tests.support.pictures import encoded

GARMENTS: Final = 5
RED, BLUE, GREEN = (255, 0, 0), (0, 0, 255), (0, 200, 0)
GREY, BLACK = (120, 120, 120), (0, 0, 0)


def picture(*, has_person: bool) -> Image.Image:
    """Return a photo with a red spot, which is that of a person if it is upright."""
    drawn = Image.new("RGB", (300, 400) if has_person else (400, 300), (90, 110, 130))
    box = (110, 60, 190, 380) if has_person else (220, 20, 380, 130)
    ImageDraw.Draw(drawn).rectangle(box, fill=(230, 20, 20))
    return drawn


@pytest.mark.parametrize(
    ("names", "has_person", "garments", "labels"),
    [
        (("body", "objects"), True, GARMENTS, {""}),
        (("objects",), False, 0, {"", "Chair"}),
        (("yolox",), False, 0, {"red thing"}),
        (("yolox", "body"), True, GARMENTS, {""}),
    ],
)
def test_garments_come_first_and_a_detector_of_ones_own_has_the_last_word(
    tmp_path: Path,
    names: tuple[str, ...],
    has_person: bool,  # noqa: FBT001 - a row of the table
    garments: int,
    labels: set[str],
) -> None:
    networks = {"body": red_person(), "objects": red_chair()}
    paths = [
        write_archived_model(name, networks[name], tmp_path / f"{name}.onnx")
        if name in networks
        else red_detector(tmp_path / f"{name}.onnx")
        for name in names
    ]

    with SandboxedDecoder(detectors=paths) as decoder:
        regions = decoder.find_regions(encoded(picture(has_person=has_person)))

    is_garment = np.array([region.is_garment for region in regions])
    assert np.flatnonzero(is_garment).tolist() == list(range(garments))
    assert {region.label for region in regions} == labels
    has_confidence = {region.confidence is not None for region in regions}
    assert has_confidence == {labels == {"red thing"}}


@pytest.mark.parametrize(
    ("colours", "is_scene", "labels", "regions"),
    [
        ((RED, BLUE), True, {"Chair", "Desk"}, 5 + 2),
        ((RED, RED), True, {"Chair"}, 9),
        ((GREEN, GREEN), True, set(), 9),
        ((RED, BLUE), False, {"Chair", "Desk"}, MAX_REGIONS),
    ],
    ids=["two kinds", "a pair", "nothing found", "no scene"],
)
def test_a_scene_of_different_things_is_searched_by_them_and_fewer_cells(
    tmp_path: Path,
    colours: tuple[tuple[int, int, int], ...],
    is_scene: bool,  # noqa: FBT001 - a row of the table
    labels: set[str],
    regions: int,
) -> None:
    objects = write_archived_model("objects", red_chair(), tmp_path / "objects.onnx")
    size, margin = ((400, 300), 0) if is_scene else ((300, 300), 40)
    photo = Image.new("RGB", size, GREY if is_scene else BLACK)
    for index, colour in enumerate(colours):
        left, top = (one // 2 * index + margin for one in size)
        photo.paste(colour, (left, top, left + 100, top + 80))

    with SandboxedDecoder(detectors=[objects]) as decoder:
        searched = decoder.describe_photo(encoded(photo))
        analysed = decoder.find_regions(encoded(photo))

    assert {region.label for region in analysed} - {""} == labels
    assert searched.is_scene == is_scene
    assert len(searched.places) == regions
