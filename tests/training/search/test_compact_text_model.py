"""Compact text model: weights in 8 bits give the same vectors as the network's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.compact_text_model import write_compact_model

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

WORDS, TAKEN, GIVEN = 40, 256, 24


def network(scales: tuple[int, int] = (1, GIVEN), operator: str = "MatMul") -> bytes:
    """Return a table of words and a product, both with int8 weights and scales."""
    rng = np.random.default_rng(4)
    constants: dict[str, npt.NDArray[Any]] = {
        "table_q": rng.integers(-127, 128, (WORDS, TAKEN)).astype(np.int8),
        "table_scale": rng.uniform(0.01, 0.02, (WORDS, 1)).astype(np.float32),
        "weight_q": rng.integers(-127, 128, (TAKEN, GIVEN)).astype(np.int8),
        "weight_scale": rng.uniform(0.01, 0.02, scales).astype(np.float32),
        "bias": rng.standard_normal(GIVEN).astype(np.float32),
    }
    nodes = [
        helper.make_node("Cast", ["table_q"], ["table_f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["table_f", "table_scale"], ["table"]),
        helper.make_node("Cast", ["weight_q"], ["weight_f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["weight_f", "weight_scale"], ["weight"]),
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node(operator, ["rows", "weight"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["tokens"]),
    ]
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", GIVEN])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    content: bytes = model.SerializeToString()
    return content


def test_the_compact_model_gives_the_same_vectors(tmp_path: Path) -> None:
    target = tmp_path / "model" / "text.onnx"

    write_compact_model(memoryview(network()), target)

    onnx.checker.check_model(str(target))
    operators = [one.op_type for one in onnx.load(str(target)).graph.node]
    assert operators == ["Gather", "Cast", "Gather", "Mul", "MatMulNBits", "Add"]
    ids = {"ids": np.arange(WORDS)}
    (wanted,) = onnxruntime.InferenceSession(network()).run(None, ids)
    (found,) = onnxruntime.InferenceSession(str(target)).run(None, ids)
    lengths = np.linalg.norm(wanted, axis=1) * np.linalg.norm(found, axis=1)
    assert ((wanted * found).sum(axis=1) / lengths).min() > 0.999
    assert target.with_suffix(".weights").stat().st_size >= (WORDS + GIVEN) * TAKEN


@pytest.mark.parametrize(
    "content",
    [
        network(scales=(TAKEN, 1)),
        network(operator="Gemm"),
        network()[:-100],
        b"\xff" * 12,
        b"\x0b",
    ],
    ids=["scales by row", "another operator", "cut off", "endless number", "wire type 3"],
)
def test_a_network_of_another_form_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="has another form"):
        write_compact_model(memoryview(content), tmp_path / "text.onnx")
    assert not list(tmp_path.iterdir())
