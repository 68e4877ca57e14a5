"""Weights in the file format of PyTorch before 1.6, written without PyTorch."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Weights = Mapping[str, npt.NDArray[np.float32]]

MAGIC = 0x1950A86A20F9469CFC6C
_STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
_KERNELS = (3, 3, 3, 5, 5, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 3)
_MAPS = (4, 4, 4, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 10)
"""Of each block: the shape of EfficientNet-Lite0, with a few maps of each."""


def torch_file(weights: Weights, tensor: str = "torch._utils\n_rebuild_tensor_v2") -> bytes:
    """Return the file of a state dictionary; `tensor` is what makes one of a storage."""
    keys = {name: str(number) for number, name in enumerate(weights)}
    entries = [
        _text(name) + _tensor(tensor, keys[name], values.shape)
        for name, values in weights.items()
    ]
    parts = [
        b"L%dL\n." % MAGIC,
        b"I1001\n.",
        b"(d.",
        b"(" + b"".join(entries) + b"d.",
        b"(" + b"".join(map(_text, keys.values())) + b"l.",
    ]
    for values in weights.values():
        parts += [np.int64(values.size).tobytes(), values.astype("<f4").tobytes()]
    return b"".join(parts)


def _tensor(maker: str, key: str, shape: Sequence[int]) -> bytes:
    count = int(np.prod(shape))
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text(key)
    storage += _text("cpu") + b"I%d\nNtQ" % count
    steps = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
    arguments = storage + b"I0\n" + _tuple(shape) + _tuple(steps) + b"I00\nN"
    return b"c" + maker.encode() + b"\n(" + arguments + b"tR"


def _tuple(numbers: Sequence[int]) -> bytes:
    return b"(" + b"".join(b"I%d\n" % number for number in numbers) + b"t"


def _text(text: str) -> bytes:
    return b"V" + text.encode() + b"\n"


def tiny_weights(seed: int = 3) -> dict[str, npt.NDArray[np.float32]]:
    """Return weights of a small EfficientNet-Lite0: the same names, few maps."""
    lot = np.random.default_rng(seed)
    weights = dict[str, "npt.NDArray[np.float32]"]()

    def add(name: str, norm: str, shape: tuple[int, ...]) -> None:
        weights[f"{name}.weight"] = lot.normal(0, 0.6, shape).astype(np.float32)
        for part, low, high in (
            ("weight", 0.5, 1.5),
            ("bias", -0.5, 1.0),
            ("running_mean", -0.5, 0.5),
            ("running_var", 0.5, 2.0),
        ):
            weights[f"{norm}.{part}"] = lot.uniform(low, high, shape[0]).astype(np.float32)

    add("_conv_stem", "_bn0", (4, 3, 3, 3))
    given = 4
    for block, (kernel, maps) in enumerate(zip(_KERNELS, _MAPS, strict=True)):
        name, wide = f"_blocks.{block}", given if block == 0 else 2 * given
        if block:
            add(f"{name}._expand_conv", f"{name}._bn0", (wide, given, 1, 1))
        add(f"{name}._depthwise_conv", f"{name}._bn1", (wide, 1, kernel, kernel))
        add(f"{name}._project_conv", f"{name}._bn2", (maps, wide, 1, 1))
        given = maps
    add("_conv_head", "_bn1", (12, given, 1, 1))
    return weights


def features(weights: Weights, picture: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return what the network says of a picture [3, h, w], computed step by step."""

    def layer(
        given: npt.NDArray[np.float32], name: str, norm: str, step: int = 1
    ) -> npt.NDArray[np.float32]:
        found = _convolved(given, weights[f"{name}.weight"], step)
        spread = np.sqrt(weights[f"{norm}.running_var"] + 1e-3)
        found = (found - weights[f"{norm}.running_mean"][:, None, None]) / spread[
            :, None, None
        ]
        found = found * weights[f"{norm}.weight"][:, None, None]
        biased: npt.NDArray[np.float32] = found + weights[f"{norm}.bias"][:, None, None]
        return biased

    last = layer(picture, "_conv_stem", "_bn0", 2).clip(0, 6)
    for block, step in enumerate(_STRIDES):
        name, start = f"_blocks.{block}", last
        if block:
            last = layer(last, f"{name}._expand_conv", f"{name}._bn0").clip(0, 6)
        last = layer(last, f"{name}._depthwise_conv", f"{name}._bn1", step).clip(0, 6)
        last = layer(last, f"{name}._project_conv", f"{name}._bn2")
        if step == 1 and start.shape == last.shape:
            last = last + start
    last = np.asarray(layer(last, "_conv_head", "_bn1").clip(0, 6), np.float32)
    means: npt.NDArray[np.float32] = last.mean(axis=(1, 2))
    return means


def _convolved(
    given: npt.NDArray[np.float32], kernel: npt.NDArray[np.float32], step: int
) -> npt.NDArray[np.float32]:
    """Return a convolution whose output is the input's size by `step`, rounded up."""
    side, size = given.shape[1], kernel.shape[2]
    after = -(-side // step)
    edge = max(0, (after - 1) * step + size - side)
    before = edge // 2
    padded = np.pad(given, ((0, 0), *[(before, edge - before)] * 2))
    output = np.zeros((len(kernel), after, after), np.float32)
    for row in range(size):
        for column in range(size):
            seen = padded[
                :, row : row + after * step : step, column : column + after * step : step
            ]
            seen = seen[:, :after, :after]
            part = kernel[:, :, row, column]
            if kernel.shape[1] == 1 and len(given) == len(kernel) and len(given) > 1:
                output += seen * part[:, 0, None, None]
            else:
                output += np.einsum("oi,ihw->ohw", part, seen)
    return output
