"""ONNX embedder: the operator's model runs, and its vectors are used."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from productrecs.records.pictures.onnx_embedder_and_detector import (
    decode_detections,
    letterbox,
    to_normalized_tensor,
)
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    choose_embedding,
)
from tests.support.pictures import COLOURS, drawn, encoded, pixels

SIDE = 32


def mean_colour(path: Path, name: str = "colours") -> Path:
    """Write a model whose vector of a picture are its mean colours, 4 by 4 of them.

    Another name gives the file another SHA-256.
    """
    nodes = [
        helper.make_node(
            "AveragePool", ["pixels"], ["cells"], kernel_shape=[8, 8], strides=[8, 8]
        ),
        helper.make_node("Flatten", ["cells"], ["vector"], axis=1),
    ]
    given = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, 48])
    graph = helper.make_graph(nodes, name, [given], [vector])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    sidecar = {
        "kind": EMBEDDER,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "side": SIDE,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.25, 0.25, 0.25],
    }
    path.with_suffix(".json").write_text(json.dumps(sidecar))
    return path


def test_vectors_are_the_models_and_find_what_is_alike(tmp_path: Path) -> None:
    path = mean_colour(tmp_path / "colours.onnx")
    model = read_model_file(path, EMBEDDER)
    embedding = choose_embedding(model)
    with SandboxedDecoder(embedder=path) as viewer:
        seen = [viewer.describe(encoded(drawn(one, "ball"), "PNG")) for one in COLOURS]
        _, views, places, *_ = viewer.describe_photo(
            encoded(drawn("green", "ball", seed=4), "PNG")
        )
        regions = viewer.find_regions(encoded(drawn("red", "ball")))

    descriptors = np.stack(seen)
    space, _ = embedding.fit(EmbeddingExamples(descriptors, [], np.zeros((0, 2), np.intp)))
    vectors = embedding.vectors_of(descriptors, space)
    expected = to_normalized_tensor(pixels(drawn("red", "ball")), model)
    expected = expected.reshape(3, 4, 8, 4, 8).mean(axis=(2, 4)).ravel()
    assert embedding.dimensions(space) == vectors.shape[1] == 48
    assert np.allclose(vectors[0], expected / np.linalg.norm(expected), atol=0.02)
    query = embedding.vectors_of(views, embedding.space_arrays_in(space)).mean(axis=0)
    assert list(COLOURS)[int((vectors @ query).argmax())] == "green"
    assert len(places) == 0
    assert all(len(one.descriptor) == 4 * 48 for one in regions)
    assert embedding.name == f"onnx-{model.sha256[:16]}"
    assert choose_embedding(None).name != embedding.name


def output(side: int = 64, labels: int = 3) -> Any:
    cells = sum((side // stride) ** 2 for stride in (8, 16, 32))
    return np.zeros((1, cells, 5 + labels), dtype=np.float32)


def test_a_cell_holds_a_box_a_label_and_a_confidence() -> None:
    raw = output()
    raw[0, 10, :] = [0.5, 0.25, np.log(2), np.log(3), 0.9, 0.1, 0.8, 0.2]  # stride 8
    raw[0, 64 + 5, :] = [0, 0, 0, 0, 0.5, 1.0, 0, 0]  # the second grid, stride 16

    found = decode_detections(raw, 64, 0.3, 0.45)

    assert [one.label for one in found] == [1, 0]
    # Cell 10 of eight columns: column 2, row 1; its middle at (2.5, 1.25) strides.
    assert found[0].box == pytest.approx((20 - 8, 10 - 12, 16, 24))
    assert found[0].score == pytest.approx(0.72)
    assert found[1].box == pytest.approx((16 - 8, 16 - 8, 16, 16))


def test_of_boxes_of_one_label_that_overlap_the_surest_stays() -> None:
    raw = output()
    for cell, sure in ((10, 0.9), (11, 0.8)):
        raw[0, cell, :] = [0, 0, np.log(8), np.log(8), sure, 1.0, 0, 0]
    raw[0, 12, :] = [0, 0, np.log(8), np.log(8), 0.7, 0, 1.0, 0]

    found = decode_detections(raw, 64, 0.3, 0.45)

    assert [(one.label, round(one.score, 1)) for one in found] == [(0, 0.9), (1, 0.7)]
    assert len(decode_detections(raw, 64, 0.3, 1.0)) == 3
    assert len(decode_detections(raw, 64, 0.75, 1.0)) == 2


def test_a_picture_is_put_on_grey_and_its_colours_turned_round() -> None:
    tensor = letterbox(np.full((4, 8, 3), (1, 2, 3), np.uint8), 8)

    assert tensor.shape == (1, 3, 8, 8)
    assert tensor[0, :, 0, 0].tolist() == [3, 2, 1]
    assert (tensor[0, :, 4:] == 114).all()


def test_the_output_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="YOLOX"):
        decode_detections(output(32), 64, 0.3, 0.45)
