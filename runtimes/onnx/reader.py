"""Reader of ONNX models: each value is a buffer, whose lifetime follows from the order of nodes.

A node whose inputs are all constants produces constants, because runtimes compute it only once. Neither these constants
nor initializers are part of the plan. Both branches of an If write its outputs. The state of a Loop or Scan is stored
in its outputs, and each iteration ends by copying the new state into them. Buffers are aligned to 64 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, constants_finding
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import Finding
from memplan.programs.readers.draft import OperationsDraft
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.onnx.facts import BY_CHANCE, STANDARD, OnnxFacts
from memplan.runtimes.onnx.loading import load_with_shapes, open_dimension_names, parse
from memplan.runtimes.onnx.model import branch_taken, node_name, subgraphs
from memplan.runtimes.onnx.values import GraphNames, Values

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

ALIGNMENT = 64
_VIEWS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"}
# Numbers of the element types INT64 and BOOL in ONNX's TensorProto.DataType
_INT64, _BOOL = 7, 9


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the problem of a model. Raises FormatError for a broken file, OptionError for unknown dimensions."""
    loaded = load_with_shapes(data, options)
    model = loaded.model
    versions = [row.version for row in model.opset_import if row.domain in STANDARD]
    program = _Program(model.graph, options, max(versions, default=1))
    program.values.causes, program.values.numbers = loaded.causes, loaded.numbers
    program.run()
    sizes = [program.draft.size(name) for name in program.computed if program.draft.is_declared(name)]
    warnings = constants_finding(
        sizes, "onnxruntime computes them when a session begins", "a runtime without folding does so in every run"
    )
    return program.draft.make_program([*program.values.warnings, *_unknown_opset_findings(program.version), *warnings])


