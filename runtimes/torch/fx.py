"""Reader of PyTorch graphs in memory: torch.fx graph modules, AOT training graphs, exported programs.

Every tensor that an operation computes is a buffer; the order of the nodes determines its lifetime. A view, as declared
by the schema of its operation, uses the storage of the viewed tensor, and a tensor changed in place keeps its storage.
The problem omits workspaces of operations, and tensors inside higher-order operations (cond, map), because the graph
does not contain them. Buffers are aligned to 64 bytes, as by PyTorch's allocator on CPUs. torch is not imported here.

Source: torch 2.13, torch/fx/node.py, torch/export/graph_signature.py, and FunctionSchema's alias_info.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts, packed_bytes
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.runtimes.torch.facts import draws_random_numbers, node_facts, value_facts

ALIGNMENT = 64
_MODEL_INPUT_KINDS = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
"""The kinds of inputs of an exported program that belong to the model."""
_HIGHER_ORDER = "HigherOrderOperator"
_RESHAPE = {"aten::reshape", "aten::reshape_as", "aten::flatten"}
_MAY_COPY = _RESHAPE | {"aten::contiguous", "aten::to", "aten::type_as"}
"""Operations that return either a view or a copy of their argument."""


def read_exported(program: Any, options: ModelOptions | None = None) -> ImportedProblem:
    """Read a torch.export.ExportedProgram; parameters and buffers are constants. Raises FormatError if unreadable."""
    inputs = program.graph_signature.input_specs
    constants = {row.arg.name for row in inputs if row.kind.name in _MODEL_INPUT_KINDS}
    return read_graph(program.graph_module, options, constants)


def read_graph(module: Any, options: ModelOptions | None = None, constants: Collection[str] = ()) -> ImportedProblem:
    """Read a torch.fx.GraphModule whose nodes store their values in `meta["val"]`.

    `constants` names the placeholders that are not planned: parameters and buffers of the model.
    """
    graph = _Graph(module.graph, options or ModelOptions(), constants)
    for k, node in enumerate(module.graph.nodes):
        graph.add(node, k)
    views = ViewFacts(len(graph.views), sum(graph.views)) if graph.options.views == "alias" else graph.draft.views
    return replace(graph.draft.make_program(graph.opaque[:MAX_LISTED]), views=views)


class _Graph:
    """A builder of the program of a torch.fx graph; `names` maps each node to the buffer names of its tensors."""

    def __init__(self, graph: Any, options: ModelOptions, constants: Collection[str]) -> None:
        """Find the values changed in place, and start an empty program; `constants` names placeholders not planned."""
        self.options = options
        self.constants = constants
        self.changed = {other for node in graph.nodes if node.op == "call_function" for other in changed_nodes(node)}
        self.names: dict[Any, tuple[str | None, ...]] = {}
        self.views: list[int] = []
        self.opaque: list[Finding] = []
        self.results: dict[str, None] = {}
        self.draft = OperationsDraft(None, (), options, options.alignment or ALIGNMENT)

    def add(self, node: Any, k: int) -> None:
        """Add node number `k` of the graph."""
        if node.op == "placeholder":
            self._add_placeholder(node)
        elif node.op == "get_attr":
            self.names[node] = self._declare_values(node, "constant")
        elif node.op == "output":
            self._add_output(node)
        elif is_getitem(node):
            self._add_getitem(node)
        elif node.op == "call_function":
            with self.draft.drawing(
                node_facts(node, k), has_effects=draws_random_numbers(node) or _is_higher_order(node)
            ):
                self._add_operation(node)
        else:
            raise FormatError(
                f"node {excerpt(node.name)}: must be a placeholder, get_attr, call_function or output: export the "
                f"model first, got {excerpt(node.op)}"
            )

    def _add_placeholder(self, node: Any) -> None:
        kind: Kind = "constant" if node.name in self.constants else "param"
        self.names[node] = self._declare_values(
            node, "persistent" if kind == "constant" and node in self.changed else kind
        )

    def _add_getitem(self, node: Any) -> None:
        source, index = node.args
        items = self.names[source]
        self.names[node] = (items[index],) if isinstance(index, int) and index < len(items) else ()

    def _add_operation(self, node: Any) -> None:
        """Add the operation of a call, with a buffer for each result that shares no storage with an input."""
        reads = self._read_buffers(node)
        if _is_higher_order(node):
            message = f"node {excerpt(node.name)}: memory that {node.target} allocates internally is not in the problem"
            self.opaque.append(Finding("not-looked-into", message))
        values = values_of(node)
        bases = [self._buffer_of(source) for source in shared_storage_nodes(node, len(values))]
        for_itself = self.options.views == "separate"
        changed = [
            name for name in map(self._buffer_of, changed_nodes(node)) if name and not self.draft.is_constant(name)
        ]
        names: list[str | None] = []
        for k, (value, base) in enumerate(zip(values, bases, strict=True)):
            if base is None or (for_itself and base not in changed):
                names.append(self._declare_value(node, value, k, len(values)))
            else:
                names.append(base)
                self.views += [] if base in changed else [self._bytes_of_value(node, value)]
        self.names[node] = tuple(names)
        made = [name for name in names if name is not None and name not in bases]
        if made or changed or not names:
            self.draft.operation(str(node.target), reads, dict.fromkeys((*made, *changed)))

    def _add_output(self, node: Any) -> None:
        for source in node.all_input_nodes:
            for name in self.names[source]:
                if name is not None and not self.draft.is_constant(name):
                    self.results[name] = None
        self.draft.results = tuple(self.results)

    def _read_buffers(self, node: Any) -> list[str]:
        names = (name for source in node.all_input_nodes for name in self.names[source] if name is not None)
        return list(dict.fromkeys(names))

    def _buffer_of(self, source: Any) -> str | None:
        """Return the buffer of a node's single tensor; None for lists and for values that are not tensors."""
        names = self.names.get(source, ())
        return names[0] if len(names) == 1 else None

    def _declare_values(self, node: Any, kind: Kind) -> tuple[str | None, ...]:
        """Declare a buffer for each tensor of a node; return their names, with None for other values."""
        values = values_of(node)
        return tuple(self._declare_value(node, value, k, len(values), kind) for k, value in enumerate(values))

    def _declare_value(self, node: Any, value: Any, k: int, count: int, kind: Kind = "plain") -> str | None:
        """Declare a buffer for value `k` of a node's `count` values; return its name, or None if it is no tensor."""
        if not hasattr(value, "element_size"):
            return None
        name = str(node.name) if count == 1 else f"{node.name}:{k}"
        self.draft.declare(name, self._bytes_of_value(node, value), kind)
        shape = [self._dimension_size(node, dim) for dim in value.shape]
        self.draft.describe(name, value_facts(name, value, shape))
        return name

    def _bytes_of_value(self, node: Any, value: Any) -> int:
        shape = [self._dimension_size(node, dim) for dim in value.shape]
        return packed_bytes(f"node {excerpt(node.name)}", prod(shape), 8 * value.element_size(), self.draft.alignment)

    def _dimension_size(self, node: Any, dim: Any) -> int:
        """Return a dimension's size, given the options' sizes of symbols; raises FormatError if it stays unknown."""
        if isinstance(dim, int):
            return dim
        size = dim.node.expr.subs(
            {symbol: self.options.sizes[symbol.name] for symbol in _sized_symbols(dim, self.options)}
        )
        if not size.is_Integer:
            symbol = min(map(str, size.free_symbols), default=str(size))
            raise FormatError(f"node {excerpt(node.name)}: must have a known shape; give the size of {symbol} as a dim")
        return int(size)


