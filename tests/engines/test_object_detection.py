"""YOLOX decoding: the detector's grids become boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from productrecs.engines.object_detection import decode_detections, letterbox


def output(side: int = 64, labels: int = 3) -> Any:
    cells = sum((side // stride) ** 2 for stride in (8, 16, 32))
    return np.zeros((1, cells, 5 + labels), dtype=np.float32)


def test_a_cell_tells_a_box_a_label_and_how_sure_it_is() -> None:
    told = output()
    told[0, 10, :] = [0.5, 0.25, np.log(2), np.log(3), 0.9, 0.1, 0.8, 0.2]  # stride 8
    told[0, 64 + 5, :] = [0, 0, 0, 0, 0.5, 1.0, 0, 0]  # the second grid, stride 16

    found = decode_detections(told, 64, 0.3, 0.45)

    assert [one.label for one in found] == [1, 0]
    # Cell 10 of eight columns: column 2, row 1; its middle at (2.5, 1.25) strides.
    assert found[0].box == pytest.approx((20 - 8, 10 - 12, 16, 24))
    assert found[0].score == pytest.approx(0.72)
    assert found[1].box == pytest.approx((16 - 8, 16 - 8, 16, 16))


def test_of_boxes_of_one_label_that_overlap_the_surest_stays() -> None:
    told = output()
    for cell, sure in ((10, 0.9), (11, 0.8)):
        told[0, cell, :] = [0, 0, np.log(8), np.log(8), sure, 1.0, 0, 0]
    told[0, 12, :] = [0, 0, np.log(8), np.log(8), 0.7, 0, 1.0, 0]

    found = decode_detections(told, 64, 0.3, 0.45)

    assert [(one.label, round(one.score, 1)) for one in found] == [(0, 0.9), (1, 0.7)]
    assert len(decode_detections(told, 64, 0.3, 1.0)) == 3
    assert len(decode_detections(told, 64, 0.75, 1.0)) == 2


def test_a_picture_is_put_on_grey_and_its_colours_turned_round() -> None:
    tensor = letterbox(np.full((4, 8, 3), (1, 2, 3), np.uint8), 8)

    assert tensor.shape == (1, 3, 8, 8)
    assert tensor[0, :, 0, 0].tolist() == [3, 2, 1]
    assert (tensor[0, :, 4:] == 114).all()


def test_the_output_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="YOLOX"):
        decode_detections(output(32), 64, 0.3, 0.45)
