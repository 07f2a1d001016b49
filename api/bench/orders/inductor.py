"""The three orders of torch's inductor, by the functions of the torch that is installed, on stand-ins for its nodes.

Source: torch 2.13, torch/_inductor/memory.py. Inductor takes the best of the three.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from memplan.planner.operations.graph import OperationGraph


def least_peak_first(graph: OperationGraph, _: float) -> Sequence[int]:
    """Return inductor's order of the least peak memory first."""
    from torch._inductor.memory import topological_sort_lpmf

    scheduled = _Scheduled(graph)
    kept = {f"t{t}" for t in graph.kept}
    return _numbers(topological_sort_lpmf(scheduled.nodes, scheduled.given, scheduled.made, kept))


def breadth_first(graph: OperationGraph, _: float) -> Sequence[int]:
    """Return inductor's breadth-first order."""
    from torch._inductor.memory import topological_sort_bfs

    return _numbers(topological_sort_bfs(_Scheduled(graph).nodes))


def depth_first(graph: OperationGraph, _: float) -> Sequence[int]:
    """Return inductor's depth-first order."""
    from torch._inductor.memory import topological_sort_dfs

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20 * len(graph.ops) + 1000))
    return _numbers(topological_sort_dfs(_Scheduled(graph).nodes))


class _Node:
    """A stand-in for a scheduler's node; equality is identity, as torch keeps nodes in sets."""

    def __init__(self, number: int, outputs: list[Any]) -> None:
        self.number, self.outputs = number, outputs
        self.mpi_node: Any = None
        self.unmet_dependencies: list[Any] = []

    def get_name(self) -> str:
        """Return the node's name."""
        return f"op{self.number}"

    def get_outputs(self) -> list[Any]:
        """Return the buffers that it makes."""
        return self.outputs

    def get_buffer_names(self) -> list[str]:
        """Return names for what waits for it."""
        return [output.name for output in self.outputs] or [f"nothing{self.number}"]


class _Buffer:
    """A stand-in for a scheduler's buffer."""

    def __init__(self, tensor: int, bytes_: int) -> None:
        self.name = f"t{tensor}"
        self.mpi_buffer = SimpleNamespace(size_alloc=bytes_, size_free=bytes_, succ_nodes=[])

    def get_name(self) -> str:
        """Return the buffer's name."""
        return self.name


class _Scheduled:
    """A graph as inductor's scheduler would have it."""

    def __init__(self, graph: OperationGraph) -> None:
        buffers = [_Buffer(t, bytes_) for t, bytes_ in enumerate(graph.counted)]
        self.nodes = [_Node(v, [buffers[t] for t in made]) for v, made in enumerate(graph.made)]
        following: list[list[_Node]] = [[] for _ in self.nodes]
        for v, earlier in enumerate(graph.predecessors):
            for u in earlier:
                following[u].append(self.nodes[v])
        reads: list[list[_Buffer]] = [[] for _ in self.nodes]
        for t, readers in enumerate(graph.readers):
            buffers[t].mpi_buffer.succ_nodes = [self.nodes[v] for v in readers]
            for v in readers:
                reads[v].append(buffers[t])
        for v, node in enumerate(self.nodes):
            before = [self.nodes[u] for u in graph.predecessors[v]]
            node.mpi_node = SimpleNamespace(
                index=v,
                size=sum(graph.counted[t] for t in graph.made[v]),
                pred_buffers=reads[v],
                pred_nodes=before,
                succ_nodes=following[v],
            )
            node.unmet_dependencies = [SimpleNamespace(name=other.get_buffer_names()[0]) for other in before]
        kept = set(graph.kept)
        self.made = {buffers[t].name: buffers[t] for t, maker in enumerate(graph.maker) if maker is not None}
        self.given = {
            buffers[t].name: buffers[t]
            for t, maker in enumerate(graph.maker)
            if maker is None and (graph.readers[t] or t in kept)
        }


def _numbers(nodes: Sequence[Any]) -> list[int]:
    return [node.number for node in nodes]
