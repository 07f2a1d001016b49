"""The choice of alternatives: orders are found with those of least work, then cheaper ones that fit are chosen.

The workspace of an operation counts only while the operation runs, so other alternatives cannot lower an order's peak.
"""

from collections.abc import Sequence

from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import fix_alternatives, replace_fields
from memplan.programs.operations.order_check import live_bytes_by_operation, peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_PLAN_S = 1.0
Ways = tuple[int, ...]


def alternatives_of_least_work(graph: OperationGraph) -> Ways:
    """Return, for each operation, the number of its alternative with the least work; ties go to the least cost."""
    return _cheapest_ways(graph, [min(work for work, _ in row) for row in _work_and_cost(graph)])


def choose_cheapest_ways(
    graph: OperationGraph, found: OrderAnswer, ways: Ways, alignment: int, control: Control
) -> OrderAnswer:
    """Return `found` with the cheapest alternatives that do not raise the live peak.

    If they raise the plan's peak, the answer has the alternatives `ways`: those with the least work (extra bytes while
    an operation runs), for which `found` is the best order.
    """
    ordered, given_peak = found.ordered or graph, peak_of(graph, range(len(graph.ops)))
    changes = {"alternatives": ways, "given_peak": given_peak, "saved_bytes": given_peak - found.peak, "graph": graph}
    room = dict(zip(found.order, live_bytes_by_operation(ordered, found.order), strict=True))
    cheapest = _cheapest_ways(graph, [found.peak - room[v] + row.work for v, row in enumerate(ordered.ops)])
    if cheapest == ways:
        return found.model_copy(update=changes)
    rows = zip(fix_alternatives(graph, cheapest).ops, ordered.ops, graph.ops, strict=True)
    taken = replace_fields(ordered, ops=tuple(new if own.alternatives else row for new, row, own in rows))
    problem = problem_of_order(taken, found.order, alignment=alignment)
    limit_s = max(0.05, min(_PLAN_S, control.remaining_s))
    plan = solve(problem, time_limit_s=limit_s, deterministic=control.counts_work)
    if plan.peak is None or found.placed_peak is None or plan.peak > found.placed_peak:
        return found.model_copy(update=changes)
    placed = {"placed": PlanAndProblem(problem=problem, plan=plan), "ordered": taken, "placed_peak": plan.peak}
    return found.model_copy(update=changes | placed | {"alternatives": cheapest})


def _work_and_cost(graph: OperationGraph) -> list[list[tuple[int, int]]]:
    costs = costs_of(graph)
    return [
        [(row.work, cost), *((other.work, cost if other.cost is None else other.cost) for other in row.alternatives)]
        for row, cost in zip(graph.ops, costs, strict=True)
    ]


def _cheapest_ways(graph: OperationGraph, room: Sequence[int]) -> Ways:
    ways = []
    for row, most in zip(_work_and_cost(graph), room, strict=True):
        fitting = (((cost, work), k) for k, (work, cost) in enumerate(row) if work <= most)
        ways.append(min(fitting)[1] if len(row) > 1 else 0)
    return tuple(ways)
