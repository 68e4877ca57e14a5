"""TensorFlow Lite reader: the operators and arrays of a model, without TensorFlow.

A `.tflite` file is a flatbuffer: tables whose fields are found by their number.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_ELEMENTS: Final[Mapping[int, str]] = MappingProxyType({0: "<f4", 1: "<f2", 2: "<i4"})
"""Element types of arrays by TensorFlow Lite's number."""

# Field numbers of TensorFlow Lite's schema.
_OPERATOR_CODES, _SUBGRAPHS, _BUFFERS = 1, 2, 4  # of a model
_OLD_CODE, _CODE = 0, 3  # of an operator code
_TENSORS, _INPUTS, _OUTPUTS, _OPERATORS = 0, 1, 2, 3  # of a subgraph
_SHAPE, _ELEMENT, _BUFFER = 0, 1, 2  # of a tensor
_CODE_INDEX, _OPERATOR_INPUTS, _OPERATOR_OUTPUTS, _OPTIONS = 0, 1, 2, 4  # of an operator
_CONTENT: Final = 0  # of a buffer


class FlatbufferTable:
    """A table of a flatbuffer."""

    def __init__(self, content: bytes, at: int) -> None:
        """Read the table at a position."""
        self._content, self._at = content, at
        self._fields = at - _integer("<i", content, at)
        self._field_bytes = _integer("<H", content, self._fields)

    def integer(self, field: int, kind: str = "<i", default: int = 0) -> int:
        """Return an integer field, of struct's format `kind`."""
        at = self._field_position(field)
        return default if at is None else _integer(kind, self._content, at)

    def table(self, field: int) -> "FlatbufferTable | None":
        """Return the table that a field refers to, if it is set."""
        at = self._field_position(field)
        return None if at is None else FlatbufferTable(self._content, self._reference(at))

    def tables(self, field: int) -> list["FlatbufferTable"]:
        """Return a list of tables."""
        at, count = self._vector_start_and_length(field)
        return [
            FlatbufferTable(self._content, self._reference(at + 4 * index))
            for index in range(count)
        ]

    def integers(self, field: int) -> list[int]:
        """Return a list of 32-bit integers."""
        at, count = self._vector_start_and_length(field)
        return list(struct.unpack_from(f"<{count}i", self._content, at))

    def bytes(self, field: int) -> bytes:
        """Return a list of bytes."""
        at, count = self._vector_start_and_length(field)
        return self._content[at : at + count]

    def _field_position(self, field: int) -> int | None:
        entry = 4 + 2 * field
        if entry >= self._field_bytes:
            return None
        offset = _integer("<H", self._content, self._fields + entry)
        return self._at + offset if offset else None

    def _reference(self, at: int) -> int:
        return at + _integer("<I", self._content, at)

    def _vector_start_and_length(self, field: int) -> tuple[int, int]:
        at = self._field_position(field)
        if at is None:
            return 0, 0
        start = self._reference(at)
        return start + 4, _integer("<I", self._content, start)


@dataclass(frozen=True, slots=True)
class TfliteOperator:
    """An operator: its number in the schema, its tensors, and its options."""

    code: int
    inputs: list[int]
    outputs: list[int]
    options: FlatbufferTable | None


@dataclass(frozen=True, slots=True)
class TfliteModel:
    """A network: its operators in order, and its tensors' shapes and fixed arrays."""

    operators: list[TfliteOperator]
    shapes: list[tuple[int, ...]]
    arrays: Mapping[int, npt.NDArray[Any]]
    inputs: list[int]
    outputs: list[int]


def read_lite_model(content: bytes) -> TfliteModel:
    """Return the only network of a TensorFlow Lite file.

    Raises:
        ValueError: when it is not such a file.
    """
    try:
        return _read_lite_model(content)
    except (struct.error, IndexError, KeyError) as error:
        message = f"not a TensorFlow Lite file: {error!r}"
        raise ValueError(message) from error


def _read_lite_model(content: bytes) -> TfliteModel:
    model = FlatbufferTable(content, _integer("<I", content, 0))
    codes = [
        max(code.integer(_OLD_CODE, "<b"), code.integer(_CODE))
        for code in model.tables(_OPERATOR_CODES)
    ]
    buffers = model.tables(_BUFFERS)
    (graph,) = model.tables(_SUBGRAPHS)
    shapes, arrays = [], dict[int, npt.NDArray[Any]]()
    for number, tensor in enumerate(graph.tables(_TENSORS)):
        shape = tuple(tensor.integers(_SHAPE))
        shapes.append(shape)
        data = buffers[tensor.integer(_BUFFER, "<I")].bytes(_CONTENT)
        if data:
            element = _ELEMENTS[tensor.integer(_ELEMENT, "<b")]
            arrays[number] = np.frombuffer(data, element).reshape(shape)
    operators = [
        TfliteOperator(
            codes[operator.integer(_CODE_INDEX, "<I")],
            operator.integers(_OPERATOR_INPUTS),
            operator.integers(_OPERATOR_OUTPUTS),
            operator.table(_OPTIONS),
        )
        for operator in graph.tables(_OPERATORS)
    ]
    return TfliteModel(
        operators, shapes, arrays, graph.integers(_INPUTS), graph.integers(_OUTPUTS)
    )


def _integer(kind: str, content: bytes, at: int) -> int:
    (value,) = struct.unpack_from(kind, content, at)
    return int(value)
