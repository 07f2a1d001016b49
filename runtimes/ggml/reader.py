"""Reader of ggml graphs that `integrations/ggml/graph_json.h` writes after allocation.

A node reads tensors and computes one. A view uses the bytes of its root tensor, and writing into a view changes the
root. A tensor at the same place as one of its sources was computed in place if the operation allows this and the source
is not read later; such tensors are one buffer. Leaves are inputs, alive from before the first node. As in ggml, outputs
and tensors that no node reads are alive to the end. Tensors outside ggml's compute buffers are constants (weights) if
they are never written, and otherwise state, such as a cache of keys and values.

Several graphs in one file are one graph at several sizes of a dimension, which is a symbol. Source: ggml-org/ggml
d99724f2, src/ggml-alloc.c: ggml_gallocr_allocate_node.
"""

import re
from collections import Counter
from collections.abc import Sequence

from memplan.planner.errors import FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, OpenSizesError, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.operations.graph_facts import OperationFacts, TensorFacts
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.programs.readers.vocabulary import kind_of, kinds_by_name
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.ggml.graph_file import GgmlGraph, GgmlTensor, read_graphs, symbol_of, tensor_bytes

_VIEWS = frozenset(("NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"))
IN_PLACE = frozenset("""
SCALE DIAG_MASK_ZERO DIAG_MASK_INF ADD ADD_ID ADD1 SUB MUL DIV SQR SQRT LOG ROPE ROPE_BACK SILU_BACK RMS_NORM
RMS_NORM_BACK SOFT_MAX SOFT_MAX_BACK ABS SGN NEG STEP TANH ELU RELU SIGMOID GELU GELU_QUICK GELU_ERF SILU HARDSWISH
HARDSIGMOID EXP EXPM1 SOFTPLUS XIELU FLOOR CEIL ROUND TRUNC
""".split())  # fmt: skip  # noqa: SIM905
"""The operations that ggml may compute in place, which overwrites a source that is not read later."""
_ELEMENTWISE = kinds_by_name({"square": "SQR", "sign": "SGN", "hard_swish": "HARDSWISH", "hard_sigmoid": "HARDSIGMOID"})
_COPY = re.compile(r"[^#]+#.*#\d+", re.DOTALL)
"""Matches the names of copies between backends, BACKEND#TENSOR#NUMBER."""
_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i64": "int64", "i8": "int8"}


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Return the symbol for the dimension in which a file's graphs differ. Raises FormatError for other files."""
    return symbol_of(read_graphs(data))


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a ggml graph. Raises FormatError, and OptionError for a dimension that the graph does not have."""
    graphs = read_graphs(data)
    if len(graphs) == 1:
        refuse_dims(options, "graphs of ggml at one size")
        return _Program(graphs, None, options).make_program()
    (name,) = graphs[0].dim
    if unknown := [each for each in options.dims if each != name]:
        raise OptionError.from_rule(
            "dims", f"must be the dimension {name}, in which the graphs differ, got {excerpt(unknown[0])}"
        )
    if name not in options.dims:
        raise OpenSizesError(f"{name}: must have a size, got none", {name: graphs[0].dim[name]})
    size = options.sizes[name]
    if at := [graph for graph in graphs if type(size) is int and graph.dim[name] == size]:
        return _Program(at, None, options.model_copy(update={"dims": {}})).make_program()
    return _Program(graphs, size, options).make_program()


class _Program:
    """A converter of a ggml graph to a program; `home` maps each tensor to the tensor whose buffer it uses."""

    def __init__(self, graphs: Sequence[GgmlGraph], size: int | None, options: ModelOptions) -> None:
        """Find the operations that compute, last read and write each tensor, and the tensors that share buffers."""
        self.graph = graph = graphs[0]
        self.is_written = size is None
        self.bytes = list(tensor_bytes(graphs, size))
        self.maker = {row.node: k for k, row in enumerate(graph.nodes) if graph.root_tensor(row.node) == row.node}
        self.last: dict[int, int] = {}
        for k, row in enumerate(graph.nodes):
            self.last.update((graph.root_tensor(each), k) for each in row.reads)
        self.home = {k: k for k in range(len(graph.tensors)) if graph.root_tensor(k) == k}
        if options.views == "alias":
            self._merge_in_place()
        self.written = {graph.root_tensor(row.node) for row in graph.nodes if row.op not in _VIEWS}
        self.names = _unique_names(graph.tensors)
        computed = {row.type for row in graph.buffers if row.computed}
        self.has_pools = len(computed) > 1
        alignment = max((row.alignment for row in graph.buffers if row.computed), default=1)
        self.draft = OperationsDraft(None, (), options, options.alignment or alignment)
        self.options = options.model_copy(update={"alignment": self.draft.alignment})

    def make_program(self) -> ImportedProblem:
        """Return the program, and ggml's own plan if the file contains the graph at the given size."""
        outputs = dict.fromkeys(
            self._buffer_name(k)
            for k, row in enumerate(self.graph.tensors)
            if not self._is_outside(self.graph.root_tensor(k))
            and (row.output or (self.graph.root_tensor(k) == k and k not in self.last and k in self.maker))
        )
        self.draft.results = tuple(outputs)
        for k in dict.fromkeys(self.home.values()):
            self._declare_tensor(k)
        for k, row in enumerate(self.graph.nodes):
            if row.op not in _VIEWS:
                reads = dict.fromkeys(self._buffer_name(each) for each in row.reads)
                changed = self.graph.root_tensor(row.node) != row.node or self.home[row.node] != row.node
                result = self._buffer_name(row.node)
                with self.draft.drawing(self._operation_facts(k)):
                    self.draft.operation(row.op, {**reads, result: None} if changed else reads, (result,))
        if not self.is_written or any(self.graph.tensors[k].buffer is None for k in self.home):
            return self.draft.make_program()
        offsets, peak = self._ggml_plan()
        return self.draft.make_program(own_peak=peak, own_offsets=offsets)

    def _merge_in_place(self) -> None:
        """For each tensor that ggml computed in place, use the buffer of the overwritten source."""
        tensors, nodes = self.graph.tensors, self.graph.nodes
        ends = dict(self.last)  # maps each home (tensor that owns a buffer) to the last node that reads its contents
        for k in sorted(self.maker, key=self.maker.__getitem__):
            when, row = self.maker[k], tensors[k]
            for source in nodes[when].reads if nodes[when].op in IN_PLACE and not self._is_outside(k) else ():
                home = self.home[self.graph.root_tensor(source)]
                other = tensors[home]
                same = (other.buffer, other.offset) == (row.buffer, row.offset) and row.buffer is not None
                if same and row.bytes <= other.bytes and ends.get(home) == when and not tensors[source].output:
                    self.home[k] = home
                    ends[home] = self.last.get(k, len(nodes))
                    break

    def _buffer_name(self, k: int) -> str:
        return self.names[self.home[self.graph.root_tensor(k)]]

    def _is_outside(self, k: int) -> bool:
        row = self.graph.tensors[k]
        if row.buffer is None:
            return k not in self.maker and not row.input
        return not self.graph.buffers[row.buffer].computed

    def _declare_tensor(self, k: int) -> None:
        """Declare tensor number `k` as a buffer: a constant, state, an input, or a computed value."""
        row = self.graph.tensors[k]
        kind: Kind = "plain"
        if self._is_outside(k):
            kind = "persistent" if k in self.written else "constant"
        elif k not in self.maker:
            self._refuse_copy(row)
            kind = "param"
        size = size_of(f"tensor {excerpt(row.name)}", self.bytes[k], self.options)
        self.draft.declare(self.names[k], size, kind, None if kind == "constant" else self._memory_name(k))
        dtype = _TYPES.get(row.type)
        if self.is_written:
            shape = tuple(reversed(row.shape))
            self.draft.describe(self.names[k], TensorFacts(name=self.names[k], shape=shape, dtype=dtype))

    def _refuse_copy(self, row: GgmlTensor) -> None:
        """Raise FormatError for a tensor that the scheduler copies between backends."""
        if _COPY.fullmatch(row.name):
            rule = "must not be a copy between backends, as the file does not show when the scheduler copies"
            raise FormatError(f"tensor {excerpt(row.name)}: {rule}; write the graph before scheduling")

    def _memory_name(self, k: int) -> str | None:
        """Return the name of a tensor's memory; None without a backend buffer, or if ggml uses only one memory."""
        buffer = self.graph.tensors[k].buffer
        return self.graph.buffers[buffer].type if buffer is not None and self.has_pools else None

    def _operation_facts(self, k: int) -> OperationFacts:
        row, tensors = self.graph.nodes[k], self.graph.tensors
        plain = all(
            each in self.home or tensors[each].shape == tensors[self.graph.root_tensor(each)].shape
            for each in row.reads
        )
        kind = kind_of(row.op, _ELEMENTWISE) if plain and row.op in IN_PLACE else None
        return OperationFacts(tensors[row.node].name or None, kind, {}, (k,))

    def _ggml_plan(self) -> tuple[dict[str, int], int]:
        """Return ggml's own offsets by tensor name, and the total bytes; state is placed after the computed tensors."""
        tops: Counter[str | None] = Counter()
        bases: dict[int, int] = {}
        for k, buffer in enumerate(self.graph.buffers):
            if buffer.computed:
                pool = buffer.type if self.has_pools else None
                bases[k] = tops[pool]
                tops[pool] += size_of(f"buffer {k}", buffer.size, self.options)
        offsets: dict[str, int] = {}
        for k in dict.fromkeys(self.home.values()):
            row, pool = self.graph.tensors[k], self._memory_name(k)
            if row.buffer in bases:
                offsets[self.names[k]] = bases[row.buffer] + row.offset
            elif k in self.written:
                offsets[self.names[k]] = tops[pool]
                tops[pool] += size_of("state", row.bytes, self.options)
        return offsets, tops.total()


def _unique_names(tensors: Sequence[GgmlTensor]) -> list[str]:
    count = Counter(row.name for row in tensors)
    is_own = [bool(row.name) and count[row.name] == 1 and "#" not in row.name for row in tensors]
    return [row.name if own else f"{row.name}#{row.tensor}" for own, row in zip(is_own, tensors, strict=True)]