def _sized_symbols(dim: Any, options: ModelOptions) -> list[Any]:
    return [symbol for symbol in dim.node.expr.free_symbols if symbol.name in options.dims]


def values_of(node: Any) -> tuple[Any, ...]:
    """Return the values of a node as a tuple, which has one entry if the node has a single value."""
    if "val" not in node.meta:
        # A node for an attribute may be a submodule, which has no value, so return no values.
        if node.op == "get_attr":
            return ()
        raise FormatError(f'node {excerpt(node.name)}: must have its value in meta["val"]')
    value = node.meta["val"]
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _is_higher_order(node: Any) -> bool:
    return any(kind.__name__ == _HIGHER_ORDER for kind in type(node.target).__mro__)


def is_getitem(node: Any) -> bool:
    """Return True if a node takes an item from a tuple or list."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


def _schema_argument_values(node: Any) -> Iterator[tuple[Any, Any]]:
    schema = getattr(node.target, "_schema", None)
    for k, argument in enumerate(schema.arguments if schema is not None else ()):
        if k < len(node.args) and not argument.kwarg_only:
            yield argument, node.args[k]
        elif argument.name in node.kwargs:
            yield argument, node.kwargs[argument.name]


def shared_storage_nodes(node: Any, count: int) -> Iterator[Any]:
    """Yield, for each of a node's values, the node with which it surely shares storage, or None.

    In the schema of an operation that returns a list of views, "*" marks the argument that any output may alias.
    """
    schema = getattr(node.target, "_schema", None)
    returns = [returned.alias_info for returned in schema.returns] if schema is not None else []
    aliases = [
        (argument.alias_info, value)
        for argument, value in _schema_argument_values(node)
        if argument.alias_info is not None
    ]
    for k in range(count):
        info = returns[0 if len(returns) == 1 else k] if k < len(returns) or len(returns) == 1 else None
        sources = (
            value
            for other, value in aliases
            if info is not None
            and _is_node(value)
            and (other.before_set & info.before_set or (not info.before_set and "*" in other.after_set))
        )
        source = next(sources, None)
        yield source if source is not None and _is_certain_view(node, source) else None


def _is_certain_view(node: Any, source: Any) -> bool:
    name = node.target._schema.name
    return name not in _MAY_COPY or (name in _RESHAPE and source.meta["val"].is_contiguous())


def changed_nodes(node: Any) -> Iterator[Any]:
    """Yield the nodes whose tensors an operation changes in place."""
    for argument, value in _schema_argument_values(node):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from filter(_is_node, value if isinstance(value, (list, tuple)) else (value,))


def _is_node(value: Any) -> bool:
    return hasattr(value, "all_input_nodes")
