"""Graphs of operations from torch.fx modules, with the node of each operation, so that new orders can be applied.

Every call whose result has a separate storage is an operation; according to the schemas, a view belongs to the tensor
that it views, and an item to its tuple. Attributes, and inputs that are parameters or state, are resident and not
counted. torch is imported only for the cost of a node: its floating-point operations if torch counts them, else its
output elements.
Source: torch 2.13, FunctionSchema's alias_info and tags.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from memplan.planner.errors import FormatError, excerpt
from memplan.programs.operations.graph import GraphOperation, OperationGraph
from memplan.runtimes.torch.facts import draws_random_numbers
from memplan.runtimes.torch.fx import changed_nodes, is_getitem, shared_storage_nodes, values_of

SAME_STORAGE = frozenset({"aten::_unsafe_view"})
"""Operations that return a view of their first argument, although their schemas do not declare it."""


@dataclass(frozen=True)
class ModuleGraph:
    """The operations of a torch.fx graph module: operation k is the node `nodes[k]`; views are not operations."""

    module: Any
    graph: OperationGraph
    nodes: tuple[Any, ...]
    views: frozenset[Any]


def graph_of(
    module: Any,
    *,
    resident: Collection[str] | None = None,
    cost: Callable[[Any], int] | None = None,
    looking: frozenset[str] = SAME_STORAGE,
) -> ModuleGraph:
    """Return the graph of a torch.fx.GraphModule whose nodes store their values in `meta["val"]`.

    `resident` names the placeholders whose bytes are not counted; None means all of them. `cost` returns the cost of
    running a node again. `looking` names the schemas of operations that return views of their first argument. Raises
    FormatError for nodes that are not calls of operations, and for symbolic shapes.
    """
    draft = _Draft(resident, cost, looking)
    for node in module.graph.nodes:
        draft.add(node)
    graph = OperationGraph(
        size=tuple(draft.size), kept=tuple(draft.kept), resident=tuple(draft.apart), ops=tuple(draft.rows)
    )
    return ModuleGraph(module, graph, tuple(draft.nodes), frozenset(draft.views))


def is_view(node: Any, looking: frozenset[str] = SAME_STORAGE) -> bool:
    """Return True if each result of a node shares the storage of an input, according to its schema or `looking`."""
    if node.op != "call_function":
        return False
    if is_getitem(node):
        return True
    values = _tensor_values(node)
    return (
        bool(values)
        and not list(changed_nodes(node))
        and all(base is not None for base in _bases(node, len(values), looking))
    )


class _Draft:
    """The operations and tensors read so far; `tensors` maps each node to the numbers of its tensors."""

    def __init__(
        self, resident: Collection[str] | None, cost: Callable[[Any], int] | None, looking: frozenset[str]
    ) -> None:
        """Store the rules for nodes, and start without operations and tensors."""
        self._resident, self._cost, self._looking = resident, cost, looking
        self.views: list[Any] = []
        self.size: list[int] = []
        self.kept: dict[int, None] = {}
        self.apart: list[int] = []
        self.rows: list[GraphOperation] = []
        self.nodes: list[Any] = []
        self.tensors: dict[Any, tuple[int, ...]] = {}
        self._effect: int | None = None

    def add(self, node: Any) -> None:
        """Add a node of the graph."""
        if node.op in ("placeholder", "get_attr"):
            self.tensors[node] = tuple(self._add_tensor(node, value) for value in _tensor_values(node))
            if node.op == "get_attr" or self._resident is None or node.name in self._resident:
                self.apart += self.tensors[node]
        elif node.op == "output":
            self.kept = dict.fromkeys(t for source in node.all_input_nodes for t in self.tensors[source])
            self.kept = {t: None for t in self.kept if t not in set(self.apart)}
        elif node.op == "call_function":
            self._add_call(node)
        else:
            raise FormatError(
                f"node {excerpt(node.name)}: must be a placeholder, get_attr, call_function or output: trace the "
                f"module first, got {excerpt(node.op)}"
            )

    def _add_call(self, node: Any) -> None:
        """Add the operation of a call, with its new tensors. A view or an item of a tuple adds no operation."""
        if is_view(node, self._looking):
            self.views.append(node)
        if is_getitem(node):
            tensor = self.tensors[node.args[0]]
            index = node.args[1]
            self.tensors[node] = (tensor[index],) if isinstance(index, int) and index < len(tensor) else tensor
            return
        values = _tensor_values(node)
        bases = _bases(node, len(values), self._looking)
        changed = {t for source in changed_nodes(node) for t in self.tensors[source]}
        names = [
            self._add_tensor(node, value) if base is None else self.tensors[base][0]
            for value, base in zip(values, bases, strict=True)
        ]
        self.tensors[node] = tuple(names)
        if is_view(node, self._looking):
            return
        if not values:
            names = [self._add_tensor(node, None)]
            self.tensors[node] = tuple(names)
        inputs = dict.fromkeys(t for source in node.all_input_nodes for t in self.tensors[source])
        made = [t for t, base in zip(names, bases, strict=False) if base is None] if values else names
        has_effect = bool(changed) or node.is_impure()
        position = len(self.rows)
        self.rows.append(
            GraphOperation(
                inputs=tuple(inputs),
                outputs=tuple(dict.fromkeys((*made, *sorted(changed)))),
                after=(self._effect,) if node.is_impure() and self._effect is not None else (),
                name=node.name,
                cost=None if self._cost is None else self._cost(node),
                once=has_effect or draws_random_numbers(node),
            )
        )
        self._effect = position if node.is_impure() else self._effect
        self.nodes.append(node)

    def _add_tensor(self, node: Any, value: Any) -> int:
        """Add a tensor with the bytes of a value (0 for None), and return its number."""
        bytes_ = 0 if value is None else value.numel() * value.element_size()
        if not isinstance(bytes_, int):
            raise FormatError(f"node {excerpt(node.name)}: must have a known shape, got {excerpt(str(value.shape))}")
        self.size.append(bytes_)
        return len(self.size) - 1


def _tensor_values(node: Any) -> list[Any]:
    """Return the values of a node, with None for entries that are not tensors; an empty list if there is no tensor."""
    values = list(values_of(node))
    if not any(hasattr(value, "element_size") for value in values):
        return []
    return [value if hasattr(value, "element_size") else None for value in values]


def _bases(node: Any, count: int, looking: frozenset[str]) -> list[Any]:
    """Return, for each value of a call, the node whose storage it shares; None if its storage is its own."""
    schema = getattr(node.target, "_schema", None)
    if schema is not None and schema.name in looking:
        return [node.args[0]]
    return list(shared_storage_nodes(node, count))


def flops_of(node: Any) -> int:
    """Return the cost of running a node again: its floating-point operations if known, else its output elements.

    Views, and constants, which read no tensor, cost nothing. Imports torch.
    """
    from torch.utils._pytree import tree_map_only
    from torch.utils.flop_counter import flop_registry

    if is_view(node) or not node.all_input_nodes:
        return 0
    values = node.meta["val"]
    packet = getattr(node.target, "_overloadpacket", None)
    if packet in flop_registry:
        from torch.fx import Node

        args, kwargs = tree_map_only(Node, lambda other: other.meta["val"], (node.args, dict(node.kwargs)))
        return int(flop_registry[packet](*args, **kwargs, out_val=values))
    every = values if isinstance(values, list | tuple) else (values,)
    return sum(int(value.numel()) for value in every if hasattr(value, "numel"))
