"""Small image classifiers in TensorFlow Lite with random weights, int8 or float32, written with LiteRT's schema."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


class Network:
    """A model that is drawn layer by layer; `at` is the tensor that the next layer reads."""

    def __init__(self, side: int, channels: int, *, is_int8: bool = True, seed: int = 0) -> None:
        self.schema = import_module("ai_edge_litert.schema_py_generated")
        self.rng, self.is_int8 = np.random.default_rng(seed), is_int8
        self.tensors: list[Any] = []
        self.buffers: list[Any] = [self.schema.BufferT()]
        self.operators: list[Any] = []
        self.codes: list[str] = []
        self.at = self.tensor((1, side, side, channels))

    def tensor(self, shape: tuple[int, ...], scale: float = 0.05, zero: int = -3) -> int:
        """Add a tensor that an operator computes."""
        row = self._row(shape, self.schema.TensorType.INT8 if self.is_int8 else self.schema.TensorType.FLOAT32)
        if self.is_int8:
            row.quantization = self._scales([scale], [zero])
        return len(self.tensors) - 1

    def shape(self) -> tuple[int, ...]:
        """Return the shape of the next layer's input."""
        return tuple(int(size) for size in self.tensors[self.at].shape)

    def convolution(
        self, width: int, kernel: int, stride: int = 1, fused: str = "RELU6", padding: str = "SAME"
    ) -> None:
        """Convolve."""
        _, rows, columns, depth = self.shape()
        weights = self._weights((width, kernel, kernel, depth), 0)
        options = self.schema.Conv2DOptionsT()
        self._window(options, stride, fused, padding)
        made = (1, *self._sizes((rows, columns), kernel, stride, padding), width)
        self._operate("CONV_2D", [self.at, weights, self._bias(width)], made, "Conv2DOptions", options)

    def depthwise(self, kernel: int, stride: int = 1, fused: str = "RELU6", padding: str = "SAME") -> None:
        """Add a depthwise convolution."""
        _, rows, columns, depth = self.shape()
        weights = self._weights((1, kernel, kernel, depth), 3)
        options = self.schema.DepthwiseConv2DOptionsT()
        self._window(options, stride, fused, padding)
        options.depthMultiplier = 1
        made = (1, *self._sizes((rows, columns), kernel, stride, padding), depth)
        self._operate(
            "DEPTHWISE_CONV_2D", [self.at, weights, self._bias(depth)], made, "DepthwiseConv2DOptions", options
        )

    def max_pool(self, kernel: int, stride: int, padding: str = "VALID", name: str = "MAX_POOL_2D") -> None:
        """Add a pool of each window: the largest value, or that of another kind of pool."""
        _, rows, columns, depth = self.shape()
        options = self.schema.Pool2DOptionsT()
        self._window(options, stride, "NONE", padding)
        options.filterWidth = options.filterHeight = kernel
        made = (1, *self._sizes((rows, columns), kernel, stride, padding), depth)
        self._operate(name, [self.at], made, "Pool2DOptions", options)

    def pad(self, before: int, behind: int) -> None:
        """Add padding: rows and columns of zeros around the image."""
        _, rows, columns, depth = self.shape()
        pads = np.array([[0, 0], [before, behind], [before, behind], [0, 0]], np.int32)
        self._constant(pads, self.schema.TensorType.INT32)
        made = (1, rows + before + behind, columns + before + behind, depth)
        self._operate("PAD", [self.at, len(self.tensors) - 1], made, "PadOptions", self.schema.PadOptionsT())

    def add(self, other: int) -> None:
        """Add an addition of another tensor of the same shape."""
        self._operate("ADD", [self.at, other], self.shape(), "AddOptions", self.schema.AddOptionsT())

    def classify(self, classes: int) -> None:
        """Add an average over the image and a number for each class."""
        depth = self.shape()[3]
        options = self.schema.ReducerOptionsT()
        options.keepDims = False
        self._operate("MEAN", [self.at, self._numbers((1, 2))], (1, depth), "ReducerOptions", options)
        weights = self._weights((classes, depth), None)
        dense = self.schema.FullyConnectedOptionsT()
        self._operate(
            "FULLY_CONNECTED", [self.at, weights, self._bias(classes, 1)], (1, classes), "FullyConnectedOptions", dense
        )

    def data(self) -> bytes:
        """Return the model's file."""
        flatbuffers, schema = import_module("flatbuffers"), self.schema
        graph, model = schema.SubGraphT(), schema.ModelT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = self.tensors, self.operators, [0], [self.at]
        model.version, model.subgraphs, model.buffers = 3, [graph], self.buffers
        model.operatorCodes = [self._code(name) for name in self.codes]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _sizes(self, sizes: tuple[int, int], kernel: int, stride: int, padding: str) -> tuple[int, ...]:
        return tuple(-(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1 for size in sizes)

    def _window(self, options: Any, stride: int, fused: str, padding: str) -> None:
        options.padding = getattr(self.schema.Padding, padding)
        options.strideW = options.strideH = stride
        options.fusedActivationFunction = getattr(self.schema.ActivationFunctionType, fused)
        if hasattr(options, "dilationWFactor"):
            options.dilationWFactor = options.dilationHFactor = 1

    def _operate(self, name: str, inputs: list[int], shape: tuple[int, ...], kind: str, options: Any) -> None:
        if name not in self.codes:
            self.codes.append(name)
        row = self.schema.OperatorT()
        row.opcodeIndex, row.inputs = self.codes.index(name), inputs
        row.builtinOptionsType, row.builtinOptions = getattr(self.schema.BuiltinOptions, kind), options
        self.at = self.tensor(shape)
        row.outputs = [self.at]
        self.operators.append(row)

    def _code(self, name: str) -> Any:
        code = self.schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(self.schema.BuiltinOperator, name)
        code.version = 3 if self.is_int8 else 1
        return code

    def _row(self, shape: tuple[int, ...], kind: int) -> Any:
        row = self.schema.TensorT()
        row.shape, row.type, row.buffer, row.name = list(shape), kind, 0, f"t{len(self.tensors)}"
        self.tensors.append(row)
        return row

    def _scales(self, scales: list[float], zeros: list[int], axis: int = 0) -> Any:
        found = self.schema.QuantizationParametersT()
        found.scale, found.zeroPoint, found.quantizedDimension = scales, zeros, axis
        return found

    def _constant(self, values: np.ndarray, kind: int) -> Any:
        buffer = self.schema.BufferT()
        buffer.data = np.frombuffer(values.tobytes(), np.uint8)
        self.buffers.append(buffer)
        row = self._row(values.shape, kind)
        row.buffer = len(self.buffers) - 1
        return row

    def _weights(self, shape: tuple[int, ...], axis: int | None) -> int:
        if not self.is_int8:
            self._constant((self.rng.standard_normal(shape) * 0.2).astype(np.float32), self.schema.TensorType.FLOAT32)
        else:
            row = self._constant(self.rng.integers(-127, 128, shape).astype(np.int8), self.schema.TensorType.INT8)
            count = 1 if axis is None else shape[axis]
            row.quantization = self._scales([0.01 + 0.0001 * k for k in range(count)], [0] * count, axis or 0)
        return len(self.tensors) - 1

    def _bias(self, width: int, count: int | None = None) -> int:
        if not self.is_int8:
            self._constant(self.rng.standard_normal(width).astype(np.float32), self.schema.TensorType.FLOAT32)
        else:
            row = self._constant(self.rng.integers(-900, 900, width).astype(np.int32), self.schema.TensorType.INT32)
            count = width if count is None else count
            row.quantization = self._scales([0.05 * (0.01 + 0.0001 * k) for k in range(count)], [0] * count)
        return len(self.tensors) - 1

    def _numbers(self, values: tuple[int, ...]) -> int:
        self._constant(np.array(values, np.int32), self.schema.TensorType.INT32)
        return len(self.tensors) - 1


def mobilenet_v1(side: int = 96, scale: int = 8, **facts: Any) -> bytes:
    """Return a network of alternating depthwise and pointwise layers, with `scale` channels at first."""
    net = Network(side, 3, **facts)
    net.convolution(scale, 3, 2)
    for width, stride in ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), (16, 1)):
        net.depthwise(3, stride)
        net.convolution(scale * width, 1)
    net.classify(10)
    return net.data()


def mobilenet_v2(side: int = 96, scale: int = 8, **facts: Any) -> bytes:
    """Return a network of inverted residual blocks."""
    net = Network(side, 3, **facts)
    net.convolution(2 * scale, 3, 2)
    for width, stride in ((scale, 1), (scale, 2), (scale, 1), (2 * scale, 2), (2 * scale, 1), (3 * scale, 2)):
        before, depth = net.at, net.shape()[3]
        net.convolution(6 * depth, 1)
        net.depthwise(3, stride)
        net.convolution(width, 1, fused="NONE")
        if stride == 1 and depth == width:
            net.add(before)
    net.classify(10)
    return net.data()


def vgg(side: int = 64, scale: int = 8, **facts: Any) -> bytes:
    """Return a network of alternating convolutions and pools."""
    net = Network(side, 3, **facts)
    for width, count in ((1, 2), (2, 2), (4, 2), (8, 2)):
        for _ in range(count):
            net.convolution(scale * width, 3, fused="RELU")
        net.max_pool(2, 2)
    net.classify(10)
    return net.data()
