"""The workspaces of operations with regions, enlarged so that all tensors inside the regions fit into them."""

from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields
from memplan.solvers.portfolio.solve import solve

_SECONDS = 0.25
"""The time limit for planning the regions of one operation, in seconds of counted work."""


def enlarge_workspaces_for_regions(graph: OperationGraph, *, alignment: int) -> OperationGraph:
    """Return a graph whose workspaces have room for all tensors that regions count.

    The `work` of an operation is a number of live bytes, without the tensors that its regions count. So the buffers
    inside the regions may not fit into a contiguous workspace of that size.
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
