"""The parts of a `.tflite` file that determine memory: tensors, operators, subgraphs and metadata.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs, as of LiteRT 2.3.0. A field's number is its position there; the
numbers of operators and element types are those of BuiltinOperator and TensorType.
"""

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from memplan.planner.errors import CUT_OFF, OTHER_KIND, FormatError, excerpt, shorten
from memplan.programs.operations.graph_facts import bits_of
from memplan.programs.readers.vocabulary import types_by_number
from memplan.runtimes.flatbuffer import Table
from memplan.runtimes.tflite.system import is_tflite
from memplan.runtimes.tflite.tflm_targets import HOST, Target

_NAMES = """\
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION
LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH
CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE
EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR
ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND
COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE
HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE
BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1
UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE
STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL
STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE
STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE
DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
STABLEHLO_CASE
"""
OPERATORS: Mapping[int, str] = dict(enumerate(_NAMES.split()))
"""Maps the numbers of BuiltinOperator to operator names."""
DTYPES = types_by_number("""
float32 float16 int32 uint8 int64 - bool int16 complex64 int8 float64 complex128 uint64 - - uint32 uint16 int4 bfloat16
int2 uint4 float8_e4m3fn float8_e5m2
""")
"""Maps the numbers of TensorType to names of element types."""
BITS = {number: bits_of(name) or 0 for number, name in DTYPES.items()} | {13: 32}
"""Maps the number of an element type to the bits of one element; elements of less than a byte are packed."""
UNSIZED: Mapping[int, str] = {5: "strings", 14: "variants"}
"""The element types, by number, whose tensors have no known size before the program runs."""


OFFLINE_PLAN = "OfflineMemoryAllocation"
"""The name of the metadata entry with TFLite Micro's offline plan: an offset for each tensor."""
_NAME_LENGTH = 200
"""The maximum length of a tensor name that becomes an id; tensors of fused operations have longer names."""
_FLOAT16 = 1
_OPTIONS = ("builtin_options", 4), ("builtin_options_2", 12)
_SUBGRAPHS_OF: Mapping[str, tuple[tuple[str, int], tuple[int, ...]]] = {
    **dict.fromkeys(("CALL", "CALL_ONCE"), (_OPTIONS[0], (0,))),
    **dict.fromkeys(("IF", "WHILE"), (_OPTIONS[0], (0, 1))),
    "STABLEHLO_WHILE": (_OPTIONS[1], (0, 1)),
    "STABLEHLO_COMPOSITE": (_OPTIONS[1], (1,)),
}
"""Maps an operator that runs subgraphs to its options field (name, number), and to the fields in it."""


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor of a model. Its id is its name, or `#subgraph/index` if the name cannot be an id.

    A name that is too long, not printable or not unique cannot be an id. `open_dims` are the axes whose sizes are known
    only at run time; `shape` has placeholders for these sizes. `buffer` is the index of the tensor's content.
    """

    id: str
    path: str
    shape: tuple[int, ...]
    type: int
    is_constant: bool
    is_variable: bool
    open_dims: tuple[int, ...]
    buffer: int = 0
    table: Table | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Operator:
    """An operator, with the indices of its tensors (-1: an omitted input) and of the subgraphs that it runs."""

    path: str
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    subgraphs: tuple[int, ...]
    is_custom: bool = False
    table: Table | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Subgraph:
    """A subgraph of a model: its tensors, and its operators in execution order."""

    path: str
    tensors: tuple[TfliteTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]

    @cached_property
    def widened_tensors(self) -> frozenset[int]:
        """The indices of weights that LiteRT converts once: from float16 to float32, or from sparse to dense.

        LiteRT converts them before the first run and keeps the results; TFLite Micro has no kernels for this. Source:
        tflite 2.18, kernels/dequantize.cc and densify.cc.
        """
        widened: set[int] = set()
        for operator in self.operators:
            inputs = [self.tensors[k] for k in operator.inputs if k >= 0]
            is_widened = operator.name == "DENSIFY" or (
                operator.name == "DEQUANTIZE" and all(tensor.type == _FLOAT16 for tensor in inputs)
            )
            if is_widened and all(k in widened or self.tensors[k].is_constant for k in operator.inputs):
                widened.update(operator.outputs)
        return frozenset(widened.difference(self.outputs))


@dataclass(frozen=True)
class Model:
    """A TensorFlow Lite model: its subgraphs, the first of which is the program, and its metadata by name.

    `input_names` maps tensor indices to the names of inputs in the first signature. `scratch` has the scratch bytes
    that the user states: for all operators of a name, or for one operator by the name of its output or by its number in
    the first subgraph. `target` is the processor and the set of kernels.
    """

    subgraphs: tuple[Subgraph, ...]
    metadata: Mapping[str, bytes]
    buffers: tuple[Table, ...] = field(default=(), compare=False, repr=False)
    input_names: Mapping[int, str] = field(default_factory=dict)
    scratch: Mapping[str, int] = field(default_factory=dict)
    target: Target = HOST

    @cached_property
    def tensors(self) -> tuple[TfliteTensor, ...]:
        """The tensors of all subgraphs, in the order of TFLite Micro's offline plan."""
        return tuple(tensor for subgraph in self.subgraphs for tensor in subgraph.tensors)

    def stated_scratch(self, subgraph: int, operator: int) -> int | None:
        """Return the scratch bytes that the user states for an operator, by its number, output or name; else None."""
        graph = self.subgraphs[subgraph]
        row = graph.operators[operator]
        outputs = (graph.tensors[k].id for k in row.outputs if k >= 0)
        names = (*([str(operator)] if subgraph == 0 else []), *outputs, row.name)
        return next((self.scratch[name] for name in names if name in self.scratch), None)

    @cached_property
    def scratch_names(self) -> frozenset[str]:
        """The valid keys of `scratch`: names of operators and outputs, and operator numbers of the first subgraph."""
        names = {operator.name for graph in self.subgraphs for operator in graph.operators}
        names |= {g.tensors[k].id for g in self.subgraphs for row in g.operators for k in row.outputs if k >= 0}
        return frozenset(names | {str(k) for k in range(len(self.subgraphs[0].operators))})

    @cached_property
    def offline_offsets(self) -> tuple[int, ...] | None:
        """The offset of each tensor in the plan that the file contains for TFLite Micro; None if it contains no plan.

        A negative offset means that the tensor is not planned. Raises FormatError if the plan is broken.
        """
        data = self.metadata.get(OFFLINE_PLAN)
        if data is None:
            return None
        count = int.from_bytes(data[8:12], "little")
        if count != len(self.tensors) or len(data) < 12 + 4 * count:
            raise FormatError(
                f"model.metadata {OFFLINE_PLAN}: must have an offset for each of {len(self.tensors)} tensors, got "
                f"{count} in {len(data)} bytes"
            )
        return struct.unpack_from(f"<{count}i", data, 12)  # Some writers pad the entry, so ignore further bytes.


