"""The tail of TFLite Micro's arena, with everything that persists, and the least arena for starting.

The tail grows down from the arena's end, one allocation behind the other: the allocator itself, a row for each tensor
and operator, options, what kernels keep, variables, inputs and outputs. Sizes are those of a processor with pointers of
8 bytes, in PyPI's `tflite_micro`, which records its allocations and has kernels for compressed weights. Where pointers
have 4 bytes, rows are smaller, and nothing is larger. Source: as in `tflm_arena`; and micro_allocator.cc,
micro_interpreter.cc, recording_micro_allocator.cc, micro_resource_variable.cc, flatbuffer_conversions.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memplan.extensions.models.tflite.model import BITS, Model, Operator, Subgraph, TfliteTensor, read_model
from memplan.extensions.models.tflite.tflm_arena import ALIGNMENT, arena_head, scratch_of_model
from memplan.planner import __version__
from memplan.planner.foreign.arena import ModelArena
from memplan.planner.foreign.c.arena import IN_SECTION, section_name
from memplan.planner.foreign.c_names import constant, guarded, include_of, prefix_of
from memplan.planner.foreign.imported import element_count

# sizeof, with pointers of 8 bytes: the allocator with its planner and its records, and rows that there are several of.
_ALLOCATOR, _BUILTIN, _SUBGRAPH, _EVAL_TENSOR, _NODE, _TENSOR, _QUANTIZATION = 448, 16, 24, 24, 64, 64, 24
_POINTER, _VARIABLES, _VARIABLE = 8, 16, 40
# Rows of what is known while the arena is planned: a tensor or scratch buffer, and a request of the planner.
_INFO, _PLANNED, _REQUEST, _MOST_REQUESTS = 32, 40, 16, 12
_INT8, _INT16 = 9, 7
# What a product of matrices of whole numbers keeps, and each of the two tables of a softmax of 16 bits.
_QUANTIZED_PRODUCT, _TABLE = 28, 1026
# fmt: off
_DATA = {
    "ABS": 28, "ADD": 60, "ADD_N": 40, "ASSIGN_VARIABLE": 4, "AVERAGE_POOL_2D": 32, "BATCH_MATMUL": 32, "CALL_ONCE": 8,
    "CONCATENATION": 80, "CONV_2D": 80, "CUMSUM": 36, "DEPTHWISE_CONV_2D": 80, "DEQUANTIZE": 32, "DIV": 28, "ELU": 256,
    "EQUAL": 32, "FULLY_CONNECTED": 72, "GREATER": 32, "GREATER_EQUAL": 32, "HARD_SWISH": 20, "IF": 8,
    "L2_NORMALIZATION": 4, "LEAKY_RELU": 24, "LESS": 32, "LESS_EQUAL": 32, "LOGISTIC": 16, "LOG_SOFTMAX": 40,
    "MAX_POOL_2D": 32, "MEAN": 44, "MIRROR_PAD": 20, "MUL": 36, "NOT_EQUAL": 32, "PAD": 56, "PADV2": 56, "PRELU": 28,
    "QUANTIZE": 32, "REDUCE_ALL": 44, "REDUCE_MAX": 44, "REDUCE_MIN": 44, "RELU": 28, "RELU6": 8, "RSQRT": 28,
    "SELECT_V2": 1, "SOFTMAX": 80, "SPACE_TO_BATCH_ND": 4, "SQUARED_DIFFERENCE": 112, "STRIDED_SLICE": 84, "SUB": 52,
    "SUM": 44, "SVDF": 36, "TANH": 16, "TRANSPOSE_CONV": 88, "UNIDIRECTIONAL_SEQUENCE_LSTM": 688, "VAR_HANDLE": 4,
    "WHILE": 8,
    **dict.fromkeys((
        "ARG_MAX", "ARG_MIN", "BATCH_TO_SPACE_ND", "BROADCAST_ARGS", "BROADCAST_TO", "CAST", "CEIL",
        "COS", "DEPTH_TO_SPACE", "DYNAMIC_UPDATE_SLICE", "EXP", "EXPAND_DIMS", "FILL", "FLOOR", "FLOOR_DIV",
        "FLOOR_MOD", "GATHER", "GATHER_ND", "L2_POOL_2D", "LOG", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "MAXIMUM",
        "MINIMUM", "NEG", "PACK", "READ_VARIABLE", "RESHAPE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR",
        "REVERSE_V2", "ROUND", "SHAPE", "SIN", "SLICE", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQRT", "SQUARE",
        "SQUEEZE", "TRANSPOSE", "UNPACK", "ZEROS_LIKE",
    ), 0),
}
"""The bytes that a kernel keeps for each of its operators; unknown for other kernels."""
_OPTIONS = {
    "ADD": 8, "ARG_MAX": 4, "ARG_MIN": 4, "AVERAGE_POOL_2D": 40, "BATCH_MATMUL": 3, "CALL_ONCE": 4, "CAST": 8,
    "CONCATENATION": 8, "CONV_2D": 28, "CUMSUM": 2, "DEPTHWISE_CONV_2D": 28, "DEPTH_TO_SPACE": 4, "DIV": 4,
    "FULLY_CONNECTED": 32, "GATHER": 8, "IF": 8, "L2_NORMALIZATION": 4, "L2_POOL_2D": 40, "LEAKY_RELU": 4,
    "MAX_POOL_2D": 40, "MEAN": 1, "MIRROR_PAD": 4, "MUL": 4, "PACK": 8, "REDUCE_ALL": 1, "REDUCE_MAX": 1,
    "REDUCE_MIN": 1, "RESHAPE": 36, "RESIZE_BILINEAR": 2, "RESIZE_NEAREST_NEIGHBOR": 2, "SHAPE": 4, "SOFTMAX": 4,
    "SPACE_TO_DEPTH": 4, "SPLIT": 4, "SPLIT_V": 4, "SQUEEZE": 36, "STRIDED_SLICE": 24, "SUB": 8, "SUM": 1, "SVDF": 12,
    "TRANSPOSE_CONV": 20, "UNIDIRECTIONAL_SEQUENCE_LSTM": 16, "UNPACK": 8, "VAR_HANDLE": 16, "WHILE": 8,
}
# fmt: on
"""The parsed size of an operator's options in bytes."""
_BY_CHANNEL = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "TRANSPOSE_CONV": 0}
"""The kernels that keep two 4-byte numbers for each channel, and the channel axis of their weights."""
_WIDE = {"FULLY_CONNECTED", "VAR_HANDLE"}
_COPIES_SHAPE = {"BATCH_MATMUL", "DEPTH_TO_SPACE", "GATHER", "GATHER_ND", "L2_POOL_2D", "SPACE_TO_DEPTH"}