def _unknown_opset_findings(version: int) -> Iterator[Finding]:
    from onnx import defs

    newest = defs.onnx_opset_version()
    if version > newest:
        what = f"opset {version} is newer than {newest}, the newest that the package onnx knows here"
        yield Finding("unknown-opset", f"{what}: its operators are read as those of {newest}")


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Return a symbol with the values 1, 2, ... for each open input dimension; raises FormatError for other files."""
    return dict.fromkeys(open_dimension_names(parse(data).graph), SymbolRange())


class _Program:
    """The conversion of a model's graphs to a draft of operations; `source` is the current node's position."""

    def __init__(self, graph: GraphProto, options: ModelOptions, version: int) -> None:
        """Start an empty draft, whose results are the graph's outputs; `version` is the model's opset."""
        self.graph, self.version = graph, version
        results = dict.fromkeys(value.name for value in graph.output)
        self.draft = OperationsDraft(graph.name or None, results, options, options.alignment or ALIGNMENT)
        self.values = Values(graph, self.draft)
        self.source: tuple[int, ...] = ()
        self.computed: set[str] = set()

    def run(self) -> None:
        """Add the main graph to the draft: initializers, inputs, nodes, and copies for constant outputs."""
        scope = GraphNames(self.graph, None, "")
        self.values.add_initializers(self.graph, scope)
        for value in self.graph.input:
            if value.name not in scope.ids:
                self.values.declare(scope, value.name, "the inputs", "param")
        self._convert_nodes(self.graph, scope)
        for name in self.draft.results:
            name_ = scope.id_of(name, "the outputs")
            if name_ in self.values.constants:
                self.draft.declare(name, self.values.size(scope, name, "the outputs"))
                self.draft.operation("copy", self.values.operands([name_]), [name])

    def _convert_nodes(self, graph: GraphProto, scope: GraphNames) -> None:
        facts = OnnxFacts(graph, self.version)
        for k, node in enumerate(graph.node):
            around, self.source = self.source, (*self.source, k)
            row = facts.node_facts(node, self.source, scope.shape)
            with self.draft.drawing(row, has_effects=node.op_type in BY_CHANCE):
                self._convert_node(node, k, scope)
            self.source = around

    def _convert_node(self, node: NodeProto, k: int, scope: GraphNames) -> None:
        """Convert node `k` by its kind: constant, If, Loop, Scan, or an operation."""
        what = node_name(node, k)
        inputs = [scope.id_of(name, what) for name in node.input if name]
        outputs = [name for name in node.output if name]
        if self._is_constant(node, inputs, scope):
            for name in outputs:
                self.values.add_constant(scope, name, self.values.size_if_known(scope, name))
                if inputs:
                    self.computed.add(scope.ids[name])
        elif node.op_type == "If" and node.domain in STANDARD:
            self._convert_if(node, what, inputs, scope)
        elif node.op_type == "Loop" and node.domain in STANDARD:
            self._convert_loop(node, what, scope)
        elif node.op_type == "Scan" and node.domain in STANDARD:
            self._convert_scan(node, what, inputs, scope)
        elif next(subgraphs(node), None) is not None:
            raise FormatError(
                f"{what}: must be an If, Loop or Scan to contain graphs, as it is unknown when other graphs run"
            )
        else:
            self._add_node(
                node, what, inputs, [name for name in outputs if self.values.declare(scope, name, what)], scope
            )

    def _add_node(self, node: NodeProto, what: str, inputs: list[str], outputs: list[str], scope: GraphNames) -> None:
        names = [scope.ids[name] for name in outputs]
        is_view = node.op_type in _VIEWS and node.domain in STANDARD
        if is_view and len(names) == 1 and node.input and node.input[0] and inputs[0] not in self.values.constants:
            self.draft.view(node.op_type, inputs[0], names[0], self.values.operands(inputs[1:]))
        else:
            self.draft.operation(node.op_type or what, self.values.operands(inputs), names)

    def _is_constant(self, node: NodeProto, inputs: Sequence[str], scope: GraphNames) -> bool:
        if node.domain not in STANDARD or node.op_type in BY_CHANCE or next(subgraphs(node), None) is not None:
            return False
        if node.op_type == "Shape":
            # With symbols, every shape is an expression that is known before the program runs, hence a constant.
            return bool(node.input) and (bool(self.values.numbers) or scope.shape(node.input[0]) is not None)
        return node.op_type == "Constant" or (bool(inputs) and all(name in self.values.constants for name in inputs))

    def _convert_if(self, node: NodeProto, what: str, inputs: list[str], scope: GraphNames) -> None:
        """Convert an If: each branch that may run, with moves or copies of its results to the outputs."""
        bodies = dict(subgraphs(node))
        if set(bodies) != {"then_branch", "else_branch"} or not inputs:
            raise FormatError(f"{what}: must have a condition, then_branch and else_branch")
        taken = branch_taken(node)
        targets = [name if name and self.values.declare(scope, name, what, "chosen") else None for name in node.output]
        drawn = []
        for label in (taken,) if taken else ("then_branch", "else_branch"):
            self.draft.begin_block()
            inner = GraphNames(bodies[label], scope, f"{self._id_prefix(node, scope)}{label}/")
            sources = self._convert_subgraph(bodies[label], inner, what, list(bodies).index(label))
            if len(sources) < len(targets):
                raise FormatError(f"{what}.{label}: must have {len(targets)} outputs, got {len(sources)}")
            for source, target in zip(sources, targets, strict=False):
                if target is not None and source in self.values.constants:
                    self.draft.operation("copy", self.values.operands([source]), [scope.ids[target]])
                elif target is not None:
                    self.draft.hand_out("If", source, scope.ids[target])
            drawn.append(self.draft.end_block())
        self.draft.branches(self.values.operands(inputs[:1]), drawn)

    def _convert_loop(self, node: NodeProto, what: str, scope: GraphNames) -> None:
        """Convert a Loop: the first write of its state and results, then one iteration as a block."""
        body = dict(subgraphs(node)).get("body")
        if body is None or len(body.input) < 2 or len(node.input) < 2:
            raise FormatError(f"{what}: must have a body, and inputs for its trip count and its condition")
        n_state = len(body.input) - 2
        initial = [scope.id_of(name, what) for name in node.input[2:]]
        if len(initial) != n_state or len(body.output) < 1 + n_state:
            raise FormatError(
                f"{what}: must have an initial value for each state of its body ({n_state}), got {len(initial)}"
            )
        control = [scope.id_of(name, what) for name in node.input[:2] if name]
        inner = GraphNames(body, scope, self._id_prefix(node, scope))
        state, stacked = self._add_state(node, what, inner, [value.name for value in body.input[2:]], initial, scope)
        condition = body.input[1].name
        self.values.declare(inner, condition, what, "carried", size=self.values.bytes_of(what, (), _BOOL))
        state.insert(0, inner.ids[condition])
        self.draft.operation(node.op_type, self.values.operands([*control, *initial]), [*state, *stacked])
        self.draft.begin_block()
        trip = body.input[0].name
        self.values.declare(inner, trip, what, size=self.values.bytes_of(what, (), _INT64))
        self.draft.operation("Loop", (), [inner.ids[trip]])
        self._convert_iteration(what, inner, body, state, stacked)

    def _convert_scan(self, node: NodeProto, what: str, inputs: list[str], scope: GraphNames) -> None:
        """Convert a Scan: the first write of its state and results, then one iteration on slices of its inputs."""
        body = dict(subgraphs(node)).get("body")
        count = next((row.i for row in node.attribute if row.name == "num_scan_inputs"), 0)
        n_state = len(inputs) - count
        if (
            body is None
            or not 1 <= count <= len(inputs)
            or len(body.input) != len(inputs)
            or len(body.output) < n_state
        ):
            raise FormatError(
                f"{what}: must have a body with {len(inputs)} inputs, of which {count} (num_scan_inputs) are scanned"
            )
        if self.version < 9:
            raise FormatError(f"{what}: must be of opset 9 or later, got {self.version}")
        inner = GraphNames(body, scope, self._id_prefix(node, scope))
        names = [value.name for value in body.input]
        state, stacked = self._add_state(node, what, inner, names[:n_state], inputs[:n_state], scope)
        self.draft.operation("Scan", self.values.operands(inputs[:n_state]), [*state, *stacked])
        self.draft.begin_block()
        elements = [inner.ids[name] for name in names[n_state:] if self.values.declare(inner, name, what)]
        self.draft.operation("Scan", self.values.operands(inputs[n_state:]), elements)
        self._convert_iteration(what, inner, body, state, stacked)

    def _add_state(
        self,
        node: NodeProto,
        what: str,
        inner: GraphNames,
        names: Sequence[str],
        initial: Sequence[str],
        scope: GraphNames,
    ) -> tuple[list[str], list[str]]:
        """Declare a loop's state, which is stored in its outputs, and its stacked results; return both lists of ids."""
        outputs = [*node.output, *[""] * len(names)]
        state = []
        for name, output, source in zip(names, outputs, initial, strict=False):
            sizes = (
                self.values.size_if_known(inner, name),
                self.values.size_if_known(scope, output),
                self.values.size_of(source),
            )
            size = next((size for size in sizes if size is not None), None)
            home, home_name = (scope, output) if output else (inner, name)
            self.values.declare(home, home_name, what, "carried", size=size)
            if output:
                inner.bind(name, scope.ids[output], what)
            state.append(inner.ids[name])
        names_of_state = [
            name for name in node.output[len(names) :] if name and self.values.declare(scope, name, what, "carried")
        ]
        return state, [scope.ids[name] for name in names_of_state]

    def _convert_iteration(
        self, what: str, inner: GraphNames, body: GraphProto, state: Sequence[str], stacked: Sequence[str]
    ) -> None:
        """Convert a loop's body, add an operation that stores the new state in the old one, and close the loop."""
        sources = self._convert_subgraph(body, inner, what)
        if len(sources) < len(state) + len(stacked):
            raise FormatError(f"{what}: must have a body with {len(state) + len(stacked)} outputs, got {len(sources)}")
        moves: dict[str, str] = {}
        for source, target in zip(sources, state, strict=False):
            size, room = self.values.size_of(source), self.values.size_of(target) or 0
            if size is not None and size > room:
                raise FormatError(
                    f"{what}: must not increase its state {excerpt(target)} beyond {room} bytes, got {size}"
                )
            # If the new value of a state is another state's old value, save that value before copies overwrite it.
            if source in state and source != target:
                aside = self.values.free_id(f"{inner.prefix}next {target}")
                self.draft.declare(aside, size or 0)
                self.draft.operation("copy", [source], [aside])
                source = aside
            if source != target:
                moves[target] = source
        inputs = self.values.operands([*moves.values(), *sources[len(state) :]])
        self.draft.operation("next", [*inputs, *stacked], [*moves, *stacked])
        self.draft.loop(self.draft.end_block(), None)

    def _convert_subgraph(self, graph: GraphProto, inner: GraphNames, what: str, k: int = 0) -> list[str]:
        self.values.add_initializers(graph, inner)
        around, self.source = self.source, (*self.source, k)
        self._convert_nodes(graph, inner)
        self.source = around
        return [inner.id_of(value.name, what) for value in graph.output]

    def _id_prefix(self, node: NodeProto, scope: GraphNames) -> str:
        return f"{scope.prefix}{node.name or next(iter(node.output), node.op_type)}/"
