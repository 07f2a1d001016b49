"""What TFLite Micro's kernels take, and the memory that they allocate before the model runs.

A kernel gets its options, and may allocate data, when it is initialized. While the kernel prepares, it may allocate
more. It also requests tensors with their quantisation, all of which stay above the arena's head until the kernel is
prepared. The facts of each kernel are in `tflm_kernels.toml`; its scratch is in `tflm_arena`. Source:
tensorflow/lite/micro/kernels/*.cc, kernel_util.cc, as in `tflm_arena`.
"""

from collections.abc import Iterator
from math import prod

from memplan.planner.foreign.imported import element_count
from memplan.runtimes.tflite.model import BITS, DTYPES, Operator, Subgraph, TfliteTensor
from memplan.runtimes.tflite.tflm_cmsis import cmsis_preparation, data_type_of, scales_of
from memplan.runtimes.tflite.tflm_targets import Size, Target, facts_by_operator, kernel_facts, operators_with
from memplan.runtimes.tflite.tflm_vendors import is_on_npu

_FLOAT32, _INT16, _INT8 = 0, 7, 9
_TABLE = 1026
"""The bytes of each of the two lookup tables of a softmax on 16-bit integers."""
_BIAS, _MOST_DIFFERENT = 2, 0.02
"""The position of a layer's bias, and the maximum error of its scale, as a fraction of the output's scale."""


def is_known(operator: Operator, target: Target) -> bool:
    """Return True if the memory that an operator's kernel allocates is known."""
    return is_on_npu(operator, target) or operator.name in facts_by_operator("requests").keys() - {"ethos-u"}


def refusal(graph: Subgraph, operator: Operator) -> str | None:
    """Return which types, dimensions or computed inputs of an operator its kernel refuses, in words, else None."""
    name = operator.name
    for places, rules in ((places, facts_by_operator("types", places)) for places in kernel_facts("types")):
        tensors = [_tensor_at(graph, operator, place) for place in places.split()]
        found = " with ".join(DTYPES.get(tensor.type) or "unknown" for tensor in tensors if tensor is not None)
        if name in rules and None not in tensors and found not in rules[name].split(", "):
            return f"{found}, which TFLite Micro refuses: it takes {rules[name]}"
    for place in kernel_facts("ranks"):
        tensor, taken = _tensor_at(graph, operator, place), facts_by_operator("ranks", place).get(name)
        if tensor is not None and taken is not None:
            least, most = map(int, taken.split("-"))
            if not least <= len(tensor.shape) <= most:
                taken = str(least) if least == most else f"{least} to {most}"
                return f"{len(tensor.shape)} dimensions, which TFLite Micro refuses: it takes {taken}"
    for place in facts_by_operator("constants").get(name, "").split():
        tensor = _tensor_at(graph, operator, place)
        if tensor is not None and not tensor.is_constant:
            return f"a computed input {place}, which TFLite Micro refuses: it takes a constant"
    for place in facts_by_operator("quantized").get(name, "").split():
        tensor = _tensor_at(graph, operator, place)
        if tensor is not None and tensor.type != _FLOAT32 and not scales_of(tensor):
            return f"{DTYPES.get(tensor.type)} without a scale and a zero point, which TFLite Micro refuses"
    if any(operator.inputs[int(place) :][:1] == (-1,) for place in facts_by_operator("given").get(name, "").split()):
        return "inputs with an omitted bias, which TFLite Micro refuses: leave it out of the list"
    return None if _is_bias_right(graph, operator) else "a bias of another scale, which TFLite Micro refuses"


def _tensor_at(graph: Subgraph, operator: Operator, place: str) -> TfliteTensor | None:
    """Return an input of an operator by its number, or its first output by the word `out`; None if it has none."""
    indices, at = (operator.outputs, 0) if place == "out" else (operator.inputs, int(place))
    return graph.tensors[indices[at]] if at < len(indices) and indices[at] >= 0 else None