def arena_of(data: bytes, scratch: Mapping[str, int] | None = None) -> ModelArena:
    """Return the arena of a model's file; `scratch` has kernels' needs in bytes by operator name."""
    return whole_arena(replace(read_model(data), scratch=scratch or {}))


def whole_arena(model: Model) -> ModelArena:
    """Return the arena of a model with its own plan."""
    head = arena_head(model, model.offline_offsets)
    places = model.offline_offsets or (-1,) * len(model.tensors)
    scratch = scratch_of_model(model)[0]
    planned_later = _down(0, _before_planning(model, places))
    tail = _down(planned_later, _given_and_made(model))
    handles = {t.id for graph in model.subgraphs for t in _handles(graph)}
    planned = [
        tensor
        for tensor, place in zip(model.tensors, places, strict=True)
        if not tensor.is_constant and _bytes(tensor) and tensor.id not in handles
        if not tensor.is_variable or place >= 0
    ]
    rows = _REQUEST * (len(scratch) + _MOST_REQUESTS) + _POINTER * len(model.subgraphs)
    rows = -(-(rows + _INFO * (len(model.tensors) + len(scratch))) // ALIGNMENT) * ALIGNMENT
    rows += _PLANNED * (len(planned) + len(scratch))
    names = {
        operator.name
        for i, graph in enumerate(model.subgraphs)
        for k, operator in enumerate(graph.operators)
        if model.scratch_said(i, k) is None
    }
    unknown = tuple(dict.fromkeys((*head.unknown, *sorted(names - _DATA.keys()))))
    least = max(tail + head.size, planned_later + rows)
    return ModelArena(head.size, tail, -(-least // ALIGNMENT) * ALIGNMENT, unknown)


def _down(size: int, allocations: Iterable[tuple[int, int]]) -> int:
    """Return the size of a tail after further allocations, each with bytes and alignment."""
    for more, alignment in allocations:
        if more:  # kernels that keep nothing allocate nothing, and align nothing
            size = -(-(size + more) // alignment) * alignment
    return size


def _before_planning(model: Model, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the allocations before tensors are placed, in the runtime's order."""
    graphs, variables = model.subgraphs, _variables(model)
    yield _ALLOCATOR, 8
    if variables:
        yield from ((_VARIABLES, ALIGNMENT), (_VARIABLE * len(variables), ALIGNMENT))
    yield from ((_BUILTIN, 8), (_SUBGRAPH * len(graphs), 8))
    yield from ((_EVAL_TENSOR * len(graph.tensors), 8) for graph in graphs)
    yield from ((_NODE * len(graph.operators), 8) for graph in graphs)
    for graph in graphs:
        for name in (operator.name for operator in graph.operators):
            size = _OPTIONS.get(name, 0)
            yield size, 8 if name in _WIDE else 4 if size % 4 == 0 else 1
    for graph in graphs:
        for operator in graph.operators:
            yield from ((size, ALIGNMENT) for size in _kept(graph, operator))
    yield from ((size, ALIGNMENT) for size in variables.values())
    yield _POINTER * len(scratch_of_model(model)[0]), 8
    for tensor, place in zip(model.tensors, places, strict=True):
        if tensor.is_variable and place < 0:
            yield _bytes(tensor), ALIGNMENT


def _given_and_made(model: Model) -> Iterator[tuple[int, int]]:
    """Yield the allocations for inputs and outputs, after tensors are placed."""
    main = model.subgraphs[0]
    for indices in (main.inputs, main.outputs):
        yield _POINTER * len(indices), ALIGNMENT
        for index in indices:
            yield _TENSOR, 8
            if scales := _scales(main.tensors[index]):
                yield from ((_QUANTIZATION, 8), (4 + 4 * scales, 4))


def _kept(graph: Subgraph, operator: Operator) -> Iterator[int]:
    """Yield the bytes that an operator's kernel keeps."""
    name = operator.name
    inputs = [graph.tensors[index] if index >= 0 else None for index in operator.inputs[:2]]
    first, weights = (*inputs, None, None)[:2]
    is_quantized = first is not None and first.type in (_INT8, _INT16)
    if name not in ("ADD_N", "CUMSUM", "LOG_SOFTMAX") or is_quantized:
        yield _DATA.get(name, 0)
    if weights is not None:
        if name in _BY_CHANNEL:
            yield from (4 * weights.shape[_BY_CHANNEL[name]],) * 2
        elif name == "FULLY_CONNECTED" and _scales(weights) > 1:
            yield from (4 * _scales(weights),) * 2
    if name == "BATCH_MATMUL":
        yield _QUANTIZED_PRODUCT if is_quantized else 0
        # The second one is turned unless it lies so already, the first one where that is asked for.
        options = None if operator.table is None else operator.table.table(4, "builtin_options")
        asked = [options is not None and options.integer(k, "adj", "B") != 0 for k in (0, 1)]
        for tensor in [each for each, is_turned in ((first, asked[0]), (weights, not asked[1])) if is_turned]:
            yield from () if tensor is None else (_EVAL_TENSOR, 4 + 4 * len(tensor.shape), _bytes(tensor))
    if name == "SOFTMAX" and first is not None and first.type == _INT16:
        yield from (_TABLE, _TABLE)
    if name in _COPIES_SHAPE:
        yield 4 + 4 * len(graph.tensors[operator.outputs[0]].shape)


def _handles(graph: Subgraph) -> Iterator[TfliteTensor]:
    """Yield the tensors that stand for variables and have no bytes of their own."""
    for operator in graph.operators:
        if operator.name == "VAR_HANDLE":
            yield from (graph.tensors[index] for index in operator.outputs)


def _variables(model: Model) -> dict[str, int]:
    """Return the size of each named variable that operators share: that of its assigned value."""
    offsets: dict[str, int] = {}
    for graph in model.subgraphs:
        names: dict[int, str] = {}
        for operator in graph.operators:
            options = None if operator.table is None else operator.table.table(4, "builtin_options")
            if operator.name == "VAR_HANDLE" and options is not None:
                names[operator.outputs[0]] = options.text(1, "shared_name")
                offsets.setdefault(names[operator.outputs[0]], 0)
            elif operator.name == "ASSIGN_VARIABLE" and operator.inputs[0] in names:
                offsets[names[operator.inputs[0]]] = _bytes(graph.tensors[operator.inputs[1]])
    return offsets


def _scales(tensor: TfliteTensor) -> int:
    """Return the number of quantisation scales of a tensor, 0 without zero points."""
    table = None if tensor.table is None else tensor.table.table(4, "quantization")
    return 0 if table is None or not table.length(3, "zero_point") else table.length(2, "scale")


def _bytes(tensor: TfliteTensor) -> int:
    return -(-element_count(tensor.shape) * BITS.get(tensor.type, 0) // 8)


_PER_LINE = 16


def write_c_model(data: bytes, arena: ModelArena, stem: str, section: str | None = None) -> Mapping[str, bytes]:
    """Return a C header and source: the model, aligned to 16 bytes, and its arena in a separate section."""
    prefix = prefix_of(stem)
    macro = prefix.upper()
    text = f"/* Written by memplan {__version__}: a model and its arena for TFLite Micro. */\n"
    header = (
        f"#define {macro}_SIZE {constant(len(data))}\n"
        f"/* To start: {arena}, where pointers have 8 bytes; with 4 it needs less. */\n"
        f"#define {macro}_ARENA_SIZE {constant(arena.least)}\n"
        f"/* Of it, where the two lie in memories of their own. */\n"
        f"#define {macro}_HEAD_SIZE {constant(arena.least - arena.tail)}\n"
        f"#define {macro}_TAIL_SIZE {constant(arena.tail)}\n"
        f"extern const unsigned char {prefix}[{macro}_SIZE];\n"
        f"extern unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n"
    )
    rows = [data[k : k + _PER_LINE].hex(",", 1) for k in range(0, len(data), _PER_LINE)]
    array = "\n".join(f"    0x{row.replace(',', ',0x')}," for row in rows)
    return {
        ".h": f"{text}{guarded(header, prefix)}".encode(),
        ".c": (
            f"{text}{include_of(stem)}\n#include <limits.h>\n\n{IN_SECTION}\n"
            f'MEMPLAN_IN_SECTION("{section_name(prefix, "arena", section)}")\n'
            f"_Alignas({ALIGNMENT}) unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n\n"
            f"_Alignas({ALIGNMENT}) const unsigned char {prefix}[{macro}_SIZE] = {{\n{array}\n}};\n"
        ).encode(),
    }
