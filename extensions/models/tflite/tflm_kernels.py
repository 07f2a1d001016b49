"""The memory that TFLite Micro's kernels allocate before the model runs; their scratch is in `tflm_arena`.

A kernel gets its options, and may allocate data, when it is initialized. While the kernel prepares, it may allocate
more. It also requests tensors with their quantisation, all of which stay above the arena's head until the kernel is
prepared. Source: tensorflow/lite/micro/kernels/*.cc, kernel_util.cc, as in `tflm_arena`.
"""

from __future__ import annotations

from collections.abc import Iterator

from memplan.extensions.models.tflite.model import BITS, Operator, Subgraph, TfliteTensor
from memplan.extensions.models.tflite.tflm_cmsis import cmsis_preparation, data_type_of, scales_of
from memplan.extensions.models.tflite.tflm_targets import Size, Target
from memplan.extensions.models.tflite.tflm_vendors import is_on_npu
from memplan.planner.foreign.imported import element_count

_FLOAT32, _INT16, _INT8 = 0, 7, 9
_OUT = -1
_TABLE = 1026
"""The bytes of each of the two lookup tables of a softmax on 16-bit integers."""
_TEMPORARIES: dict[str, tuple[int, ...]] = {}
for _names, _places in {
    "ARG_MAX ARG_MIN CALL_ONCE FLOOR LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM NEG PACK SHAPE TRANSPOSE UNPACK VAR_HANDLE"
    " WHILE": (),
    "IF READ_VARIABLE RELU6 SPLIT": (0,),
    "ASSIGN_VARIABLE": (1,),
    "SPLIT_V": (2,),
    "EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL": (0, 1),
    "ABS AVERAGE_POOL_2D BATCH_TO_SPACE_ND CAST CEIL CIRCULAR_BUFFER COS DEPTH_TO_SPACE DEQUANTIZE ELU EXP HARD_SWISH"
    " L2_NORMALIZATION LEAKY_RELU LOG LOGICAL_NOT LOGISTIC LOG_SOFTMAX MAX_POOL_2D QUANTIZE RELU RESHAPE ROUND RSQRT"
    " SIN SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SQRT SQUARE SQUEEZE ZEROS_LIKE": (0, _OUT),
    "L2_POOL_2D": (_OUT, 0),
    "TANH": (0, 0, _OUT),
    "ADD BATCH_MATMUL BROADCAST_ARGS BROADCAST_TO CUMSUM DIV EMBEDDING_LOOKUP EXPAND_DIMS FILL FLOOR_DIV FLOOR_MOD"
    " GATHER GATHER_ND MIRROR_PAD MUL PRELU RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SQUARED_DIFFERENCE"
    " SUB": (0, 1, _OUT),
    "DYNAMIC_UPDATE_SLICE FULLY_CONNECTED PAD PADV2 SELECT_V2 SLICE": (0, 1, 2, _OUT),
    "STRIDED_SLICE": (0, 1, 2, 3, _OUT),
    "SVDF": (0, 1, 2, 3, 4, _OUT),
    "CONV_2D DEPTHWISE_CONV_2D": (_OUT, 0, 1, 0, 1, 2, _OUT),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (*range(24), _OUT),
}.items():
    _TEMPORARIES |= dict.fromkeys(_names.split(), _places)
