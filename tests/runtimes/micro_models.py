"""Random TensorFlow Lite models for TFLite Micro, with nearly all of its operators, written with its schema."""

import random
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

_SCALE, _ZERO = 0.05, -3
_FIXED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0), "SOFTMAX": (1 / 256, -128), "LOG_SOFTMAX": (1 / 16, 127)}
_FIXED |= {"L2_NORMALIZATION": (1 / 128, 0)}
"""The scale and the zero point that kernels of int8 make their outputs with."""
_OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), "ReducerOptions"),
    "L2_NORMALIZATION": "L2NormOptions",
    "PADV2": "PadV2Options",
    "SVDF": "SVDFOptions",
    "ADD_N": "AddNOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
}
_SETTINGS: dict[str, dict[str, float]] = {"LEAKY_RELU": {"alpha": 0.1}, "SOFTMAX": {"beta": 1.0}}
_WITHOUT = {
    *("PRELU", "RELU", "RELU6", "LOGISTIC", "TANH", "ELU", "SIN", "LOG", "SQRT", "RSQRT", "ROUND", "FLOOR", "CEIL")
}
_SAME_FLOAT = ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "LOG", "NEG", "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE")
_SAME: tuple[str, ...] = ("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "RELU", "RELU6", "TANH", "SOFTMAX", "ZEROS_LIKE")
_SAME += ("LOG_SOFTMAX", "L2_NORMALIZATION")
_BOTH_FLOAT = ("DIV", "FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE")
_BOTH = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ADD_N")
_COMPARED = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


class MicroModel:
    """A model that is drawn operator by operator, of float32 or int8; `at` is what the next one reads, an image."""

    def __init__(self, shape: Sequence[int], *, is_int8: bool, seed: int = 0) -> None:
        self.schema = import_module("ai_edge_litert.schema_py_generated")
        self.rng, self.draw, self.is_int8 = np.random.default_rng(seed), random.Random(seed), is_int8
        self.types = self.schema.TensorType
        self.kind = self.types.INT8 if is_int8 else self.types.FLOAT32
        self.buffers: list[Any] = [self.schema.BufferT()]
        self.codes: list[str] = []
        self.graphs: list[Any] = []
        self.metadata: list[tuple[str, int]] = []
        self.graph = self.new_graph()
        self.at = self.tensor(shape)
        self.graph.inputs = [self.at]

    def new_graph(self) -> Any:
        """Add a subgraph, to which tensors and operators go once it is `graph`."""
        graph = self.schema.SubGraphT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
        self.graphs.append(graph)
        return graph

    def shape(self, tensor: int | None = None) -> tuple[int, ...]:
        """Return the shape of a tensor, by default of the input of the next operator."""
        return tuple(int(n) for n in self.graph.tensors[self.at if tensor is None else tensor].shape)

    def tensor(
        self, shape: Sequence[int], kind: int | None = None, scale: float = _SCALE, zero: int = _ZERO, buffer: int = 0
    ) -> int:
        row = self.schema.TensorT()
        row.shape, row.type, row.buffer = list(shape), self.kind if kind is None else kind, buffer
        row.name = f"t{len(self.graphs)}_{len(self.graph.tensors)}"
        if row.type in (self.types.INT8, self.types.UINT8):
            row.quantization = self._scales([scale], [zero])
        self.graph.tensors.append(row)
        return len(self.graph.tensors) - 1

    def numbers(self, values: Any, dtype: Any = np.int32) -> int:
        """Add a constant of numbers; of int8 they are quantised."""
        array = np.array(values, dtype)
        kinds = {"int32": self.types.INT32, "float32": self.types.FLOAT32, "int8": self.types.INT8}
        return self.tensor(array.shape, kinds[array.dtype.name], buffer=self.buffer(array))

    def filled(self, shape: Sequence[int], channel_axis: int = 0) -> int:
        """Add random weights, with a scale for each channel in int8."""
        if not self.is_int8:
            return self.numbers(self.rng.standard_normal(shape) * 0.3, np.float32)
        index = self.numbers(self.rng.integers(-127, 128, shape), np.int8)
        count = shape[channel_axis] if channel_axis >= 0 else 1
        scales = [0.01 + 0.0001 * k for k in range(count)]
        self.graph.tensors[index].quantization = self._scales(scales, [0] * count, max(0, channel_axis))
        return index

    def bias(self, width: int, count: int | None = None) -> int:
        if not self.is_int8:
            return self.numbers(self.rng.standard_normal(width), np.float32)
        index = self.numbers(self.rng.integers(-900, 900, width))
        count = width if count is None else count
        scales = [_SCALE * (0.01 + 0.0001 * k) for k in range(count)]
        self.graph.tensors[index].quantization = self._scales(scales, [0] * count)
        return index

    def op(self, name: str, inputs: Sequence[int], *outputs: int | Sequence[int], **options: Any) -> int:
        """Add an operator; an output is a tensor, or the shape of a new one. Return the first output."""
        if name not in self.codes:
            self.codes.append(name)
        row = self.schema.OperatorT()
        row.opcodeIndex, row.inputs = self.codes.index(name), list(inputs)
        row.outputs = [each if isinstance(each, int) else self._add_tensor(name, each) for each in outputs]
        kind = _OPTIONS.get(name) or "".join(word.capitalize() for word in name.split("_")) + "Options"
        if name not in _WITHOUT and hasattr(self.schema.BuiltinOptions, kind):
            row.builtinOptionsType = getattr(self.schema.BuiltinOptions, kind)
            row.builtinOptions = getattr(self.schema, f"{kind}T")()
            for field, value in options.items():
                setattr(row.builtinOptions, field, value)
        self.graph.operators.append(row)
        return int(row.outputs[0]) if row.outputs else -1

    def rescale(self, tensor: int) -> int:
        """Add a conversion of an image to the usual scale, and return the result."""
        found = self.graph.tensors[tensor].quantization
        if not self.is_int8 or (found.scale[0], found.zeroPoint[0]) == (_SCALE, _ZERO):
            return tensor
        return self.op("QUANTIZE", [tensor], self.tensor(self.shape(tensor)))

    def data(self) -> bytes:
        flatbuffers, schema, model = import_module("flatbuffers"), self.schema, self.schema.ModelT()
        self.graphs[0].outputs = self.graphs[0].outputs or [self.at]
        model.version, model.subgraphs, model.buffers = 3, self.graphs, self.buffers
        model.operatorCodes = []
        for name in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, name)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 3 if self.is_int8 else 1
            model.operatorCodes.append(code)
        model.metadata = [] if self.metadata else None
        for name, buffer in self.metadata:
            entry = schema.MetadataT()
            entry.name, entry.buffer = name, buffer
            model.metadata.append(entry)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _add_tensor(self, name: str, shape: Sequence[int]) -> int:
        scale, zero = _FIXED.get(name, (_SCALE, _ZERO)) if self.is_int8 else (_SCALE, _ZERO)
        return self.tensor(shape, scale=scale, zero=zero)

    def _scales(self, scales: list[float], zeros: list[int], axis: int = 0) -> Any:
        found = self.schema.QuantizationParametersT()
        found.scale, found.zeroPoint, found.quantizedDimension = scales, zeros, axis
        return found

    def buffer(self, array: np.ndarray) -> int:
        buffer = self.schema.BufferT()
        buffer.data = np.frombuffer(array.tobytes(), np.uint8)
        self.buffers.append(buffer)
        return len(self.buffers) - 1


