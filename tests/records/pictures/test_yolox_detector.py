"""YOLOX detector: the operator's model runs, and only the described file."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from productrecs.records.pictures.onnx_model_file import (
    DETECTOR,
    ModelFileError,
    read_model_file,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from tests.support.pictures import drawn, encoded

SIDE, CELLS = 64, 64 + 16 + 4


def red_detector(path: Path) -> Path:
    """Write a model of the YOLOX kind that sees a thing wherever it is red."""

    def constant(name: str, values: Any) -> Any:
        array = np.asarray(values)
        kind = TensorProto.INT64 if array.dtype == np.int64 else TensorProto.FLOAT
        flat = array.astype(np.int64 if kind == TensorProto.INT64 else np.float32).ravel()
        return helper.make_tensor(name, kind, array.shape, flat.tolist())

    boxes = np.zeros((1, CELLS, 4), np.float32)
    boxes[..., 2:] = np.log(3)
    labels = np.tile(np.array([0.0, 1.0], np.float32), (1, CELLS, 1))
    nodes = [
        helper.make_node("Split", ["images", "each"], ["blue", "green", "red"], axis=1),
        helper.make_node("Sub", ["red", "blue"], ["redder"]),
        helper.make_node(
            "AveragePool", ["redder"], ["cells"], kernel_shape=[8, 8], strides=[8, 8]
        ),
        helper.make_node("Mul", ["cells", "share"], ["scaled"]),
        helper.make_node("Clip", ["scaled", "none", "all"], ["sure"]),
        helper.make_node("Reshape", ["sure", "listed"], ["fine"]),
        helper.make_node("Concat", ["fine", "coarse"], ["objects"], axis=1),
        helper.make_node("Concat", ["boxes", "objects", "labels"], ["output"], axis=2),
    ]
    given = [
        constant("each", np.array([1, 1, 1], np.int64)),
        constant("share", np.array([1 / 160], np.float32)),
        constant("none", np.float32(0)),
        constant("all", np.float32(1)),
        constant("listed", np.array([1, 64, 1], np.int64)),
        constant("coarse", np.zeros((1, 20, 1), np.float32)),
        constant("boxes", boxes),
        constant("labels", labels),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, CELLS, 7])
    graph = helper.make_graph(nodes, "red", [images], [output], given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    describe_model(path)
    return path


def describe_model(path: Path, **other: object) -> None:
    fields = {
        "kind": DETECTOR,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "side": SIDE,
        "labels": ["nothing", "red thing"],
        "least": 0.4,
    }
    path.with_suffix(".json").write_text(json.dumps(fields | other))


def test_boxes_and_labels_are_the_detectors(tmp_path: Path) -> None:
    picture = drawn("grey", "box", side=200)
    picture.paste((220, 20, 30), (130, 20, 190, 80))
    with SandboxedDecoder(detectors=[red_detector(tmp_path / "red.onnx")]) as viewer:
        found = viewer.find_regions(encoded(picture))
        nothing = viewer.find_regions(encoded(drawn("blue", "box")))

    assert found
    assert nothing == []
    first = found[0]
    assert first.label == "red thing"
    assert first.confidence is not None
    assert first.confidence > 0.6
    x, y, width, height = first.box
    assert 0.55 < x + width / 2 < 1.0
    assert 0.0 < y + height / 2 < 0.45


DATA: Final = Path(
    os.environ.get("PRODUCTRECS_BENCH_DATA", Path(__file__).parents[4] / "shared" / "data")
)
YOLOX: Final = DATA / "onnx_yolox_nano" / "yolox_nano.onnx"
CLOTHED: Final = DATA / "catalog_luma" / "images" / "mh01-gray_main.jpg"


@pytest.mark.skipif(not YOLOX.exists(), reason="YOLOX-nano is not there")
def test_a_real_detector_of_the_yolox_kind_is_loaded_and_sees_people(
    tmp_path: Path,
) -> None:
    path = tmp_path / "yolox.onnx"
    path.write_bytes(YOLOX.read_bytes())
    describe_model(path, side=416, labels=["person"], least=0.3)
    with SandboxedDecoder(detectors=[path]) as viewer:
        found = viewer.find_regions(CLOTHED.read_bytes())

    assert found[0].label == "person"
    assert found[0].confidence is not None
    assert found[0].confidence > 0.5
    x, y, width, height = found[0].box
    assert width * height > 0.3
    assert max(x + width, y + height) <= 1.001


def test_without_a_detector_a_photo_has_places_of_its_own() -> None:
    with SandboxedDecoder() as viewer:
        found = viewer.find_regions(encoded(drawn("red", "ball")))

    assert found
    assert all(one.confidence is None for one in found)
    assert all(one.label == "" for one in found)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"kind": "embedder"}, "kind"),
        ({"side": 9_999}, "side"),
        ({"side": "large"}, "is invalid"),
        ({"mean": [1]}, "is invalid"),
    ],
)
def test_a_file_that_is_not_the_described_one_is_refused(
    tmp_path: Path, other: dict[str, object], words: str
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights")
    describe_model(path, **other)

    with pytest.raises(ModelFileError, match=words):
        read_model_file(path, DETECTOR)
    with pytest.raises(ModelFileError, match="beside it"):
        read_model_file(tmp_path / "other.onnx", DETECTOR)