def read_model(data: bytes) -> Model:
    """Parse a `.tflite` file. Raises FormatError, which states the location and the broken rule."""
    if not is_tflite(data):
        raise FormatError(f"model: must have the identifier TFL3 at byte 4, got {excerpt(data[4:8])}", way=OTHER_KIND)
    root = Table.root(data, "model")
    buffers = list(root.tables(4, "buffers"))
    has_content = [each.byte_count(0, "data") > 0 or each.integer(2, "size", "Q") > 0 for each in buffers]
    codes = [_operator_name(code) for code in root.tables(1, "operator_codes")]
    graphs = list(root.tables(2, "subgraphs"))
    if not graphs:
        raise FormatError("model.subgraphs: must not be empty", way=CUT_OFF)
    names = _Names(graphs)
    return Model(
        tuple(_read_subgraph(graph, i, names, codes, has_content, len(graphs)) for i, graph in enumerate(graphs)),
        {entry.text(0, "name"): _metadata_content(entry, buffers) for entry in root.tables(6, "metadata")},
        tuple(buffers),
        _input_names(root),
    )


def _input_names(root: Table) -> dict[int, str]:
    for signature in root.tables(7, "signature_defs"):
        if signature.integer(4, "subgraph_index", "I") == 0:
            rows = signature.tables(0, "inputs")
            return {row.integer(1, "tensor_index", "I"): row.text(0, "name") for row in rows}
    return {}


def _operator_name(code: Table) -> tuple[str, bool]:
    # The old field of an operator code holds one byte, and only the new field holds larger codes, so take the maximum.
    number = max(code.integer(3, "builtin_code", "i"), code.integer(0, "deprecated_builtin_code", "b"))
    name = OPERATORS.get(number, f"operator {number}")
    return (code.text(1, "custom_code") or name, True) if name == "CUSTOM" else (name, False)


