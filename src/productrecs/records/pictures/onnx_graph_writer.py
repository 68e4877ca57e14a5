"""ONNX graph writer: a model in protobuf's wire format, without the package `onnx`."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_IR_VERSION: Final = 8
_OPERATOR_SET: Final = 13
_LARGEST_VARINT: Final = 63  # bits before the last byte
Attribute = int | str | Sequence[int]
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5  # protobuf wire types
_FLOAT_TENSOR, _INT64_TENSOR = 1, 7  # onnx.TensorProto.DataType
_INT, _STRING, _INTS = 2, 3, 7  # onnx.AttributeProto.AttributeType
# Field numbers of onnx.proto.
GRAPH, OPERATOR_SETS = 7, 8  # of a model
NODES, GRAPH_NAME, TENSORS, INPUTS, OUTPUTS = 1, 2, 5, 11, 12  # of a graph
NODE_INPUTS, NODE_OUTPUTS, OPERATOR, ATTRIBUTES, DOMAIN = 1, 2, 4, 5, 7  # of a node
SHAPE, KIND, TENSOR_NAME, NUMBERS, OUTSIDE, LOCATION = 1, 2, 8, 9, 13, 14  # of a tensor


class OnnxGraphWriter:
    """An ONNX graph with one input and one output, built node by node."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._nodes = list[bytes]()
        self._constants = list[bytes]()

    def add_constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add an array of float32 or int64, and return its name."""
        kind, element = (
            (_INT64_TENSOR, "<i8") if values.dtype == np.int64 else (_FLOAT_TENSOR, "<f4")
        )
        content = np.ascontiguousarray(values, dtype=element).tobytes()
        tensor = encode_tensor_head(name, kind, values.shape) + bytes_field(
            NUMBERS, content
        )
        self._constants.append(bytes_field(TENSORS, tensor))
        return name

    def add_node(
        self, operator: str, inputs: Sequence[str], **attributes: Attribute
    ) -> str:
        """Add a node, and return the name of its only output."""
        output = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(
            bytes_field(NODES, encode_node(operator, inputs, output, **attributes))
        )
        return output

    def encode_model(self, name: str, side: int, output: str, length: int) -> bytes:
        """Return a model's file: `name` [1, 3, side, side] in, `output` [1, length] out."""
        graph = b"".join(self._nodes) + string_field(GRAPH_NAME, "encoder")
        graph += b"".join(self._constants)
        graph += bytes_field(INPUTS, _encode_tensor_type(name, (1, 3, side, side)))
        graph += bytes_field(OUTPUTS, _encode_tensor_type(output, (1, length)))
        operators = bytes_field(OPERATOR_SETS, integer_field(2, _OPERATOR_SET))
        return integer_field(1, _IR_VERSION) + bytes_field(GRAPH, graph) + operators


def encode_tensor_head(name: str, kind: int, shape: Sequence[int]) -> bytes:
    """Return a tensor without its numbers; `kind` is ONNX's number of the data type."""
    sizes = b"".join(integer_field(SHAPE, size) for size in shape)
    return sizes + integer_field(KIND, kind) + string_field(TENSOR_NAME, name)


def _encode_tensor_type(name: str, shape: Sequence[int]) -> bytes:
    dimensions = b"".join(bytes_field(1, integer_field(1, size)) for size in shape)
    tensor = integer_field(1, _FLOAT_TENSOR) + bytes_field(2, dimensions)
    return string_field(1, name) + bytes_field(2, bytes_field(1, tensor))


def _encode_attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return string_field(1, name) + integer_field(3, value) + integer_field(20, _INT)
    if isinstance(value, str):
        return string_field(1, name) + string_field(4, value) + integer_field(20, _STRING)
    return (
        string_field(1, name)
        + b"".join(integer_field(8, one) for one in value)
        + integer_field(20, _INTS)
    )


def string_field(key: int, content: str) -> bytes:
    """Return a string field."""
    return bytes_field(key, content.encode())


def bytes_field(key: int, content: bytes) -> bytes:
    """Return a field of bytes: a string, or a nested message."""
    return _encode_varint(key << 3 | _BYTES) + _encode_varint(len(content)) + content


def integer_field(key: int, value: int) -> bytes:
    """Return an integer field, 0 or more."""
    return _encode_varint(key << 3 | _VARINT) + _encode_varint(value)


def _encode_varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits of a byte
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def read_protobuf_fields(content: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message in order: an integer, or the bytes of all else.

    Raises:
        ValueError: when the content is not a protobuf message.
    """
    at = 0
    while at < len(content):
        tag, at = _read_varint(content, at)
        key, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
            yield key, value
            continue
        if wire == _BYTES:
            length, at = _read_varint(content, at)
        elif wire in {_EIGHT_BYTES, _FOUR_BYTES}:
            length = 8 if wire == _EIGHT_BYTES else 4
        else:
            message = f"wire type {wire} is unknown"
            raise ValueError(message)
        if at + length > len(content):
            message = "a field reaches beyond its message"
            raise ValueError(message)
        yield key, content[at : at + length]
        at += length


def _read_varint(content: memoryview, at: int) -> tuple[int, int]:
    if at < len(content) and content[at] < 0x80:  # noqa: PLR2004 - most have one byte
        return content[at], at + 1
    value = shift = 0
    while shift <= _LARGEST_VARINT:
        if at >= len(content):
            break
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if content[at - 1] < 0x80:  # noqa: PLR2004 - the last byte of a number
            return value, at
    message = "a number is cut off or too long"
    raise ValueError(message)


def encode_node(
    operator: str,
    inputs: Sequence[str],
    output: str,
    **attributes: Attribute,
) -> bytes:
    """Return a node of the standard operators, with one output."""
    named = b"".join(string_field(NODE_INPUTS, name) for name in inputs)
    named += string_field(NODE_OUTPUTS, output) + string_field(OPERATOR, operator)
    for one in sorted(attributes.items()):
        named += bytes_field(ATTRIBUTES, _encode_attribute(*one))
    return named