def _is_bias_right(graph: Subgraph, operator: Operator) -> bool:
    """Return False if a fully connected layer's bias has another scale than the products it is added to, else True."""
    if operator.name != "FULLY_CONNECTED" or len(operator.inputs) <= _BIAS or -1 in operator.inputs[: _BIAS + 1]:
        return True
    indices = (*operator.inputs[: _BIAS + 1], operator.outputs[0])
    tables = [row and row.table(4, "quantization") for row in (graph.tensors[k].table for k in indices)]
    scales = [(row.floats(2, "scale") if row else ()) or (0.0,) for row in tables]
    if graph.tensors[indices[0]].type == _FLOAT32 or len(scales[1]) > 1:
        return True
    given, weights, bias, made = (each[0] for each in scales)
    return abs(given * weights - bias) <= _MOST_DIFFERENT * made


def options_of(operator: Operator, target: Target) -> Size:
    """Return the size of the parsed options of an operator; 0 for a custom operator, whose options stay in the file."""
    return target.options(facts_by_operator("same_options").get(operator.name, operator.name))


def construction_bytes(operator: Operator, target: Target) -> int:
    """Return the bytes that an operator's kernel allocates when it is initialized."""
    name = facts_by_operator("same_data").get(operator.name, operator.name)
    later = operators_with("preparation", "data") | operators_with("preparation", "data_after_shape")
    return 0 if name in later else target.kernel_bytes(name)


def temporaries(graph: Subgraph, operator: Operator, target: Target) -> Iterator[TfliteTensor]:
    """Yield each tensor that a kernel requests while it prepares, once for each request."""
    # The average kernel of CMSIS-NN requests its tensors a second time, after the reference kernel, so count both.
    times = 2 if operator.name == "AVERAGE_POOL_2D" and target.has_cmsis else 1
    kind = DTYPES.get(data_type_of(graph, operator) or 0)
    order = facts_by_operator("requests").get(operator.name, "")
    if f"requests_{kind}" in kernel_facts():
        order = facts_by_operator(f"requests_{kind}").get(operator.name, order)
    for place in order.split() * times:
        first = place.removesuffix("..")
        places = [place] if first == place else map(str, range(int(first), len(operator.inputs)))
        yield from filter(None, (_tensor_at(graph, operator, each) for each in places))


def allocates_last(operator: Operator, target: Target) -> bool:
    """Return True if an operator's kernel requests all its tensors before it allocates data while it prepares."""
    channels = operators_with("preparation", "channels_0") | operators_with("preparation", "channels_3")
    return operator.name not in channels and not target.has_cmsis


def preparation_sizes(graph: Subgraph, operator: Operator, target: Target) -> Iterator[int]:
    """Yield the bytes of each persistent allocation that an operator's kernel makes while it prepares."""
    name = operator.name
    first, weights = (graph.tensors[k] if k >= 0 else None for k in (*operator.inputs, -1, -1)[:2])
    is_quantized = first is not None and first.type in (_INT8, _INT16)
    if name in operators_with("preparation", "data") and is_quantized:
        yield target.kernel_bytes(name)
    if weights is not None:
        axis = 3 if name in operators_with("preparation", "channels_3") else 0
        if axis or name in operators_with("preparation", "channels_0"):
            is_without = target.has_cmsis and name != "TRANSPOSE_CONV" and not is_quantized
            yield from () if is_without else (4 * prod(weights.shape[axis : axis + 1]),) * 2
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
    if name in operators_with("preparation", "shape") and operator.outputs:
        yield 4 + 4 * len(graph.tensors[operator.outputs[0]].shape)
    if name in operators_with("preparation", "data_after_shape"):
        yield target.kernel_bytes(name)
    yield from cmsis_preparation(graph, operator, target)


def tensor_bytes(tensor: TfliteTensor) -> int:
    """Return the bytes of a tensor's elements, without rounding to an alignment."""
    return -(-element_count(tensor.shape) * BITS.get(tensor.type, 0) // 8)