class _Names:
    """The ids of all tensors of a model: names that are unique in the model, and names after positions for others."""

    def __init__(self, graphs: list[Table]) -> None:
        """Read the names of all tensors, and count how often each name occurs."""
        tensors = (graph.tables(0, "tensors") for graph in graphs)
        self._found = [[shorten(tensor.text(3, "name"), _NAME_LENGTH) for tensor in rows] for rows in tensors]
        self._count = Counter(name for names in self._found for name in names)

    def id_of(self, subgraph: int, tensor: int) -> str:
        """Return the name of a tensor if it can be an id, else `#subgraph/index` before a printable name."""
        name = self._found[subgraph][tensor]
        is_good = name.isprintable() and not name.startswith("#")
        place = f"#{subgraph}/{tensor}{f' {name}' if is_good and name else ''}"
        return name if is_good and name and self._count[name] == 1 else place


def _read_subgraph(
    graph: Table, i: int, names: _Names, codes: list[tuple[str, bool]], has_content: list[bool], n_subgraphs: int
) -> Subgraph:
    """Return subgraph `i` as its table describes it. `codes` has the (name, is custom) of each operator code."""
    tensors = tuple(
        _read_tensor(row, names.id_of(i, k), has_content) for k, row in enumerate(graph.tables(0, "tensors"))
    )
    return Subgraph(
        graph.path,
        tensors,
        _tensor_indices(graph, 1, "inputs", len(tensors), least=0),
        _tensor_indices(graph, 2, "outputs", len(tensors), least=0),
        tuple(_read_operator(row, codes, len(tensors), n_subgraphs) for row in graph.tables(3, "operators")),
    )


def _read_tensor(row: Table, name: str, has_content: list[bool]) -> TfliteTensor:
    """Return the tensor that a table describes. `has_content` states for each buffer whether it has content."""
    buffer = row.integer(2, "buffer", "I")
    if buffer >= len(has_content):
        raise FormatError(f"{row.path}.buffer: must be below {len(has_content)}, got {buffer}")
    shape = row.integers(0, "shape", "i")
    for k, size in enumerate(shape):
        if size < 0:
            raise FormatError(f"{row.path}.shape[{k}]: must be at least 0 for tensor {excerpt(name)}, got {size}")
    signature = row.integers(7, "shape_signature", "i")
    return TfliteTensor(
        name,
        row.path,
        shape,
        row.integer(1, "type", "b"),
        has_content[buffer] or row.integer(10, "external_buffer", "I") != 0,
        row.integer(5, "is_variable", "B") != 0,
        tuple(k for k, size in enumerate(signature) if size < 0),
        buffer,
        row,
    )


def _read_operator(row: Table, codes: list[tuple[str, bool]], n_tensors: int, n_subgraphs: int) -> Operator:
    """Return the operator that a table describes. Raises FormatError for an index that is out of range."""
    code = row.integer(0, "opcode_index", "I")
    if code >= len(codes):
        raise FormatError(f"{row.path}.opcode_index: must be below {len(codes)}, got {code}")
    inputs = _tensor_indices(row, 1, "inputs", n_tensors, least=-1)
    outputs = _tensor_indices(row, 2, "outputs", n_tensors, least=0)
    name, is_custom = codes[code]
    runs = () if is_custom else _subgraph_indices(row, name, n_subgraphs)
    return Operator(row.path, name, inputs, outputs, runs, is_custom, row)


def _subgraph_indices(row: Table, name: str, n_subgraphs: int) -> tuple[int, ...]:
    """Return the indices of the subgraphs that an operator runs, such as (condition, body) for a WHILE."""
    if name not in _SUBGRAPHS_OF:
        return ()
    (place, number), fields = _SUBGRAPHS_OF[name]
    options = row.table(number, place)
    if options is None:
        raise FormatError(f"{row.path}.{place}: is required for {name}")
    indices = tuple(options.integer(field, f"subgraph_{field}", "i") for field in fields)
    for index in indices:
        if not 0 <= index < n_subgraphs:
            raise FormatError(f"{options.path}: must refer to a subgraph by an index below {n_subgraphs}, got {index}")
    return indices


def _tensor_indices(row: Table, field: int, name: str, n_tensors: int, *, least: int) -> tuple[int, ...]:
    """Return the tensor indices in field `name`; raises FormatError unless each is from `least` to `n_tensors` - 1."""
    indices = row.integers(field, name, "i")
    for k, index in enumerate(indices):
        if not least <= index < n_tensors:
            raise FormatError(f"{row.path}.{name}[{k}]: must be {least} to {n_tensors - 1}, got {index}")
    return indices


def _metadata_content(entry: Table, buffers: list[Table]) -> bytes:
    """Return the bytes to which a metadata entry refers. Raises FormatError if its buffer does not exist."""
    index = entry.integer(1, "buffer", "I")
    if index >= len(buffers):
        raise FormatError(f"{entry.path}.buffer: must be below {len(buffers)}, got {index}")
    return buffers[index].content(0, "data")
