"""Workspaces for regions that are large enough for everything that runs inside an operation."""

from __future__ import annotations

from memplan.extensions.networks.lifetimes.ordered import problem_of_order
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.graph_variants import replace_fields
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.solvers.portfolio.solve import solve

_SECONDS = 0.25
"""The counted seconds for planning one operation's regions."""


def add_region_room(graph: OperationGraph, *, alignment: int) -> OperationGraph:
    """Return a graph with workspaces that can hold everything its operations' regions count.

    An operation's work is a number of bytes, some of which regions may find in tensors that they read or make: a
    workspace of so many bytes next to each other may be too small for them.
    """
    if not any(row.regions for row in graph.ops):
        return graph
    inside: dict[str, list[Buffer]] = {}
    for each in problem_of_order(graph, range(len(graph.ops)), alignment=alignment).buffers:
        operation, slash, _ = str(each.id).partition("/")
        if slash:
            inside.setdefault(operation, []).append(each)
    rows = []
    for k, row in enumerate(graph.ops):
        buffers = inside.get(f"operation_{k}")
        need = solve(Problem(buffers=buffers), time_limit_s=_SECONDS, deterministic=True).peak if buffers else 0
        rows.append(row.model_copy(update={"work": max(row.work, need or 0)}))
    return replace_fields(graph, ops=tuple(rows))
