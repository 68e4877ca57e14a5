"""SSD detector: its network is converted exactly, decoded, and finds things in a photo."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image

from productrecs.records.pictures.onnx_model_file import DETECTOR, read_model_file
from productrecs.records.pictures.ssd_detector import (
    SsdDetector,
    compute_anchors,
    decode_boxes,
)
from productrecs.records.pictures.ssd_model_conversion import LABELS
from tests.support.lite_models import red_chair, write_archived_model

TOP_LEFT, TOP_RIGHT, BOTTOM_LEFT = (0, 0), (1, 0), (0, 1)
HALF_BOX = (0.8 * 0.95) ** 0.5 / 2  # of the anchor that the network uses


def photo(*red: tuple[int, int], size: tuple[int, int] = (300, 300)) -> Any:
    """Return a dark photo with a red spot in some of its quarters."""
    width, height = size
    picture = Image.new("RGB", size, (20, 20, 20))
    for x, y in red:
        left, top = (4 * x + 1) * width // 8, (4 * y + 1) * height // 8
        picture.paste((255, 0, 0), (left, top, left + width // 4, top + height // 4))
    return np.asarray(picture)


def load(folder: Path, *labels: str, **other: float) -> SsdDetector:
    """Return the detector with a network that calls what is red by these labels."""
    content = red_chair(*map(LABELS.index, labels))
    path = write_archived_model("objects", content, folder / "model.onnx", **other)
    return SsdDetector(read_model_file(path, DETECTOR))


def test_a_reshaped_map_keeps_the_order_of_its_cells(tmp_path: Path) -> None:
    path = write_archived_model("objects", red_chair(), tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    pixels = photo(TOP_RIGHT, BOTTOM_LEFT) / np.float32(127.5) - 1

    row = session.run(None, {"picture": pixels.transpose(2, 0, 1)[None]})[0]

    scores = row.reshape(1917, 28)[:, 4:]
    found = np.argwhere(scores > 0.5).tolist()
    assert found == [[1887 + 6 * cell + 5, 5] for cell in (1, 2)]
    dark = 20 / 127.5 - 1
    expected = 1 / (1 + np.exp(-(10 - 10 * dark - 2)))
    assert scores[1887 + 11, 5] == pytest.approx(expected, abs=1e-4)
    assert not row.reshape(1917, 28)[:, :4].any()


def test_anchors_cover_six_maps() -> None:
    anchors = compute_anchors()

    assert anchors.shape == (1917, 4)
    assert anchors[0] == pytest.approx([0.5 / 19, 0.5 / 19, 0.1, 0.1])
    assert anchors[1] == pytest.approx([0.5 / 19, 0.5 / 19, 0.2 * 2**0.5, 0.2 / 2**0.5])
    assert anchors[3, :2] == pytest.approx([1.5 / 19, 0.5 / 19])
    assert anchors[1083, 2:] == pytest.approx([0.35, 0.35])
    assert anchors[-1] == pytest.approx([0.5, 0.5, 0.95**0.5, 0.95**0.5])


@pytest.mark.parametrize(
    ("row", "box"),
    [
        ((0, 0, 0, 0), (0.4, 0.3, 0.2, 0.4)),
        ((5, 0, 0, 0), (0.4, 0.5, 0.2, 0.4)),
        ((0, -5, 0, 0), (0.3, 0.3, 0.2, 0.4)),
        ((0, 0, 5 * np.log(0.5), 5 * np.log(2)), (0.3, 0.4, 0.4, 0.2)),
        ((0, -50, 0, 0), (0, 0.3, 0, 0.4)),
        ((0, 0, 1e6, 0), (0.4, 0, 0.2, 1)),
    ],
    ids=["the anchor", "lower", "to the left", "another shape", "outside", "endless"],
)
def test_a_row_is_relative_to_its_anchor(
    row: tuple[float, ...], box: tuple[float, ...]
) -> None:
    anchors = np.array([(0.5, 0.5, 0.2, 0.4)])

    (found,) = decode_boxes(np.array([row], np.float64), anchors).tolist()

    assert found == pytest.approx(box)


@pytest.mark.parametrize("size", [(300, 300), (640, 480), (200, 400)])
def test_a_thing_has_a_box_and_a_label(tmp_path: Path, size: tuple[int, int]) -> None:
    detector = load(tmp_path)

    ((box, label),) = detector.find_things(photo(TOP_RIGHT, size=size))

    assert label == "Chair"
    assert box == pytest.approx((0.75 - HALF_BOX, 0, 0.25 + HALF_BOX, 0.25 + HALF_BOX))
    assert detector.find_things(photo(size=size)) == []


@pytest.mark.parametrize("label", ["Person", "Cattle", "Cat", "Dog", "Vehicle", "Car"])
def test_people_animals_and_vehicles_are_left_out(tmp_path: Path, label: str) -> None:
    assert load(tmp_path, label).find_things(photo(TOP_LEFT)) == []


def test_in_a_photo_of_a_person_nothing_is_found(tmp_path: Path) -> None:
    assert load(tmp_path, "Person", "Chair").find_things(photo(TOP_LEFT)) == []


def test_of_overlapping_boxes_the_best_remains(tmp_path: Path) -> None:
    picture = photo(TOP_LEFT, TOP_RIGHT)

    assert len(load(tmp_path).find_things(picture)) == 2
    assert len(load(tmp_path, overlap=0.3).find_things(picture)) == 1
