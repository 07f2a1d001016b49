"""The search for an order of operations whose buffers move at the least cost."""

from collections.abc import Callable, Sequence
from math import inf
from random import Random

from memplan.planner.model.moving import moving_buffers
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import MovedOrder, OrderAnswer
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.moves.capacities import capacities
from memplan.solvers.moves.greedy import greedy_pieces
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_TRIES = 4
"""The number of places that are tried for each operation without an improvement before the search ends."""
_PLAN_SHARE, _MOVE_SHARE = 0.35, 0.4
"""The parts of the time for the plan of each given order, and of the time that is left for moving operations."""


def order_for_moves(
    answer: OrderAnswer, pose: Callable[[Sequence[int]], Problem], control: Control, seed: int = 0
) -> OrderAnswer:
    """Return the answer with the cheapest plan found of its order, of the given order, or of orders near these.

    `pose` maps an order to a problem with moves. Operations are moved one by one, which the baseline for moves judges.
    The plan costs no more than the one found for the given order.
    """
    graph = answer.ordered
    assert graph is not None, "an order that was found here has its graph"
    found = []
    for order in dict.fromkeys((tuple(range(len(graph.ops))), answer.order)):
        problem = pose(order)
        found.append((order, problem, _plan(problem, control, _PLAN_SHARE)))
    order, problem, plan = min(found, key=lambda each: _cost(each[2]))
    near = _improved_order(graph, order, pose, control.child(_MOVE_SHARE), Random(seed))
    if near != order and not control.is_over:
        tried = pose(near)
        order, problem, plan = min(
            (order, problem, plan), (near, tried, _plan(tried, control, 1.0)), key=lambda each: _cost(each[2])
        )
    moved = MovedOrder.from_fields(plan, given_cost=found[0][2].cost)
    return answer.in_order(order, peak_of(graph, order), placed=PlanAndProblem(problem=problem, plan=plan), moved=moved)


def _plan(problem: Problem, control: Control, share: float) -> Plan:
    limited = control.limit_to(max(0.05, control.remaining_s * share))
    return solve(problem, time_limit_s=limited.remaining_s, control=limited.solve_control())


def _cost(plan: Plan) -> float:
    return inf if plan.cost is None else plan.cost


def _baseline_cost(problem: Problem) -> float:
    rows = moving_buffers(problem)
    found = greedy_pieces(problem, rows, capacities(problem, rows))
    return inf if found is None else found.cost


def _improved_order(
    graph: OperationGraph,
    order: tuple[int, ...],
    pose: Callable[[Sequence[int]], Problem],
    control: Control,
    rng: Random,
) -> tuple[int, ...]:
    """Return an order that costs the baseline less, after moving operations as long as there is time."""
    followers: list[list[int]] = [[] for _ in graph.ops]
    for operation, before in enumerate(graph.predecessors):
        for each in before:
            followers[each].append(operation)
    least = _baseline_cost(pose(order)) if len(order) > 1 else 0.0
    untried = list[int]()
    tried = 0
    while least > 0 and tried < _TRIES * len(order) and not control.is_over:
        untried = untried or rng.sample(order, len(order))
        operation, tried = untried.pop(), tried + 1
        at = {each: k for k, each in enumerate(order)}
        first = max((at[each] + 1 for each in graph.predecessors[operation]), default=0)
        last = min((at[each] - 1 for each in followers[operation]), default=len(order) - 1)
        place = rng.choice((first, last, rng.randint(first, last)))
        rest = [each for each in order if each != operation]
        moved = (*rest[:place], operation, *rest[place:])
        if moved != order and (cost := _baseline_cost(pose(moved))) < least:
            least, order, tried = cost, moved, 0
    return order
