"""ONNX embedder: the operator's model runs, and its vectors are used."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

from productrecs.records.pictures.onnx_inference import preprocess
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    choose_embedding,
)
from tests.support.pictures import COLOURS, drawn, encoded, pixels

if TYPE_CHECKING:
    from pathlib import Path

SIDE = 32


def mean_colour(path: Path) -> Path:
    """Write a model whose vector of a picture are its mean colours, 4 by 4 of them."""
    nodes = [
        helper.make_node(
            "AveragePool", ["pixels"], ["cells"], kernel_shape=[8, 8], strides=[8, 8]
        ),
        helper.make_node("Flatten", ["cells"], ["vector"], axis=1),
    ]
    given = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    told = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, 48])
    graph = helper.make_graph(nodes, "colours", [given], [told])
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
        _, views, places, _ = viewer.look(encoded(drawn("green", "ball", seed=4), "PNG"))
        regions = viewer.regions(encoded(drawn("red", "ball")))

    descriptors = np.stack(seen)
    space, _ = embedding.learn(
        EmbeddingExamples(descriptors, [], np.zeros((0, 2), np.intp))
    )
    vectors = embedding.place(descriptors, space)
    expected = preprocess(pixels(drawn("red", "ball")), model)
    expected = expected.reshape(3, 4, 8, 4, 8).mean(axis=(2, 4)).ravel()
    assert embedding.dimensions(space) == vectors.shape[1] == 48
    assert np.allclose(vectors[0], expected / np.linalg.norm(expected), atol=0.02)
    asked = embedding.place(views, embedding.known(space)).mean(axis=0)
    assert list(COLOURS)[int((vectors @ asked).argmax())] == "green"
    assert len(places) == 0
    assert all(len(one.descriptor) == 4 * 48 for one in regions)
    assert embedding.name == f"onnx-{model.sha256[:16]}"
    assert choose_embedding(None).name != embedding.name
