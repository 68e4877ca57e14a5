"""Small TensorFlow Lite files, as the conversion to ONNX reads them."""

import hashlib
import io
import struct
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from productrecs.records.pictures.network_archives import (
    ARCHIVED_NETWORKS,
    ArchivedNetwork,
    write_detector_from_archive,
)

ADD, CONCATENATE, CONV, DEPTHWISE, DEQUANTIZE, LOGISTIC = 0, 2, 3, 4, 6, 14
MAX_POOL, RESHAPE, RESIZE, PAD = 17, 22, 23, 34
SAME, VALID = 0, 1
RELU6 = 3

_KINDS: Final = {"float32": 0, "float16": 1, "int32": 2}


@dataclass
class LiteNetwork:
    """A network, tensor by tensor and operator by operator."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)
    arrays: dict[int, Any] = field(default_factory=dict)
    operators: list[tuple[int, list[int], int, dict[int, int]]] = field(
        default_factory=list
    )

    def tensor(self, *shape: int) -> int:
        """Add a tensor and return its number."""
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def constant(self, values: Any) -> int:
        """Add a fixed tensor."""
        number = self.tensor(*values.shape)
        self.arrays[number] = values
        return number

    def add(
        self, code: int, inputs: Sequence[int], shape: Sequence[int], **options: int
    ) -> int:
        """Add an operator with options by field number, `f0=1`; return its output."""
        output = self.tensor(*shape)
        fields = {int(name[1:]): value for name, value in options.items()}
        self.operators.append((code, list(inputs), output, fields))
        return output

    def half(self, values: Any) -> int:
        """Add a fixed tensor of 16-bit numbers, and what makes 32-bit numbers of them."""
        return self.add(DEQUANTIZE, [self.constant(values.astype("f2"))], values.shape)

    def convolve(self, source: int, weights: Any, bias: Any, shape: Sequence[int]) -> int:
        """Add a convolution of one cell, whose weights are [out, 1, 1, in]."""
        inputs = [source, self.half(weights), self.half(bias)]
        return self.add(CONV, inputs, shape, f0=SAME, f1=1, f2=1)

    def file(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """Return the network's file."""
        codes = sorted({code for code, *_ in self.operators})
        operators = [
            {0: codes.index(code), 1: sources, 2: [output], 4: options}
            for code, sources, output, options in self.operators
        ]
        tensors = [self._tensor(number) for number in range(len(self.shapes))]
        graph = {0: tensors, 1: list(inputs), 2: list(outputs), 3: operators}
        buffers = [{}, *({0: values.tobytes()} for values in self.arrays.values())]
        model = {1: [{3: code} for code in codes], 2: [graph], 4: buffers}
        content = bytearray(4)
        struct.pack_into("<I", content, 0, _write(content, model))
        return bytes(content)

    def _tensor(self, number: int) -> dict[int, Any]:
        buffer = list(self.arrays).index(number) + 1 if number in self.arrays else 0
        kind = _KINDS[self.arrays[number].dtype.name] if buffer else 0
        return {0: list(self.shapes[number]), 1: kind, 2: buffer}


def _write(content: bytearray, value: Any) -> int:
    """Append a table, a list or bytes as a flatbuffer has them; return the position."""
    if isinstance(value, bytes):
        start = len(content)
        content += struct.pack("<I", len(value)) + value
        return start
    if isinstance(value, dict):
        slots = max(value, default=-1) + 1
        table = len(content) + 4 + 2 * slots
        offsets = [4 + 4 * slot if slot in value else 0 for slot in range(slots)]
        content += struct.pack(f"<{slots + 2}H", 4 + 2 * slots, 4 + 4 * slots, *offsets)
        content += struct.pack("<i", 4 + 2 * slots)
        cells = [value.get(slot, 0) for slot in range(slots)]
        start = table
    else:
        start, cells = len(content), value
        content += struct.pack("<I", len(value))
    first = len(content)
    content += bytes(4 * len(cells))
    for place, cell in enumerate(cells):
        at = first + 4 * place
        written = cell if isinstance(cell, int) else _write(content, cell) - at
        struct.pack_into("<i", content, at, written)
    return start


