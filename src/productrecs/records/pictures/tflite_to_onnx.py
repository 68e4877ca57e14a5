"""Conversion of a TensorFlow Lite network of pictures to ONNX, for onnxruntime.

TensorFlow Lite has the channels last, ONNX has them first; a reshaped tensor has the order
of TensorFlow Lite. Only the operators of the packaged networks are known; any other is
refused.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.records.pictures.onnx_graph_writer import OnnxGraphWriter
from productrecs.records.pictures.tflite_reader import (
    FlatbufferTable,
    TfliteModel,
    TfliteOperator,
)

# Numbers of the operators in TensorFlow Lite's schema.
_ADD, _CONCATENATE, _CONV, _DEPTHWISE, _DEQUANTIZE, _LOGISTIC = 0, 2, 3, 4, 6, 14
_MAX_POOL, _RESHAPE, _RESIZE, _PAD = 17, 22, 23, 34
_VALID: Final = 1
_NO_ACTIVATION, _RELU, _RELU6 = 0, 1, 3
_CHANNELS_FIRST: Final = (0, 3, 1, 2)
_CHANNELS_LAST: Final = (0, 2, 3, 1)

# Field numbers of the operators' options.
_AXIS: Final = 0
_PADDING, _STRIDE_WIDTH, _STRIDE_HEIGHT = 0, 1, 2
_CONV_ACTIVATION, _DEPTHWISE_MULTIPLIER, _DEPTHWISE_ACTIVATION = 3, 3, 4
_POOL_WIDTH, _POOL_HEIGHT = 3, 4
_ALIGN_CORNERS, _HALF_PIXELS = 2, 3


class TfliteConverter:
    """Writes a network's nodes in the channels-first order of ONNX."""

    def __init__(self, model: TfliteModel, graph: OnnxGraphWriter, picture: str) -> None:
        """Convert `model` into nodes of `graph`, whose input is `picture`.

        Raises:
            ValueError: when it has an operator that is not known.
        """
        self._model, self._graph = model, graph
        self._arrays = dict(model.arrays)
        self._names = {model.inputs[0]: picture}
        self._reshaped = set[int]()
        self._constant_count = 0
        for operator in model.operators:
            self._write_operator(operator)

    def output(self, index: int) -> str:
        """Return the name of the network's output with this place among its outputs."""
        return self._names[self._model.outputs[index]]

    def _write_operator(self, operator: TfliteOperator) -> None:
        (output,) = operator.outputs
        first = operator.inputs[0]
        if operator.code == _DEQUANTIZE:
            self._arrays[output] = self._arrays[first].astype(np.float32)
            return
        convert = {
            _ADD: self._write_addition,
            _CONCATENATE: self._write_concatenation,
            _CONV: self._write_convolution,
            _DEPTHWISE: self._write_convolution,
            _LOGISTIC: self._write_sigmoid,
            _MAX_POOL: self._write_max_pooling,
            _RESHAPE: self._write_reshape,
            _RESIZE: self._write_resize,
            _PAD: self._write_padding,
        }.get(operator.code)
        if convert is None:
            message = f"operator {operator.code} of TensorFlow Lite is not known here"
            raise ValueError(message)
        self._names[output] = convert(operator)

    def _write_convolution(self, operator: TfliteOperator) -> str:
        source, weights, bias = operator.inputs
        options = _options(operator)
        kernel = self._arrays[weights]
        attributes: dict[str, Any] = {"strides": _strides(options)}
        if operator.code == _DEPTHWISE:
            if options.integer(_DEPTHWISE_MULTIPLIER, default=1) != 1:
                message = "a depthwise convolution with several kernels is not known here"
                raise ValueError(message)
            kernel = kernel.transpose(3, 0, 1, 2)
            attributes["group"] = len(kernel)
            activation = options.integer(_DEPTHWISE_ACTIVATION, "<b")
        else:
            kernel = kernel.transpose(_CHANNELS_FIRST)
            activation = options.integer(_CONV_ACTIVATION, "<b")
        inputs = [self._names[source], self._add_constant(kernel)]
        inputs.append(self._add_constant(self._arrays[bias]))
        result = self._graph.add_node(
            "Conv",
            inputs,
            auto_pad=_padding(options),
            kernel_shape=kernel.shape[2:],
            **attributes,
        )
        return self._write_activation(result, activation)

    def _write_addition(self, operator: TfliteOperator) -> str:
        result = self._graph.add_node(
            "Add", [self._names[number] for number in operator.inputs]
        )
        options = operator.options
        return self._write_activation(result, options.integer(0, "<b") if options else 0)

    def _write_sigmoid(self, operator: TfliteOperator) -> str:
        return self._graph.add_node("Sigmoid", [self._names[operator.inputs[0]]])

    def _write_max_pooling(self, operator: TfliteOperator) -> str:
        options = _options(operator)
        return self._graph.add_node(
            "MaxPool",
            [self._names[operator.inputs[0]]],
            auto_pad=_padding(options),
            kernel_shape=(options.integer(_POOL_HEIGHT), options.integer(_POOL_WIDTH)),
            strides=_strides(options),
        )

    def _write_reshape(self, operator: TfliteOperator) -> str:
        source, name = operator.inputs[0], self._names[operator.inputs[0]]
        (output,) = operator.outputs
        if source not in self._reshaped:
            name = self._graph.add_node("Transpose", [name], perm=_CHANNELS_LAST)
        self._reshaped.add(output)
        shape = self._add_constant(np.array(self._model.shapes[output], np.int64))
        return self._graph.add_node("Reshape", [name, shape])

    def _write_concatenation(self, operator: TfliteOperator) -> str:
        if not self._reshaped.issuperset(operator.inputs):
            message = "a concatenation of maps is not known here"
            raise ValueError(message)
        self._reshaped.update(operator.outputs)
        names = [self._names[number] for number in operator.inputs]
        return self._graph.add_node("Concat", names, axis=_options(operator).integer(_AXIS))

    def _write_resize(self, operator: TfliteOperator) -> str:
        source, options = operator.inputs[0], _options(operator)
        if options.integer(_ALIGN_CORNERS, "<b"):
            mode = "align_corners"
        else:
            is_half = options.integer(_HALF_PIXELS, "<b")
            mode = "half_pixel" if is_half else "asymmetric"
        height, width = self._arrays[operator.inputs[1]].tolist()
        before = self._model.shapes[source]
        scales = np.array([1, 1, height / before[1], width / before[2]], np.float32)
        inputs = [self._names[source], "", self._add_constant(scales)]
        return self._graph.add_node(
            "Resize", inputs, coordinate_transformation_mode=mode, mode="linear"
        )

    def _write_padding(self, operator: TfliteOperator) -> str:
        source, amounts = operator.inputs
        pairs = self._arrays[amounts].astype(np.int64)[list(_CHANNELS_FIRST)]
        pads = self._add_constant(np.concatenate([pairs[:, 0], pairs[:, 1]]))
        return self._graph.add_node("Pad", [self._names[source], pads])

    def _write_activation(self, name: str, activation: int) -> str:
        if activation == _NO_ACTIVATION:
            return name
        if activation == _RELU:
            return self._graph.add_node("Relu", [name])
        if activation == _RELU6:
            limits = [self._add_constant(np.array(limit, np.float32)) for limit in (0, 6)]
            return self._graph.add_node("Clip", [name, *limits])
        message = f"activation {activation} of TensorFlow Lite is not known here"
        raise ValueError(message)

    def _add_constant(self, values: npt.NDArray[Any]) -> str:
        self._constant_count += 1
        return self._graph.add_constant(f"constant_{self._constant_count}", values)


def _options(operator: TfliteOperator) -> FlatbufferTable:
    if operator.options is None:
        message = f"operator {operator.code} has no options"
        raise ValueError(message)
    return operator.options


def _padding(options: FlatbufferTable) -> str:
    return "VALID" if options.integer(_PADDING, "<b") == _VALID else "SAME_UPPER"


def _strides(options: FlatbufferTable) -> tuple[int, int]:
    return options.integer(_STRIDE_HEIGHT), options.integer(_STRIDE_WIDTH)