_BY_INPUTS = frozenset(("ADD_N", "CONCATENATION", "MEAN", "SUM", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN"))
_SAME_DATA = {
    "DEPTHWISE_CONV_2D": "CONV_2D", "MAX_POOL_2D": "AVERAGE_POOL_2D", "PADV2": "PAD", "RSQRT": "ABS",
    **dict.fromkeys(("SUM", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN"), "MEAN"), "ethos-u": "ETHOS_U",
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"), "EQUAL"),
}  # fmt: skip
"""The kernels with the same persistent data as another kernel, by their names."""
_SAME_OPTIONS = {
    "ARG_MIN": "ARG_MAX", "L2_POOL_2D": "AVERAGE_POOL_2D", "MAX_POOL_2D": "AVERAGE_POOL_2D",
    **dict.fromkeys(("SUM", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN"), "MEAN"),
}  # fmt: skip
_WHILE_PREPARING = frozenset(("ADD_N", "CUMSUM", "LOG_SOFTMAX"))
"""The kernels that allocate data only while they prepare, and only for quantised tensors."""
_BEHIND_SHAPE = "EMBEDDING_LOOKUP"
"""The kernel that allocates data after the copy of a shape; this order changes the padding that alignment adds."""
_BY_CHANNEL = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "TRANSPOSE_CONV": 0}
"""The kernels that allocate two 4-byte numbers for each channel, and the axis of channels in their weights."""
_COPIES_SHAPE = {
    "BATCH_MATMUL", "DEPTH_TO_SPACE", "EMBEDDING_LOOKUP", "GATHER", "GATHER_ND", "L2_POOL_2D", "SPACE_TO_DEPTH",
}  # fmt: skip
_KNOWN = _TEMPORARIES.keys() | _BY_INPUTS | {"TRANSPOSE_CONV"}


def is_known(operator: Operator, target: Target) -> bool:
    """Return True if the memory that an operator's kernel allocates is known."""
    return operator.name in _KNOWN or is_on_npu(operator, target)


def options_of(operator: Operator, target: Target) -> Size:
    """Return the size of the parsed options of an operator; 0 for a custom operator, whose options stay in the file."""
    return target.options(_SAME_OPTIONS.get(operator.name, operator.name))


def construction_bytes(operator: Operator, target: Target) -> int:
    """Return the bytes that an operator's kernel allocates when it is initialized."""
    name = _SAME_DATA.get(operator.name, operator.name)
    return 0 if name in {*_WHILE_PREPARING, _BEHIND_SHAPE} else target.kernel_bytes(name)


def temporaries(graph: Subgraph, operator: Operator, target: Target) -> Iterator[TfliteTensor]:
    """Yield each tensor that a kernel requests while it prepares, once for each request."""
    # The average kernel of CMSIS-NN requests its tensors a second time, after the reference kernel, so count both.
    times = 2 if operator.name == "AVERAGE_POOL_2D" and target.has_cmsis else 1
    for place in _request_order(graph, operator) * times:
        indices = operator.outputs if place == _OUT else operator.inputs
        at = 0 if place == _OUT else place
        if at < len(indices) and indices[at] >= 0:
            yield graph.tensors[indices[at]]


def _request_order(graph: Subgraph, operator: Operator) -> tuple[int, ...]:
    """Return the input positions of the tensors that a kernel requests, in the order of requests; -1 is the output."""
    name, n_inputs = operator.name, len(operator.inputs)
    kind = data_type_of(graph, operator)
    if name == "ADD_N":
        return (0, _OUT, *range(1, n_inputs))
    if name == "CONCATENATION":
        return (0, _OUT, *range(n_inputs))
    if name == "TRANSPOSE_CONV":
        return (_OUT, 2, 1) if kind == _FLOAT32 else (_OUT, 2, 1, 2, 1, 3, _OUT)
    if name in _BY_INPUTS:
        simple = (0, 1, _OUT) if kind == _INT8 else (0, 1)
        return (0, _OUT, 1, *simple) if name in ("MEAN", "SUM") else (*simple, 0, _OUT, 1)
    return (0,) if name == "ethos-u" else _TEMPORARIES.get(name, ())


def preparation_sizes(graph: Subgraph, operator: Operator, target: Target) -> Iterator[int]:
    """Yield the bytes of each persistent allocation that an operator's kernel makes while it prepares."""
    name = operator.name
    first, weights = (graph.tensors[k] if k >= 0 else None for k in (*operator.inputs, -1, -1)[:2])
    is_quantized = first is not None and first.type in (_INT8, _INT16)
    if name in _WHILE_PREPARING and is_quantized:
        yield target.kernel_bytes(name)
    if weights is not None:
        if name in _BY_CHANNEL and len(weights.shape) > _BY_CHANNEL[name]:
            is_without = target.has_cmsis and name != "TRANSPOSE_CONV" and not is_quantized
            yield from () if is_without else (4 * weights.shape[_BY_CHANNEL[name]],) * 2
        elif name == "FULLY_CONNECTED" and scales_of(weights) > 1 and is_quantized:
            yield from (4 * scales_of(weights),) * 2
    if name == "BATCH_MATMUL":
        yield target.kernel_bytes("BATCH_MATMUL_quantized") if is_quantized else 0
        # The kernel transposes operand 1 if `adj_x` is set, and operand 2 unless `adj_y` is set: copy these.
        options = None if operator.table is None else operator.table.table(4, "builtin_options")
        asked = [options is not None and options.integer(k, "adj", "B") != 0 for k in (0, 1)]
        for tensor in [each for each, is_turned in ((first, asked[0]), (weights, not asked[1])) if is_turned]:
            if tensor is not None:
                yield from (target.runtime("EvalTensor").size, 4 + 4 * len(tensor.shape), tensor_bytes(tensor))
    if name == "SOFTMAX" and first is not None and first.type == _INT16:
        yield from (_TABLE, _TABLE)
    if name in _COPIES_SHAPE and operator.outputs:
        yield 4 + 4 * len(graph.tensors[operator.outputs[0]].shape)
    if name == _BEHIND_SHAPE:
        yield target.kernel_bytes(name)
    yield from cmsis_preparation(graph, operator, target)


def tensor_bytes(tensor: TfliteTensor) -> int:
    """Return the bytes of a tensor's elements, without rounding to an alignment."""
    return -(-element_count(tensor.shape) * BITS.get(tensor.type, 0) // 8)
