"""Orders by constraint programming: a place for each operation, an interval for each tensor, one cumulative peak."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.operations.graph import OperationGraph


def places(graph: OperationGraph, time_limit_s: float) -> Sequence[int] | None:
    """Return the best order that CP-SAT finds with one worker, begun from the given one; None where it finds none."""
    from ortools.sat.python import cp_model

    n, size, kept = len(graph.ops), graph.counted, set(graph.kept)
    if n == 0:
        return ()
    model = cp_model.CpModel()
    at = [model.new_int_var(0, n - 1, f"at{v}") for v in range(n)]
    model.add_all_different(at)
    for v, earlier in enumerate(graph.predecessors):
        for u in earlier:
            model.add(at[u] < at[v])
        model.add_hint(at[v], v)
    peak = model.new_int_var(0, sum(size) + max(row.work for row in graph.ops), "peak")
    intervals, demands = [], []
    for t, (maker, readers) in enumerate(zip(graph.maker, graph.readers, strict=True)):
        if size[t] == 0 or (maker is None and not readers and t not in kept):
            continue
        start = 0 if maker is None else at[maker]
        end = model.new_int_var(1, n, "")
        if t in kept:
            model.add(end == n)
        else:
            model.add_max_equality(end, [at[v] + 1 for v in (*readers, *([] if maker is None else [maker]))])
        length = model.new_int_var(1, n, "")
        intervals.append(model.new_interval_var(start, length, end, ""))
        demands.append(size[t])
    for v, row in enumerate(graph.ops):
        if row.work:
            intervals.append(model.new_fixed_size_interval_var(at[v], 1, ""))
            demands.append(row.work)
    model.add_cumulative(intervals, demands, peak)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return sorted(range(n), key=lambda v: int(solver.value(at[v])))
