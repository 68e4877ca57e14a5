"""SSD model: the object detector of the package `@mediapipe/objectron`, as an ONNX model.

The package carries SSD with MobileNetV2, trained on Open Images (Apache License 2.0).
"""

from typing import Final

from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.tflite_reader import read_lite_model
from productrecs.records.pictures.tflite_to_onnx import TfliteConverter

SIDE: Final = 300
ANCHORS: Final = 1_917
BOX_NUMBERS: Final = 4  # y, x, height and width, relative to an anchor

LABELS: Final = (
    "",  # the background
    "Bicycle",
    "Boot",
    "Laptop",
    "Person",
    "Chair",
    "Cattle",
    "Desk",
    "Cat",
    "Computer mouse",
    "Computer monitor",
    "Box",
    "Mug",
    "Coffee cup",
    "Stationary bicycle",
    "Table",
    "Bottle",
    "High heels",
    "Vehicle",
    "Footwear",
    "Dog",
    "Book",
    "Camera",
    "Car",
)

_BOXES, _LABELS = 0, 1  # the network's outputs


def convert_ssd_network(content: bytes) -> bytes:
    """Return the network as ONNX, with a row of numbers for each anchor, one after another.

    A row has the box and the score of each label, 0 to 1.

    Raises:
        ValueError: when it has parts that are not known.
    """
    graph = OnnxGraphWriter()
    network = TfliteConverter(read_lite_model(content), graph, "picture")
    scores = graph.add_node("Sigmoid", [network.output(_LABELS)])
    rows = graph.add_node("Concat", [network.output(_BOXES), scores], axis=2)
    numbers = graph.add_node("Flatten", [rows], axis=1)
    length = ANCHORS * (BOX_NUMBERS + len(LABELS))
    return graph.encode_model("picture", SIDE, numbers, length)
