"""The question that a model file states: minimize the peak or the cost, within the limits of a quickly found plan."""

from math import inf

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.instance import I64_MAX, PLAIN, Instance
from memplan.solvers.exact import branch_and_bound
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.program import MipQuestion
from memplan.solvers.mip.stages import sensible_limits
from memplan.solvers.search.incumbent import Search

_PLAN_WORK = 50_000
"""The work for the quick plan whose peak limits the big-M, about 50 ms."""


def minimisation_of(instance: Instance) -> tuple[Boxes, MipQuestion]:
    """Return an instance's boxes and the question that minimizes the first entry of its score (cost or last end)."""
    limits = sensible_limits(instance, None)
    floors = [0] * len(limits)
    if instance.objective == "cost":
        question = MipQuestion(tuple(limits), tuple(floors), ("cost",), (0, Costs.from_instance(instance).max_steps))
        return Boxes(instance, question.limit), question
    last = len(limits) - 1
    # A lower limit reduces the big-M of each pair, which strengthens the relaxation, so lower it to a known peak.
    limits[last] = min(limits[last], _quick_peak(instance))
    floors[last] = min(limits[last], int(lower_bound(instance).score[0]))
    question = MipQuestion(tuple(limits), tuple(floors), ("peak", last))
    return Boxes(instance, question.limit), question


def _quick_peak(instance: Instance) -> int:
    search = Search(instance, deadline=inf, deterministic=True, work_limit=_PLAN_WORK)
    greedy.solve(instance, search)
    if instance.features <= frozenset(PLAIN) - {"pools", "cost"}:
        branch_and_bound.solve(instance, search)
    local_search.solve(instance, search)
    return I64_MAX if search.best is None else int(search.best.score[0])
