"""Pose model: body landmarks from the package `@mediapipe/pose`, as an ONNX model.

The package carries BlazePose (`pose_landmark_lite.tflite`, Apache License 2.0).
"""

from typing import Final

from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.tflite_reader import read_lite_model
from productrecs.records.pictures.tflite_to_onnx import TfliteConverter

SIDE: Final = 256
LANDMARK_NUMBERS: Final = 195  # 39 landmarks: x, y, depth, visibility, presence
MASK_CELLS: Final = 64
"""Cells a side of the person's mask."""

_LANDMARKS, _PRESENCE, _MASK = 0, 1, 2  # the network's outputs
_CELL: Final = SIDE // MASK_CELLS


def convert_pose_network(content: bytes) -> bytes:
    """Return the network as ONNX, with one row out: landmarks, presence and mask.

    Raises:
        ValueError: when it has parts that are not known.
    """
    graph = OnnxGraphWriter()
    network = TfliteConverter(read_lite_model(content), graph, "picture")
    cells = graph.add_node(
        "AveragePool",
        [network.output(_MASK)],
        kernel_shape=(_CELL, _CELL),
        strides=(_CELL, _CELL),
    )
    parts = [network.output(_LANDMARKS), network.output(_PRESENCE)]
    parts.append(graph.add_node("Flatten", [cells], axis=1))
    row = graph.add_node("Concat", parts, axis=1)
    length = LANDMARK_NUMBERS + 1 + MASK_CELLS**2
    return graph.encode_model("picture", SIDE, row, length)
