"""The frontier of time and peak with a link: each point is replayed, planned, and run on its addresses."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.capabilities.inputs import PlanAndProblem
from memplan.capabilities.order.answer import OrderAnswer, RecomputedPoint, TimedStep
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.order.room_inside import with_room_inside
from memplan.capabilities.order.search.solve import bound_unsearched
from memplan.planner.errors import InvalidPlanError, OperationsError
from memplan.planner.model.problem import Problem
from memplan.planner.operations.costs import costs_of
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.graph_variants import replaced
from memplan.planner.operations.order_check import bytes_after
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from memplan_recompute.away import Away
from memplan_recompute.frontier import undominated
from memplan_recompute.offload.bound import LinkedBound
from memplan_recompute.offload.replay import Replayed, check_on_addresses, replayed
from memplan_recompute.offload.schedule import Runs
from memplan_recompute.offload.search import AwaySearch
from memplan_recompute.offload.steps import Step, linked, runs_of
from memplan_recompute.search import peak_steps
from memplan_recompute.snapshots import LARGEST

WORK_PER_S = 2_000_000
_SEARCH_SHARE = 0.6
_ROUNDS = 500
"""So often other stays are chosen for one sequence and limit."""
_PLAN_S, _LOWER = 0.25, 3
"""The time of a plan at least, and so often a lower limit is tried where plans are above the one that is given."""


def with_link(graph: OperationGraph, options: OrderOptions, alone: OrderAnswer, control: Control) -> OrderAnswer:
    """Return the answer without a link with the points that a link adds, and bounds that hold for both."""
    recomputed = alone.recomputed
    if recomputed is None or not recomputed.points:
        return alone
    search = _Search(alone.ordered or graph, options, recomputed.points, control)
    points = search.points()
    last, bound = points[-1], search.least(options.within)
    is_within = options.within is None or last.peak <= options.within
    changes = {
        "extra_cost": last.extra_cost,
        "bound_operation": None,
        "extra_cost_lower_bound": last.extra_cost_lower_bound if options.within is None else bound or 0,
        "is_within": is_within,
        "has_none": options.within is not None and bound is None,
        "points": tuple(points),
    }
    answer = OrderAnswer.of_order(
        graph,
        points[0].order,
        last.peak,
        last.lower_bound,
        alone.given_peak,
        ordered=alone.ordered,
        regions=alone.regions,
        wall_time_s=control.wall_time_s,
        recomputed=recomputed.model_copy(update=changes),
    )
    of_point = {"order": last.order, "moves": None, "written_over": (), "sources": ()}
    return answer.model_copy(update={**of_point, "placed_peak": last.peak, "placed_status": last.status})


class _Search:
    """The search for points of a graph with a link, from those without."""

    def __init__(
        self, graph: OperationGraph, options: OrderOptions, points: Sequence[RecomputedPoint], control: Control
    ) -> None:
        self.graph, self.options, self.control, self.known = graph, options, control, list(points)
        costs = costs_of(graph)
        self.once = sum(costs)
        self.most = None if options.extra_cost is None else int(options.extra_cost * self.once)
        self.floor = max(bound_unsearched(graph)[0], bytes_after(graph, range(len(graph.ops))))
        away = Away(graph, costs) if len(graph.ops) <= LARGEST else None
        self.bound = None if away is None else LinkedBound(linked(graph, costs, options.link), away)
        # What is inside of operations has one workspace, and runs once.
        roomy = with_room_inside(graph, alignment=1)
        ops = (row.model_copy(update={"regions": (), "once": row.once or bool(row.regions)}) for row in roomy.ops)
        self.program = linked(replaced(roomy, ops=tuple(ops)), costs, options.link)
        self.sequences = [Runs(self.program, point.order) for point in sorted(points, key=lambda row: row.extra_cost)]

    def points(self) -> list[RecomputedPoint]:
        """Return the points with and without transfers that no other one beats."""
        within, points = self.options.within, list(self.known)
        if within is not None:
            points += self._within(within)
        else:
            first = points[0].live_peak
            limits = {*peak_steps(first, self.floor, self.options.points), *(row.live_peak for row in points[1:])}
            points += self._down_to(sorted(limits, reverse=True))
        rows = undominated(points, self.options, self.most)
        # The checker of what one operation proves knows no link.
        return [
            row.model_copy(update={"extra_cost_lower_bound": self.least(row.peak) or 0, "bound_operation": None})
            for row in rows
        ]

    def least(self, limit: int | None) -> int | None:
        """Return what no program within a limit takes beyond running each operation once; None where there is none."""
        if limit is None or self.bound is None:
            return 0
        return None if limit < self.floor else self.bound.least(limit)

    def _within(self, within: int) -> list[RecomputedPoint]:
        """Return points within a limit; of lower ones, where their plans are above it."""
        points, limit = list[RecomputedPoint](), within
        for k in range(_LOWER):
            found = self._steps(limit, self.control.child(_SEARCH_SHARE))
            if found is None or (k and self.control.is_over):
                break
            points.append(self._point(found))
            if points[-1].peak <= within:
                break
            limit = min(limit - 1, within * points[-1].live_peak // points[-1].peak)
        return points

    def _down_to(self, limits: Sequence[int]) -> list[RecomputedPoint]:
        """Return points for falling limits, until none is found within one."""
        found = []
        for k, limit in enumerate(limits):
            share = _SEARCH_SHARE / (len(limits) if self.control.counts_work else len(limits) - k)
            steps = self._steps(limit, self.control.child(share))
            if steps is None or (self.control.is_over and not self.control.counts_work):
                break
            found.append(steps)
        return [self._point(steps) for steps in found]

    def _steps(self, limit: int, control: Control) -> tuple[Step, ...] | None:
        """Return the steps within a limit that take the least time of those that were found."""
        best, least = None, None
        if limit < self.floor:
            return None
        with control.watched(WORK_PER_S) as watched:
            for runs in self.sequences:
                if least is not None and sum(runs.cost) >= least:
                    break
                search = AwaySearch(runs, limit, watched)
                chosen = search.first()
                if chosen is not None:
                    chosen = search.improved(chosen, _ROUNDS)
                    time = runs.time(chosen)
                    if least is None or time < least:
                        best, least = runs.steps(chosen), time
        return best

    def _point(self, steps: Sequence[Step]) -> RecomputedPoint:
        """Replay a program, plan it, and run it on its addresses."""
        found = replayed(self.program, steps)
        ran: set[int] = set()
        clones, order = [], runs_of(steps)
        for v in order:
            if v in ran:
                clones.append(v)
            ran.add(v)
        placed = self._placed(steps, found)
        peak = placed.plan.peak or 0
        return RecomputedPoint(
            peak=peak,
            live_peak=found.peak,
            lower_bound=self.floor,
            status="optimal" if peak == self.floor else "feasible",
            extra_cost=found.time - self.once,
            clones=tuple(clones),
            order=order,
            steps=tuple(TimedStep(**step._asdict()) for step in steps),
            planned=placed if self.options.with_plan else None,
            placed=placed,
        )

    def _placed(self, steps: Sequence[Step], found: Replayed) -> PlanAndProblem:
        """Plan the copies of tensors and the work of runs; the time steps of the problem are those of the program."""
        graph = self.program.graph
        rows = []
        for c, (copy, (first, last)) in enumerate(zip(found.copies, found.alive, strict=True)):
            if graph.counted[copy.tensor] and steps:
                rows.append({"id": f"copy_{c}", "start": first, "end": last + 1, "size": graph.counted[copy.tensor]})
        for k, step in enumerate(steps):
            if step.kind == "run" and graph.ops[step.what].work > 0:
                size = graph.ops[step.what].work
                rows.append({"id": f"work_{k}", "start": k, "end": found.runs_until[k] + 1, "size": size})
        problem = Problem.model_validate({"buffers": rows})
        deterministic, cancelled = self.control.counts_work, Control(cancelled=self.control.cancelled)
        limit_s = max(_PLAN_S, self.control.left_s / (4 + self.options.points))
        plan = solve(problem, time_limit_s=limit_s, deterministic=deterministic, control=cancelled)
        if plan.peak is None:
            plan = solve(problem, time_limit_s=_PLAN_S, deterministic=deterministic)
        at = {row.id: row.offset for row in plan.placements}
        offsets = [at.get(f"copy_{c}", -1) for c in range(len(found.copies))]
        works = {k: at[f"work_{k}"] for k in range(len(steps)) if f"work_{k}" in at}
        try:
            check_on_addresses(self.program, steps, found.copies, offsets, works)
        except OperationsError as error:
            raise InvalidPlanError(f"program: {error}") from error
        return PlanAndProblem(problem=problem, plan=plan)
