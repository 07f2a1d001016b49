"""Reader of graphs of TVM's graph executor (JSON), in which every output of a node is a buffer.

Lifetimes follow the order of the nodes. TVM assigned a storage to each output, which other outputs may use later; this
reader gives the outputs as separate buffers, so that they are planned again. A node that calls `__nop` does nothing, so
its output is a view of its input. Arguments named `p0`, `p1`, … are weights, which are not planned. Each memory scope
of a device is a pool. Buffers are aligned to 64 bytes. Source: src/runtime/graph_executor/graph_executor.h and .cc.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memplan.planner.errors import FormatError, excerpt, sentences
from memplan.planner.foreign.imported import ImportedProblem, packed_bytes, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.operations.graph_facts import OperationFacts
from memplan.programs.operations.operations import DeclaredBuffer
from memplan.programs.readers.draft import Kind, OperationsDraft

_MOST_DIMENSIONS = 100
_LONGEST_NAME = 1000

Index = Annotated[int, Field(ge=0, le=MAX_BYTES)]
Reference = Annotated[list[Index], Field(min_length=2, max_length=3)]
"""A reference to an output: [index of the node, index of its output, version (unused)]."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Attributes(_Part):
    func_name: str = ""


class Node(_Part):
    """A node of the graph: an argument (`op` is `null`), or a call of a kernel (`op` is `tvm_op`)."""

    op: str
    name: Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]
    inputs: list[Reference] = []
    attrs: _Attributes = _Attributes()


class _Columns(_Part):
    """Facts about the outputs of all nodes, as columns; each output has one entry in each column."""

    dltype: tuple[Literal["list_str"], list[str]]
    storage_id: tuple[Literal["list_int"], list[Index]]
    shape: tuple[Literal["list_shape"], list[Annotated[list[Index], Field(max_length=_MOST_DIMENSIONS)]]]
    device_index: tuple[Literal["list_int"], list[int]] | None = None
    storage_scope: tuple[Literal["list_str"], list[str]] | None = None


class Graph(_Part):
    """A graph of TVM's graph executor: its nodes in execution order, its results (`heads`), and its outputs' columns.

    The outputs of node k are numbers `node_row_ptr[k]` to `node_row_ptr[k + 1] - 1`.
    """

    nodes: list[Node]
    arg_nodes: list[Index]
    heads: list[Reference]
    node_row_ptr: list[Index]
    attrs: _Columns


class Output(NamedTuple):
    """An output of a node: its size in bytes, its storage in TVM, and its pool, or None if all are in one pool."""

    name: str
    size: int
    storage: int
    pool: str | None


def read_graph(data: bytes) -> Graph:
    """Return the graph in a JSON file, whose columns have one entry for each output. Raises FormatError otherwise."""
    fields = parse(data)
    if isinstance(fields, dict) and fields.keys().isdisjoint(("arg_nodes", "heads", "attrs")):
        raise FormatError(
            "nodes: must come with arg_nodes, heads, node_row_ptr and attrs, as TVM's graph executor writes them, got "
            'only nodes (write your operations as {"size": [...], "ops": [...]})'
        )
    if isinstance(fields, dict) and "arg_nodes" in fields and not _is_compiled(fields.get("attrs")):
        got = "an uncompiled graph of NNVM, or a symbol file of MXNet"
        raise FormatError(
            "attrs: must have the shape, dltype and storage_id of each output, which TVM writes when it compiles, got "
            f"{got}",
            way="compile it with TVM and use the JSON of the compiled graph",
        )
    try:
        graph = Graph.model_validate(fields)
    except ValidationError as error:
        raise FormatError(*sentences(error)) from None
    first, columns = graph.node_row_ptr, graph.attrs
    if len(first) != len(graph.nodes) + 1 or first[0] != 0 or any(b < a for a, b in pairwise(first)):
        raise FormatError(
            f"node_row_ptr: must be nondecreasing from 0, with one entry for each of {len(graph.nodes)} nodes and one "
            f"more, got {excerpt(first)}"
        )
    for name in _Columns.model_fields:
        column = getattr(columns, name)
        if column is not None and len(column[1]) != first[-1]:
            raise FormatError(f"attrs.{name}: must have {first[-1]} entries, one for each output, got {len(column[1])}")
    return graph


def _is_compiled(attrs: object) -> bool:
    return isinstance(attrs, dict) and not attrs.keys().isdisjoint(("shape", "dltype", "storage_id"))


def outputs_of(graph: Graph, alignment: int) -> list[Output]:
    """Return the outputs of all nodes in order, with unique names. Raises FormatError if names cannot be unique."""
    columns = graph.attrs
    pools = _pool_of_each(columns, graph.node_row_ptr[-1])
    outputs = []
    for i, name in enumerate(_output_names(graph)):
        elements = 1
        for size in columns.shape[1][i]:
            elements = min(elements * size, MAX_BYTES + 1)
        bits = 8 * _element_bytes(columns.dltype[1][i], i)
        outputs.append(
            Output(
                name,
                packed_bytes(f"attrs.shape[1][{i}]", elements, bits, alignment),
                columns.storage_id[1][i],
                pools[i],
            )
        )
    repeated = [name for name, times in Counter(output.name for output in outputs).items() if times > 1]
    if repeated:
        raise FormatError(
            f"nodes: must have names that give each output a unique name, got {excerpt(repeated[0])} twice"
        )
    return outputs


def _output_names(graph: Graph) -> Iterator[str]:
    count = Counter(node.name for node in graph.nodes)
    for k, node in enumerate(graph.nodes):
        name = node.name if count[node.name] == 1 else f"{node.name}#{k}"
        outputs = graph.node_row_ptr[k + 1] - graph.node_row_ptr[k]
        yield from [name] if outputs == 1 else (f"{name}:{i}" for i in range(outputs))