def window(
    m: MicroModel, name: str, kernel: int, stride: int, padding: str = "SAME", width: int = 4, fused: str = "NONE"
) -> int:
    """Add a convolution or a pool of the model's current image."""
    _, rows, columns, depth = m.shape()
    sizes = [-(-n // stride) if padding == "SAME" else (n - kernel) // stride + 1 for n in (rows, columns)]
    options: dict[str, Any] = {"padding": getattr(m.schema.Padding, padding), "strideW": stride, "strideH": stride}
    options["fusedActivationFunction"] = getattr(m.schema.ActivationFunctionType, fused)
    inputs, made = [m.at], depth
    if name.endswith("POOL_2D"):
        options |= {"filterWidth": kernel, "filterHeight": kernel}
    elif name == "CONV_2D":
        inputs += [m.filled((width, kernel, kernel, depth)), m.bias(width)]
        options |= {"dilationWFactor": 1, "dilationHFactor": 1}
        made = width
    else:
        inputs += [m.filled((1, kernel, kernel, depth), 3), m.bias(depth)]
        options |= {"dilationWFactor": 1, "dilationHFactor": 1, "depthMultiplier": 1}
    return m.op(name, inputs, (1, *sizes, made), **options)


def add_upsampling(m: MicroModel, width: int = 4, kernel: int = 2) -> int:
    """Add a transposed convolution, whose kernel sums up in 4 bytes for each number of its output."""
    _, rows, columns, depth = m.shape()
    shape = (1, 2 * rows, 2 * columns, width)
    inputs = [m.numbers(shape), m.filled((width, kernel, kernel, depth)), m.at]
    return m.op("TRANSPOSE_CONV", inputs, shape, padding=m.schema.Padding.SAME, strideW=2, strideH=2)


def _add_elementwise(m: MicroModel, name: str) -> int:
    return m.rescale(m.op(name, [m.at], m.shape(), **_SETTINGS.get(name, {})))


def _add_binary(m: MicroModel, name: str) -> int:
    return m.op(name, [m.at, window(m, "DEPTHWISE_CONV_2D", 3, 1)], m.shape())


def _add_comparison(m: MicroModel, name: str) -> int:
    other = window(m, "DEPTHWISE_CONV_2D", 1, 1)
    rows = [m.op(name, [m.at, other], m.tensor(m.shape(), m.types.BOOL)) for name in (name, "GREATER")]
    both = m.op("LOGICAL_OR", rows, m.tensor(m.shape(), m.types.BOOL))
    both = m.op("LOGICAL_AND", [both, rows[0]], m.tensor(m.shape(), m.types.BOOL))
    return m.op("SELECT_V2", [m.op("LOGICAL_NOT", [both], m.tensor(m.shape(), m.types.BOOL)), m.at, other], m.shape())


def _add_reduction(m: MicroModel, name: str) -> int:
    _, _, _, depth = m.shape()
    return m.op("MUL", [m.at, m.op(name, [m.at, m.numbers([1, 2])], (1, 1, 1, depth), keepDims=True)], m.shape())


def _add_concatenation(m: MicroModel, _: str) -> int:
    n, rows, columns, depth = m.shape()
    wide = m.op("CONCATENATION", [m.at, window(m, "CONV_2D", 3, 1)], (n, rows, columns, depth + 4), axis=3)
    return m.op("SLICE", [wide, m.numbers([0, 0, 0, 0]), m.numbers(m.shape())], m.shape())


def _split(m: MicroModel, name: str) -> int:
    shape = (*m.shape()[:3], m.shape()[3] // 2)
    half = shape[3]
    inputs = [m.numbers(3), m.at] if name == "SPLIT" else [m.at, m.numbers([half, half]), m.numbers(3)]
    outs = [m.tensor(shape), m.tensor(shape)]
    m.op(name, inputs, *outs, numSplits=2)
    return m.op("CONCATENATION", outs[::-1], m.shape(), axis=3)


def _add_packing(m: MicroModel, _: str) -> int:
    shape = m.shape()
    pair = m.op("PACK", [m.at, window(m, "DEPTHWISE_CONV_2D", 3, 1)], (2, *shape), axis=0, valuesCount=2)
    outs = [m.tensor(shape), m.tensor(shape)]
    m.op("UNPACK", [pair], *outs, num=2, axis=0)
    return m.op("ADD", outs, shape)


def _add_padding(m: MicroModel, name: str) -> int:
    n, rows, columns, depth = m.shape()
    inputs = [m.at, m.numbers([[0, 0], [1, 1], [1, 1], [0, 0]])]
    inputs += [m.numbers(1, np.int8 if m.is_int8 else np.float32)] if name == "PADV2" else []
    around = m.op(name, inputs, (n, rows + 2, columns + 2, depth))
    ends = [m.numbers(row) for row in ([0, 1, 1, 0], [n, rows + 1, columns + 1, depth], [1, 1, 1, 1])]
    return m.op("STRIDED_SLICE", [around, *ends], m.shape())


def _depth(m: MicroModel, _: str) -> int:
    n, rows, columns, depth = m.shape()
    if rows % 2 or columns % 2:
        return _add_elementwise(m, "RELU")
    deep = m.op("SPACE_TO_DEPTH", [m.at], (n, rows // 2, columns // 2, 4 * depth), blockSize=2)
    return m.op("DEPTH_TO_SPACE", [deep], m.shape(), blockSize=2)


def _batches(m: MicroModel, _: str) -> int:
    n, rows, columns, depth = m.shape()
    if rows % 2 or columns % 2:
        return _add_elementwise(m, "RELU6")
    block, none = m.numbers([2, 2]), m.numbers([[0, 0], [0, 0]])
    several = m.op("SPACE_TO_BATCH_ND", [m.at, block, none], (4 * n, rows // 2, columns // 2, depth))
    return m.op("BATCH_TO_SPACE_ND", [several, block, none], m.shape())


def _add_transposition(m: MicroModel, _: str) -> int:
    n, rows, columns, depth = m.shape()
    first = m.op("TRANSPOSE", [m.at, m.numbers([0, 2, 1, 3])], (n, columns, rows, depth))
    return m.op("TRANSPOSE", [first, m.numbers([0, 2, 1, 3])], m.shape())


def _add_views(m: MicroModel, _: str) -> int:
    shape = m.shape()
    flat = m.op("RESHAPE", [m.at, m.numbers([1, int(np.prod(shape))])], (1, int(np.prod(shape))), newShape=[1, -1])
    flat = m.op("EXPAND_DIMS", [flat, m.numbers(0)], (1, *m.shape(flat)))
    flat = m.op("SQUEEZE", [flat], m.shape(flat)[1:], squeezeDims=[0])
    return m.op("RESHAPE", [flat, m.numbers(shape)], shape, newShape=list(shape))


def _add_resize(m: MicroModel, name: str) -> int:
    n, rows, columns, depth = m.shape()
    before, m.at = m.at, m.op(name, [m.at, m.numbers([2 * rows, 2 * columns])], (n, 2 * rows, 2 * columns, depth))
    made = window(m, "MAX_POOL_2D", 2, 2)
    m.at = before
    return made


def _add_gather(m: MicroModel, _: str) -> int:
    return m.op("GATHER", [m.at, m.numbers(list(range(m.shape()[3]))[::-1])], m.shape(), axis=3)


def _matrix(m: MicroModel, name: str) -> int:
    _, rows, columns, depth = m.shape()
    if name == "BATCH_MATMUL":
        return m.op(name, [m.at, m.filled((1, rows, depth, depth), -1)], m.shape())
    n = rows * columns
    wide = m.op("FULLY_CONNECTED", [m.at, m.filled((6, depth), -1), m.bias(6, 1)], (n, 6))
    flat = m.op("FULLY_CONNECTED", [wide, m.filled((depth, 6), -1), m.bias(depth, 1)], (n, depth))
    return m.op("RESHAPE", [flat, m.numbers(m.shape())], m.shape(), newShape=list(m.shape()))


def _cast(m: MicroModel, _: str) -> int:
    if m.is_int8:
        return m.op("QUANTIZE", [m.op("DEQUANTIZE", [m.at], m.tensor(m.shape(), m.types.FLOAT32))], m.shape())
    whole = m.op("CAST", [m.at], m.tensor(m.shape(), m.types.INT32))
    whole = m.op("ADD", [whole, whole], m.tensor(m.shape(), m.types.INT32))
    return m.op("CAST", [whole], m.shape())


def _spread(m: MicroModel, name: str) -> int:
    n, _, _, depth = m.shape()
    mean = m.op("REDUCE_MAX", [m.at, m.numbers([1, 2])], (n, 1, 1, depth), keepDims=True)
    if name == "FILL":
        zeros = m.op("FILL", [m.numbers(m.shape()), m.numbers(0.5, np.float32)], m.shape())
        return m.op("MUL", [zeros, mean], m.shape())
    return m.op("BROADCAST_TO", [mean, m.numbers(m.shape())], m.shape())


def _add_selection(m: MicroModel, name: str) -> int:
    shape = m.shape()
    best = m.op(name, [m.at, m.numbers(3)], m.tensor(shape[:3], m.types.INT32), outputType=m.types.INT32)
    wide = m.op("RESHAPE", [best, m.numbers((*shape[:3], 1))], m.tensor((*shape[:3], 1), m.types.INT32))
    return m.op("ADD", [m.at, m.op("CAST", [wide], (*shape[:3], 1))], shape)


def add_branches(m: MicroModel, times: int = 1) -> int:
    """Add operators IF, which all run the same two subgraphs: averages, whose kernels need scratch, or the largest."""
    shape, outer = m.shape(), m.graph
    subgraphs = []
    largest = m.op("REDUCE_MAX", [m.at, m.numbers([0, 1, 2, 3])], (), keepDims=False)
    zero = m.numbers(0, np.int8 if m.is_int8 else np.float32)
    condition = m.op("GREATER", [largest, zero], m.tensor((), m.types.BOOL))
    for name in ("MEAN", "REDUCE_MAX"):
        m.graph = m.new_graph()
        x = m.tensor(shape)
        m.graph.inputs = [x]
        low = m.op(name, [x, m.numbers([1, 2])], (1, 1, 1, shape[3]), keepDims=True)
        m.graph.outputs = [m.op("MUL", [x, low], shape)]
        subgraphs.append(len(m.graphs) - 1)
    m.graph, made = outer, m.at
    for _ in range(times):
        made = m.op("IF", [condition, made], shape, thenSubgraphIndex=subgraphs[0], elseSubgraphIndex=subgraphs[1])
        made = m.op("ADD", [made, m.at], shape)
    return made


def add_crossing(m: MicroModel, wide: int = 16) -> int:
    """Add two branches, both of which are wide before one of them is narrow: another order needs fewer bytes."""
    start, ends = m.at, []
    for _ in range(2):
        m.at = start
        ends.append(window(m, "CONV_2D", 3, 1, width=wide))
    for k, end in enumerate(ends):
        m.at = end
        ends[k] = window(m, "CONV_2D", 3, 1, width=4)
    return m.op("ADD", ends, m.shape(ends[0]))


LAYERS: dict[str, Callable[[MicroModel, str], int]] = {
    **dict.fromkeys((*_SAME, *_SAME_FLOAT), _add_elementwise),
    **dict.fromkeys((*_BOTH, *_BOTH_FLOAT), _add_binary),
    **dict.fromkeys(_COMPARED, _add_comparison),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _add_reduction),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _add_padding),
    **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _add_resize),
    **dict.fromkeys(("BATCH_MATMUL", "FULLY_CONNECTED"), _matrix),
    **dict.fromkeys(("BROADCAST_TO", "FILL"), _spread),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _add_selection),
    "CONCATENATION": _add_concatenation,
    "PACK": _add_packing,
    "SPACE_TO_DEPTH": _depth,
    "SPACE_TO_BATCH_ND": _batches,
    "TRANSPOSE": _add_transposition,
    "RESHAPE": _add_views,
    "GATHER": _add_gather,
    "CAST": _cast,
    "IF": lambda m, _: add_branches(m, m.draw.randint(1, 2)),
    "CONV_2D": lambda m, _: window(m, "CONV_2D", 3, 1, width=m.draw.choice([4, 8, 12])),
    "MAX_POOL_2D": lambda m, _: window(m, "MAX_POOL_2D", 3, 1),
    "AVERAGE_POOL_2D": lambda m, _: window(m, "AVERAGE_POOL_2D", 2, 1),
    "L2_POOL_2D": lambda m, _: window(m, "L2_POOL_2D", 2, 1),
    "TRANSPOSE_CONV": lambda m, _: add_upsampling(m) if m.shape()[1] < 24 else _add_elementwise(m, "RELU"),
    "REVERSE_V2": lambda m, name: m.op(name, [m.at, m.numbers([1])], m.shape()),
    "CUMSUM": lambda m, name: m.op(name, [m.at, m.numbers(1)], m.shape()),
    "PRELU": lambda m, name: m.op(name, [m.at, m.filled((1, 1, m.shape()[3]), -1)], m.shape()),
}
"""For each operator, the function that adds it, and the operators that it needs around it, to an image."""
FLOAT_ONLY = {*_SAME_FLOAT, *_BOTH_FLOAT, "L2_POOL_2D", "FILL", "ARG_MAX", "ARG_MIN", "ADD_N", "ZEROS_LIKE"}


def micro_model(seed: int, *, is_int8: bool, names: Sequence[str] = (), n: int = 5) -> bytes:
    """Return a model of two branches, followed by the named operators and drawn ones up to n."""
    m = MicroModel((1, 12, 12, 4), is_int8=is_int8, seed=seed)
    choice = sorted(LAYERS.keys() - FLOAT_ONLY if is_int8 else LAYERS)
    m.at = add_crossing(m, m.draw.choice([12, 16, 24]))
    for k, name in enumerate((*names, *m.draw.choices(choice, k=n))[: max(n, len(names))]):
        before = m.at
        m.at = LAYERS[name](m, name)
        if k % 3 == 1 and m.shape() == m.shape(before):
            m.at = m.op("ADD", [before, m.at], m.shape())
    return m.data()