def red_person() -> bytes:
    """Return a network in the form of BlazePose that sees one upright person in red.

    The person is there if a pixel is red; the mask are the red pixels.
    """
    network = LiteNetwork()
    picture = network.tensor(1, 256, 256, 3)
    landmarks = np.zeros((39, 5), np.float32)
    landmarks[11:13, :2] = [(148, 64), (108, 64)]
    landmarks[23:25, :2] = [(140, 112), (116, 112)]
    landmarks[25:27, :2] = [(140, 152), (116, 152)]
    landmarks[27:29, :2] = [(140, 192), (116, 192)]
    landmarks[33:35, :2] = [(128, 128), (128, 25.6)]
    reddest = network.add(
        MAX_POOL, [picture], (1, 1, 1, 3), f0=VALID, f1=1, f2=1, f3=256, f4=256
    )
    red = np.array([1.0, -0.5, -0.5], np.float32).reshape(1, 1, 1, 3)
    none = np.zeros((195, 1, 1, 3), np.float32)
    points = network.convolve(reddest, none, landmarks.ravel(), (1, 1, 1, 195))
    first = np.array([20.0, 0, 0], np.float32).reshape(1, 1, 1, 3)
    presence = network.convolve(reddest, first, np.array([-10.0]), (1, 1, 1, 1))
    mask = network.convolve(picture, red, np.array([-0.5]), (1, 256, 256, 1))
    flat = [
        network.add(RESHAPE, [one, network.constant(np.array([-1, count], "i4"))], shape)
        for one, count, shape in (
            (points, 195, (1, 195)),
            (network.add(LOGISTIC, [presence], (1, 1, 1, 1)), 1, (1, 1)),
        )
    ]
    return network.file([picture], [*flat, mask])


def red_chair(*labels: int) -> bytes:
    """Return a network in the form of SSD that sees a chair in each quarter that is red.

    The quarters are the cells of the last but one map; no other anchor finds a thing.
    With `labels` the thing has these instead of 5, a chair. A blue quarter has a desk.
    """
    network = LiteNetwork()
    picture = network.tensor(1, 300, 300, 3)
    size = {"f0": VALID, "f1": 150, "f2": 150, "f3": 150, "f4": 150}
    reddest = network.add(MAX_POOL, [picture], (1, 2, 2, 3), **size)
    whole = network.add(MAX_POOL, [reddest], (1, 1, 1, 3), f0=VALID, f1=2, f2=2, f3=2, f4=2)
    square = [5 * 24 + label for label in labels or (5,)]  # a cell's last anchor
    red, bias = np.zeros((144, 1, 1, 3), np.float32), np.full(144, -20.0, np.float32)
    red[square, 0, 0], bias[square] = np.array([10.0, -5.0, -5.0]), -2.0
    red[5 * 24 + 7, 0, 0], bias[5 * 24 + 7] = np.array([-5.0, -5.0, 10.0]), -6.0
    quarters = network.convolve(reddest, red, bias, (1, 2, 2, 144))

    def reshape(source: int, *shape: int) -> int:
        to = network.constant(np.array(shape, "i4"))
        return network.add(RESHAPE, [source, to], shape)

    def repeat(value: float, rows: int, numbers: int) -> int:
        count = rows * numbers
        weights = np.zeros((count, 1, 1, 3), np.float32)
        row = network.convolve(whole, weights, np.full(count, value), (1, 1, 1, count))
        return reshape(row, 1, rows, numbers)

    parts = [repeat(-20.0, 1887, 24), reshape(quarters, 1, 24, 24), repeat(-20.0, 6, 24)]
    scores = network.add(CONCATENATE, parts, (1, 1917, 24), f0=1)
    return network.file([picture], [repeat(0.0, 1917, 4), scores])


def package_archive(path: Path, file: str, content: bytes) -> Path:
    """Write the archive of a package with one file."""
    with tarfile.open(path, "w:gz") as package:
        entry = tarfile.TarInfo(file)
        entry.size = len(content)
        package.addfile(entry, io.BytesIO(content))
    return path


def find_network(name: str, content: bytes) -> ArchivedNetwork:
    """Return an archived network of this name whose verified content is another."""
    (network,) = (one for one in ARCHIVED_NETWORKS if one.name == name)
    return replace(network, sha256=hashlib.sha256(content).hexdigest())


def network_archive(path: Path, name: str, content: bytes) -> Path:
    """Write the archive of a package with this network."""
    network = find_network(name, content)
    return package_archive(path, network.file, bytes(network.start) + content)


def write_archived_model(name: str, content: bytes, model: Path, **sidecar: float) -> Path:
    """Write the ONNX model and the sidecar of a network in an archive."""
    network = find_network(name, content)
    archive = network_archive(model.with_suffix(".tgz"), name, content)
    network = replace(network, sidecar={**network.sidecar, **sidecar})
    write_detector_from_archive(network, archive, model)
    return model