def _element_bytes(dtype: str, i: int) -> int:
    """Return the bytes of an element of type `dtype`, rounded up as in TVM. Raises FormatError for an unknown type."""
    try:
        return DeclaredBuffer(id="element", dtype=dtype, shape=()).bytes
    except ValidationError:
        raise FormatError(
            f"attrs.dltype[1][{i}]: must be a type such as int8, float32 or float32x4, got {excerpt(dtype)}"
        ) from None


def _pool_of_each(columns: _Columns, count: int) -> list[str | None]:
    """Return the pool name of each output, or None for all of them if all outputs are in one memory."""
    devices = columns.device_index[1] if columns.device_index else [0] * count
    scopes = columns.storage_scope[1] if columns.storage_scope else [""] * count
    memories = list(zip(devices, (scope or "global" for scope in scopes), strict=True))
    if len(set(memories)) <= 1:
        return [None] * count
    return [f"device {device}, {scope}" for device, scope in memories]


ALIGNMENT = 64
_WEIGHT = re.compile(r"p\d+", re.ASCII)
_NOTHING = "__nop"


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a graph of TVM's graph executor. Raises FormatError, and OptionError if the options give dimensions."""
    refuse_dims(options, "TVM's graphs")
    graph = read_graph(data)
    program = _Program(graph, options)
    program.run()
    return program.draft.make_program(own_peak=program.storage_peak(), own_offsets=program.storage_offsets())


class _Program:
    """A converter of a graph to a program, and of TVM's storages to a plan of the program's buffers."""

    def __init__(self, graph: Graph, options: ModelOptions) -> None:
        """Name the outputs, find weights and results, and start the program. Raises FormatError for bad references."""
        self.graph = graph
        alignment = options.alignment or ALIGNMENT
        self.outputs = outputs_of(graph, alignment)
        self.weights = frozenset(self._weight_names())
        heads = dict.fromkeys(self._index(head, len(graph.nodes), f"heads[{k}]") for k, head in enumerate(graph.heads))
        self.given_back = {self._result_name(self.outputs[i]): self.outputs[i] for i in heads}
        self.draft = OperationsDraft(None, self.given_back, options, alignment)

    def run(self) -> None:
        """Convert all nodes, and copy each weight that the graph returns, because results are separate buffers."""
        for k, node in enumerate(self.graph.nodes):
            results = self.outputs[self.graph.node_row_ptr[k] : self.graph.node_row_ptr[k + 1]]
            if node.op == "null":
                for output in results:
                    self._declare_output(output, "constant" if output.name in self.weights else "param")
            elif node.op == "tvm_op":
                with self.draft.drawing(OperationFacts(node.name, None, {}, (k,))):
                    self._add_operation(k, node, results)
            else:
                raise FormatError(f"nodes[{k}].op: must be null or tvm_op, got {excerpt(node.op)}")
        for name, output in self.given_back.items():
            if name != output.name:
                self._declare_output(output._replace(name=name))
                self.draft.operation("copy", [output.name], [name])

    def storage_peak(self) -> int:
        """Return the total size, in bytes, of TVM's storages, without the storages of weights."""
        return sum(self._storage_bytes().values())

    def storage_offsets(self) -> dict[str, int]:
        """Map each output, except copies, to its offset in bytes, with the storages of a pool one after another."""
        sizes = self._storage_bytes()
        base: dict[int, int] = {}
        ends: dict[str | None, int] = {}
        for output in self.outputs:
            if output.name not in self.weights and output.storage not in base:
                base[output.storage] = ends.get(output.pool, 0)
                ends[output.pool] = base[output.storage] + sizes[output.storage]
        return {output.name: base[output.storage] for output in self.outputs if output.name not in self.weights}

    def _storage_bytes(self) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for output in self.outputs:
            if output.name not in self.weights:
                sizes[output.storage] = max(sizes.get(output.storage, 0), output.size)
        return sizes

    def _add_operation(self, k: int, node: Node, results: list[Output]) -> None:
        """Add the operation of node number `k` with the outputs `results`; a node that does nothing becomes a view."""
        inputs = [
            self.outputs[self._index(reference, k, f"nodes[{k}].inputs[{j}]")].name
            for j, reference in enumerate(node.inputs)
        ]
        for output in results:
            self._declare_output(output)
        if node.attrs.func_name == _NOTHING and len(inputs) == len(results) == 1:
            self.draft.view(_NOTHING, inputs[0], results[0].name)
        else:
            op = node.attrs.func_name or node.name
            self.draft.operation(op, dict.fromkeys(inputs), [output.name for output in results])

    def _declare_output(self, output: Output, kind: Kind = "plain") -> None:
        self.draft.declare(output.name, output.size, kind, output.pool)

    def _weight_names(self) -> Iterator[str]:
        first = self.graph.node_row_ptr
        for k, node in enumerate(self.graph.nodes):
            if node.op == "null" and _WEIGHT.fullmatch(node.name):
                yield from (output.name for output in self.outputs[first[k] : first[k + 1]])

    def _index(self, reference: Reference, before: int, path: str) -> int:
        """Return the number of a referenced output. Raises FormatError unless its node precedes node `before`."""
        node, output = reference[:2]
        first = self.graph.node_row_ptr
        if node >= before or output >= first[node + 1] - first[node]:
            raise FormatError(
                f"{path}: must be an output of one of the {before} earlier nodes, got {excerpt(reference)}"
            )
        return first[node] + output

    def _result_name(self, output: Output) -> str:
        return f"#copy of {output.name}" if output.name in self.weights else output.name
