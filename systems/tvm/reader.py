"""Graphs of TVM's graph executor (graph JSON): every output of a node one buffer, its lifetime by the order of nodes.

TVM planned storages, each for as many outputs as use it one after the other; here, each output is planned again. Nodes
called `__nop` do nothing, so that their output is their input in another shape. Arguments called `p0`, `p1`, … are the
weights, which lie apart. A device, or a kind of memory there, is a pool. Buffers are aligned to 64 bytes.
Source: src/runtime/graph_executor/graph_executor.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memplan.planner.errors import FormatError, shown
from memplan.planner.operations.program_facts import OperationFacts
from memplan.systems.draft import Kind, OperationsDraft
from memplan.systems.dump import refuse_dims
from memplan.systems.imported import Imported, ModelOptions
from memplan.systems.tvm.graph import Graph, Node, Output, Reference, outputs_of, read_graph

ALIGNMENT = 64
_WEIGHT = re.compile(r"p\d+", re.ASCII)
_NOTHING = "__nop"


def read(data: bytes, options: ModelOptions) -> Imported:
    """Read a graph; raises FormatError, and OptionError for named dimensions."""
    refuse_dims(options, "TVM's graphs")
    graph = read_graph(data)
    program = _Program(graph, options)
    program.run()
    return program.draft.imported(own_peak=program.own_peak(), own_offsets=program.own_offsets())


class _Program:
    """Builds the operations of a graph."""

    def __init__(self, graph: Graph, options: ModelOptions) -> None:
        self.graph = graph
        alignment = options.alignment or ALIGNMENT
        self.outputs = outputs_of(graph, alignment)
        self.weights = frozenset(self._weights())
        heads = dict.fromkeys(self._index(head, len(graph.nodes), f"heads[{k}]") for k, head in enumerate(graph.heads))
        self.given_back = {self._result_name(self.outputs[i]): self.outputs[i] for i in heads}
        self.draft = OperationsDraft(None, self.given_back, options, alignment)

    def run(self) -> None:
        """Draw all nodes, with the program's inputs and outputs."""
        for k, node in enumerate(self.graph.nodes):
            results = self.outputs[self.graph.node_row_ptr[k] : self.graph.node_row_ptr[k + 1]]
            if node.op == "null":
                for output in results:
                    self._declare(output, "constant" if output.name in self.weights else "param")
            elif node.op == "tvm_op":
                with self.draft.drawing(OperationFacts(node.name, None, {}, (k,))):
                    self._operation(k, node, results)
            else:
                raise FormatError(f"nodes[{k}].op: must be null or tvm_op, got {shown(node.op)}")
        for name, output in self.given_back.items():
            if name != output.name:
                self._declare(output._replace(name=name))
                self.draft.operation("copy", [output.name], [name])

    def own_peak(self) -> int:
        """Return the bytes of TVM's storages; those of weights aside."""
        return sum(self._storages().values())

    def own_offsets(self) -> dict[str, int]:
        """Return where outputs lie with TVM's storages one behind the other in each pool; copies have no storage."""
        sizes = self._storages()
        base: dict[int, int] = {}
        ends: dict[str | None, int] = {}
        for output in self.outputs:
            if output.name not in self.weights and output.storage not in base:
                base[output.storage] = ends.get(output.pool, 0)
                ends[output.pool] = base[output.storage] + sizes[output.storage]
        return {output.name: base[output.storage] for output in self.outputs if output.name not in self.weights}

    def _storages(self) -> dict[int, int]:
        """Return the bytes of each storage, as large as the largest output in it; those of weights aside."""
        sizes: dict[int, int] = {}
        for output in self.outputs:
            if output.name not in self.weights:
                sizes[output.storage] = max(sizes.get(output.storage, 0), output.size)
        return sizes

    def _operation(self, k: int, node: Node, results: list[Output]) -> None:
        inputs = [
            self.outputs[self._index(reference, k, f"nodes[{k}].inputs[{j}]")].name
            for j, reference in enumerate(node.inputs)
        ]
        for output in results:
            self._declare(output)
        if node.attrs.func_name == _NOTHING and len(inputs) == len(results) == 1:
            self.draft.view(_NOTHING, inputs[0], results[0].name)
        else:
            op = node.attrs.func_name or node.name
            self.draft.operation(op, dict.fromkeys(inputs), [output.name for output in results])

    def _declare(self, output: Output, kind: Kind = "plain") -> None:
        self.draft.declare(output.name, output.size, kind, output.pool)

    def _weights(self) -> Iterator[str]:
        first = self.graph.node_row_ptr
        for k, node in enumerate(self.graph.nodes):
            if node.op == "null" and _WEIGHT.fullmatch(node.name):
                yield from (output.name for output in self.outputs[first[k] : first[k + 1]])

    def _index(self, reference: Reference, before: int, path: str) -> int:
        """Return the position of an output of one of the nodes before another; raises FormatError."""
        node, output = reference[:2]
        first = self.graph.node_row_ptr
        if node >= before or output >= first[node + 1] - first[node]:
            raise FormatError(
                f"{path}: must be an output of a node before (there are {before}), got {shown(reference)}"
            )
        return first[node] + output

    def _result_name(self, output: Output) -> str:
        """Return the name of an output's buffer: its own, but of weights, which lie elsewhere, a copy's."""
        return f"#copy of {output.name}" if output.name in self.weights else output.name
