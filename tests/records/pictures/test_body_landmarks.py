"""Body landmarks: the network is verified, converted exactly, and finds garments."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image, ImageDraw

from productrecs.engines.visual.garment_places import PersonLandmarks, find_garment_places
from productrecs.records.pictures.body_landmarks import LandmarkGarmentFinder
from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.onnx_model_file import DETECTOR, read_model_file
from productrecs.records.pictures.pose_model_conversion import convert_pose_network
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.records.pictures.tflite_reader import read_lite_model
from productrecs.records.pictures.tflite_to_onnx import TfliteConverter
from tests.support import lite_models as lite
from tests.support.lite_models import LiteNetwork, red_person, write_archived_model

NETWORK = red_person()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the converted network of a person in red."""
    return write_archived_model("body", NETWORK, tmp_path / "model.onnx")


def street_photo(*, has_person: bool) -> np.ndarray[Any, Any]:
    """Return a photo of 300 x 400 pixels, with a red figure or none."""
    picture = Image.new("RGB", (300, 400), (90, 110, 130))
    if has_person:
        ImageDraw.Draw(picture).rectangle((110, 60, 190, 380), fill=(230, 20, 20))
    return np.asarray(picture)


def run_onnx(content: bytes, picture: Any) -> Any:
    """Return what a converted network makes of a picture."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"picture": picture})[0]


def converted(network: LiteNetwork, source: int, output: int) -> bytes:
    """Return a network with one output row as ONNX."""
    graph = OnnxGraphWriter()
    converter = TfliteConverter(
        read_lite_model(network.file([source], [output])), graph, "picture"
    )
    row = graph.add_node("Flatten", [converter.output(0)], axis=1)
    length = int(np.prod(network.shapes[output]))
    return graph.encode_model("picture", network.shapes[source][1], row, length)


def test_each_operator_is_converted_to_the_same_numbers() -> None:
    lot = np.random.default_rng(5)
    network = LiteNetwork()
    source = network.tensor(1, 4, 4, 3)
    padding = network.constant(np.array([[0, 0], [1, 0], [2, 1], [0, 1]], "i4"))
    padded = network.add(lite.PAD, [source, padding], (1, 5, 7, 4))
    kernel = lot.normal(size=(1, 3, 3, 4)).astype("f2")
    bias = lot.normal(size=4).astype("f2")
    deep = network.add(
        lite.DEPTHWISE,
        [padded, network.half(kernel), network.half(bias)],
        (1, 3, 5, 4),
        f0=lite.VALID,
        f1=1,
        f2=1,
        f3=1,
        f4=lite.RELU6,
    )
    doubled = network.add(lite.ADD, [deep, deep], (1, 3, 5, 4))
    size = network.constant(np.array([6, 10], "i4"))
    wide = network.add(lite.RESIZE, [doubled, size], (1, 6, 10, 4), f2=0, f3=1)
    picture = lot.normal(size=(1, 4, 4, 3)).astype(np.float32)

    found = run_onnx(converted(network, source, wide), picture.transpose(0, 3, 1, 2))

    room = np.pad(picture[0], [(1, 0), (2, 1), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(room, (3, 3), axis=(0, 1))
    expected = np.einsum("yxcij,ijc->yxc", windows, kernel[0].astype(np.float32))
    expected = 2 * np.clip(expected + bias.astype(np.float32), 0, 6)
    for axis in (0, 1):
        expected = doubled_by_lines(expected, axis)
    assert found.reshape(4, 6, 10).transpose(1, 2, 0) == pytest.approx(expected, abs=1e-4)


def doubled_by_lines(values: Any, axis: int) -> Any:
    """Return an array of twice the length, interpolated between its cells' centres."""
    length = values.shape[axis]
    at = np.clip((np.arange(2 * length) + 0.5) / 2 - 0.5, 0, length - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, length - 1)
    share = (at - low).reshape([-1 if one == axis else 1 for one in range(3)])
    return values.take(low, axis) * (1 - share) + values.take(high, axis) * share


@pytest.mark.parametrize(
    "content", [b"", b"\x1c\0\0\0TFL3", NETWORK[:400], b"\xff" * 64], ids=range(4)
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises((ValueError, KeyError, IndexError)):
        convert_pose_network(content)


def test_an_unknown_operator_is_refused() -> None:
    network = LiteNetwork()
    source = network.tensor(1, 8, 8, 3)
    network.add(99, [source], (1, 8, 8, 3))

    with pytest.raises(ValueError, match="operator 99"):
        convert_pose_network(network.file([source], [1, 1, 1]))


def test_garments_lie_on_the_person_and_nowhere_without_one(model: Path) -> None:
    finder = LandmarkGarmentFinder(read_model_file(model, DETECTOR))

    top, legs, shoes, dress, skirt = finder.find_garments(
        street_photo(has_person=True)
    ).tolist()

    assert len(finder.find_garments(street_photo(has_person=False))) == 0
    for left, _, width, _ in (top, legs, shoes, dress, skirt):
        assert left == pytest.approx(110 / 300, abs=0.03)
        assert width == pytest.approx(80 / 300, abs=0.04)
    assert top[1] < legs[1] < shoes[1]
    assert top[1] + top[3] == pytest.approx(113 / 256, abs=0.01)
    assert dress[3] > top[3]


def test_garments_outside_the_photo_are_left_out() -> None:
    landmarks = np.full((39, 2), 150.0)
    landmarks[11:13, 1], landmarks[23:25, 1] = 100, 300
    landmarks[25:27, 1], landmarks[27:29, 1] = 500, 700
    body = PersonLandmarks(landmarks, np.ones((64, 64), np.bool_), (0.0, 0.0, 800.0))

    places = find_garment_places(body, 400, 300)

    tops = [100 - 0.16 * 200, 100 - 0.17 * 200, 300 - 0.24 * 200]  # no legs, no shoes
    assert places[:, 1] * 400 == pytest.approx(tops, abs=0.01)
    assert (places[:, 1] + places[:, 3]).max() <= 1
    tiny = body._replace(landmarks=landmarks / 100)
    assert len(find_garment_places(tiny, 400, 300)) == 0


@pytest.fixture
def decoder(model: Path) -> Iterator[SandboxedDecoder]:
    """Give a decoder with the network."""
    with SandboxedDecoder(detectors=[model]) as started:
        yield started


def test_the_decoder_looks_at_garments_first(decoder: SandboxedDecoder) -> None:
    photos = [street_photo(has_person=has_person) for has_person in (True, False)]
    files = []
    for photo in photos:
        file = io.BytesIO()
        Image.fromarray(photo).save(file, "PNG")
        files.append(file.getvalue())

    person, nobody = (decoder.find_regions(file) for file in files)

    assert [region.is_garment for region in person[:5]] == [True] * 5
    assert not any(region.is_garment for region in person[5:])
    assert all(region.confidence is None for region in person)
    assert person[0].box[0] == pytest.approx(110 / 300, abs=0.04)
    assert all(region.box[0] != person[0].box[0] for region in nobody)
