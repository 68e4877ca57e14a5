"""ONNX graph writer: the few nodes of a convolutional network, in the format's own bytes.

Source: onnx.proto (https://github.com/onnx/onnx), IR version 8, operator set 13. Only what
the packaged encoder needs is written, so neither `onnx` nor a training framework is needed.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_IR_VERSION: Final = 8
_OPERATOR_SET: Final = 13
_VARINT, _BYTES = 0, 2  # protobuf wire types
_FLOAT_TENSOR, _INT64_TENSOR = 1, 7  # onnx.TensorProto.DataType
_INT, _STRING, _INTS = 2, 3, 7  # onnx.AttributeProto.AttributeType

Attribute = int | str | Sequence[int]


class OnnxGraphWriter:
    """A graph with one input and one output, node by node."""

    def __init__(self) -> None:
        """Begin with no node."""
        self._nodes = list[bytes]()
        self._constants = list[bytes]()

    def add_constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add an array of float32 or int64, and return its name."""
        kind, element = (
            (_INT64_TENSOR, "<i8") if values.dtype == np.int64 else (_FLOAT_TENSOR, "<f4")
        )
        shape = b"".join(_number(1, size) for size in values.shape)
        content = np.ascontiguousarray(values, dtype=element).tobytes()
        tensor = shape + _number(2, kind) + _text(8, name) + _field(9, content)
        self._constants.append(_field(5, tensor))
        return name

    def add_node(
        self, operator: str, inputs: Sequence[str], **attributes: Attribute
    ) -> str:
        """Add a node, and return the name of its only output."""
        output = f"{operator.lower()}_{len(self._nodes)}"
        node = b"".join(_text(1, name) for name in inputs) + _text(2, output)
        node += _text(4, operator)
        node += b"".join(_field(5, _attribute(*one)) for one in sorted(attributes.items()))
        self._nodes.append(_field(1, node))
        return output

    def model(self, name: str, side: int, output: str, length: int) -> bytes:
        """Return a model's file: `name` [1, 3, side, side] in, `output` [1, length] out."""
        graph = b"".join(self._nodes) + _text(2, "encoder") + b"".join(self._constants)
        graph += _field(11, _tensor_type(name, (1, 3, side, side)))
        graph += _field(12, _tensor_type(output, (1, length)))
        operators = _field(8, _number(2, _OPERATOR_SET))
        return _number(1, _IR_VERSION) + _field(7, graph) + operators


def _tensor_type(name: str, shape: Sequence[int]) -> bytes:
    dimensions = b"".join(_field(1, _number(1, size)) for size in shape)
    tensor = _number(1, _FLOAT_TENSOR) + _field(2, dimensions)
    return _text(1, name) + _field(2, _field(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, _STRING)
    return _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, _INTS)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits of a byte
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
