"""Separation of the memory of control-flow submodules, so that no submodule overwrites results that are still needed.

ExecuTorch plans each submodule from offset 0, as if the memories were unused, and the submodule's results stay there
until they are read. If a graph has two branching nodes, the second therefore overwrites the results of the first;
ExecuTorch 1.5.1 does not detect this. This module moves a submodule's tensors above those of other submodules whose
results are still needed.
Source: pytorch/executorch v1.5.1, exir/memory_planning.py (_apply_algo_to_submodules), exir/emit/_emitter.py (cond).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memplan.runtimes.executorch.inside.specs import Spec

SpecsOf = Mapping[Any, Sequence[Spec]]
"""The type of a mapping from each graph module to the specs placed for it."""


@dataclass(frozen=True, eq=False)
class Arena:
    """The bytes of each memory that one control-flow node's submodules use; only one of them runs at a time.

    The bytes are in use from time step `start`, at which the node runs, until before `end`, after its results are last
    read.
    """

    node: str
    modules: tuple[Any, ...]
    sizes: tuple[int, ...]
    start: int
    end: int


def arenas_of(graph_module: Any, known: SpecsOf) -> list[Arena]:
    """Return the arenas of a graph's control-flow nodes in execution order."""
    arenas = []
    for k, node in enumerate(graph_module.graph.nodes):
        modules = tuple(_submodules(graph_module, node, known))
        if modules:
            sizes = [module.meta.get("non_const_buffer_sizes", ()) for module in modules]
            longest = max(map(len, sizes))
            most = tuple(max(row[q] for row in sizes if q < len(row)) for q in range(longest))
            arenas.append(Arena(node.name, modules, most, k, max(k, *_last_uses(node)) + 1))
    return arenas


def _submodules(graph_module: Any, node: Any, known: SpecsOf) -> Iterator[Any]:
    for argument in node.args if node.op == "call_function" else ():
        if getattr(argument, "op", None) == "get_attr":
            module = getattr(graph_module, argument.target, None)
            if module is not None and module in known:
                yield module


def _last_uses(node: Any) -> Iterator[int]:
    node_spec = node.meta.get("spec")
    for spec in node_spec if isinstance(node_spec, (list, tuple)) else (node_spec,):
        if hasattr(spec, "lifetime") and spec.lifetime[1] is not None:
            yield spec.lifetime[1]


def overwriting_nodes(arenas: Sequence[Arena]) -> tuple[str, str] | None:
    """Return the first pair of nodes (a, b) such that b overwrites results of a that are still needed, or None."""
    for k, arena in enumerate(arenas):
        for other in arenas[k + 1 :]:
            if other.start < arena.end:
                return arena.node, other.node
    return None


def move_apart(arenas: Sequence[Arena], known: SpecsOf, alignment: int) -> tuple[int, ...]:
    """Move each submodule's specs above those of submodules still in use; return the used bytes of each memory."""
    count = max((len(arena.sizes) for arena in arenas), default=0)
    taken = [0] * count
    ends: list[tuple[int, ...]] = []
    for arena in arenas:
        alive = [end for other, end in zip(arenas, ends, strict=False) if arena.start < other.end]
        sizes = (*arena.sizes, *[0] * (count - len(arena.sizes)))
        begins = [-(-max((end[q] for end in alive), default=0) // alignment) * alignment for q in range(count)]
        ends.append(tuple(begin + size if size else 0 for begin, size in zip(begins, sizes, strict=True)))
        taken = [max(pair) for pair in zip(taken, ends[-1], strict=True)]
        for spec in _walk_specs(arena.modules, known):
            if spec.mem_offset is not None and spec.mem_id is not None and spec.mem_id < count:
                spec.mem_offset += begins[spec.mem_id]
    return tuple(taken)


def _walk_specs(modules: Iterable[Any], known: SpecsOf) -> Iterator[Spec]:
    for module in modules:
        yield from known[module]
        for node in module.graph.nodes:
            yield from _walk_specs(_submodules(module, node, known), known)
