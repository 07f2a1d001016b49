"""The Pareto frontier of time and peak for programs with a link; all programs are replayed, planned and executed."""

import random
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from memplan.extensions.recompute.again import may_run_again
from memplan.extensions.recompute.away import RemovalBounds, peak_lower_bound
from memplan.extensions.recompute.limits import drop_dominated
from memplan.extensions.recompute.offload.bound import LinkedBound
from memplan.extensions.recompute.offload.exact import MOST_STATES, can_search, search_all
from memplan.extensions.recompute.offload.planned import point_of
from memplan.extensions.recompute.offload.replay import replay_steps
from memplan.extensions.recompute.offload.schedule import MOST_TIME, Effort, Runs, TransferChoice
from memplan.extensions.recompute.offload.steps import Step, link_graph
from memplan.extensions.recompute.search import peak_steps
from memplan.extensions.recompute.snapshots import LARGEST
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields
from memplan.programs.operations.order_check import bytes_after
from memplan.programs.order.answer import OrderAnswer, RecomputedPoint
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.room_inside import enlarge_workspaces_for_regions
from memplan.solvers.search.control import Control

WORK_PER_S = 400_000_000
_SEARCH_SHARE = 0.6
_WORK = 10_000_000
"""The work units of the first search from a sequence of runs; each further search gets twice as many."""
_CHANGES = 64
"""The number of changes of a sequence that are tried with each search; all changes share the work equally."""
_IDLE = 6
"""The number of searches from a sequence without an improvement, after which the sequence is abandoned."""
_STATES_OF_A_POINT = 20_000
"""The maximum number of states to search for each point if no limit is given."""
_LOWER, _MARGIN = 6, 0.005
"""The maximum number of lower limits to try if plans exceed the given limit, and the margin that each one adds."""
_SENT_S = 3e-4
"""The minimum time per operation, in seconds, for trying offloads: steps must be written, planned and replayed."""
_SEQUENCES = 32
"""The approximate number of sequences to try from the search without a link."""
_IMPROVED = 4
"""The number of fastest sequences for which the search tries other offloaded tensors."""


def add_link_points(
    graph: OperationGraph,
    options: OrderOptions,
    alone: OrderAnswer,
    sequences: Sequence[Sequence[int]],
    control: Control,
) -> OrderAnswer:
    """Return the answer `alone`, found without a link, extended by points with transfers and by bounds for all points.

    The search starts from the points without a link, and from the given sequences of runs.
    """
    recomputed = alone.recomputed
    if recomputed is None or not recomputed.points:
        return alone
    search = _Search(alone.ordered or graph, options, recomputed.points, control, sequences)
    points = search.points()
    last, bound = points[-1], search.time_bound(options.limit)
    is_within = options.limit is None or last.peak <= options.limit
    changes = {
        "extra_cost": last.extra_cost,
        "bound_operation": None,
        "extra_cost_lower_bound": last.extra_cost_lower_bound if options.limit is None else bound or 0,
        "is_within": is_within,
        "has_none": options.limit is not None and bound is None,
        "points": tuple(points),
    }
    answer = OrderAnswer.from_order(
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


class _Attempt(NamedTuple):
    """A sequence of runs, and one choice of the tensors that are offloaded while the sequence runs."""

    runs: Runs
    chosen: TransferChoice

    @property
    def time(self) -> int:
        """The time at which the sequence ends, including its transfers."""
        return self.chosen.time


class _Search:
    """The search for a graph's points (planned programs) with transfers, from its points without transfers."""

    def __init__(
        self,
        graph: OperationGraph,
        options: OrderOptions,
        points: Sequence[RecomputedPoint],
        control: Control,
        sequences: Sequence[Sequence[int]] = (),
    ) -> None:
        """Prepare a search that starts from points without a link and from other sequences of runs."""
        self.graph, self.options, self.control, self.known = graph, options, control, list(points)
        costs = costs_of(graph)
        self.once = sum(costs)
        self.most = None if options.extra_cost is None else int(options.extra_cost * self.once)
        self.floor = max(peak_lower_bound(graph), bytes_after(graph, range(len(graph.ops))))
        away = RemovalBounds(graph, costs) if len(graph.ops) <= LARGEST else None
        self.bound = None if away is None else LinkedBound(link_graph(graph, costs, options.link), away)
        # The search for transfers ignores regions, so an operation with regions runs once, with one workspace.
        roomy = enlarge_workspaces_for_regions(graph, alignment=1)
        ops = (row.model_copy(update={"regions": (), "once": row.once or bool(row.regions)}) for row in roomy.ops)
        self.program = link_graph(replace_fields(roomy, ops=tuple(ops)), costs, options.link)
        self.again = may_run_again(self.program.graph)
        # Without a limit, many points share the time, so search fewer states for each point.
        self.states = MOST_STATES if options.limit is not None else _STATES_OF_A_POINT
        self.bounds: dict[int, int | None] = {}
        self.orders = {tuple(order) for order in (*(row.order for row in points), *sequences)}

    @cached_property
    def sequences(self) -> list[Runs]:
        """The sequences of runs from which the search starts, in ascending order of cost."""
        timed = sorted((sum(self.program.costs[v] for v in order), order) for order in self.orders)
        rows = [order for time, order in timed if time <= MOST_TIME]
        return [Runs(self.program, order) for order in rows[:: 1 + len(rows) // _SEQUENCES]]

    def points(self) -> list[RecomputedPoint]:
        """Return all undominated points, with and without transfers."""
        within, points = self.options.limit, list(self.known)
        is_late = not self.control.counts_work and self.control.remaining_s < _SENT_S * len(self.graph.ops)
        if within is not None:
            points += [] if is_late else self._points_within(within)
        elif not is_late:
            first = points[0].live_peak
            more = max(1, self.options.points + 1 - len(points))
            limits = {*peak_steps(first, self.floor, more), *(row.live_peak for row in points[1:])}
            points += self._points_by_limits(sorted(limits, reverse=True))
        rows = drop_dominated(points, self.options, self.most)
        # Checkers of bound proofs do not support links, so the points name no operation that proves their bound.
        return [
            row.model_copy(update={"extra_cost_lower_bound": self.time_bound(row.peak) or 0, "bound_operation": None})
            for row in rows
        ]

    def time_bound(self, limit: int | None) -> int | None:
        """Return a lower bound on the extra time of programs within a limit; None if no program is within it."""
        if limit is None:
            return 0
        most: int | None = 0 if self.bound is None else self.bound.time_bound(limit)
        for at, bound in self.bounds.items():
            # Programs within a smaller limit are also within a larger one, so bounds for larger limits hold as well.
            if limit <= at and most is not None:
                most = None if bound is None else max(most, bound)
        return None if limit < self.floor else most

    def _points_within(self, within: int) -> list[RecomputedPoint]:
        """Return points (planned programs) for a limit; while plans exceed it, plan programs of lower live peaks."""
        points, limit = list[RecomputedPoint](), within
        for k in range(_LOWER):
            # If work is counted, all searches must fit into the work limit, so halve the share from search to search.
            found = self._fastest_steps(
                limit, self.control.child(_SEARCH_SHARE / (1 << k if self.control.counts_work else 1))
            )
            if found is None or (k and self.control.is_over):
                break
            points += self._plan_programs([found])
            if points[-1].peak <= within:
                break
            aim = within * points[-1].live_peak / points[-1].peak
            limit = min(limit - 1, int(aim * (1 - k * _MARGIN)))
        return points

    def _points_by_limits(self, limits: Sequence[int]) -> list[RecomputedPoint]:
        """Return the fastest program found within each limit, as a point; `limits` are in bytes and fall."""
        found = []
        # The time may not suffice for all limits, so begin with limits from the whole range.
        limits = [*limits[3::4], *limits[1::4], *limits[::2]]
        for k, limit in enumerate(limits):
            if k and self.control.is_over:
                break
            share = _SEARCH_SHARE / (len(limits) if self.control.counts_work else len(limits) - k)
            steps = self._fastest_steps(limit, self.control.child(share))
            if steps is not None:
                found.append(steps)
        return self._plan_programs(found)

    def _plan_programs(self, programs: Sequence[tuple[Step, ...]]) -> list[RecomputedPoint]:
        points = []
        for k, steps in enumerate(programs):
            if k and self.control.is_over:
                break
            share = self.control.child(0.5 / (len(programs) if self.control.counts_work else len(programs) - k))
            point = point_of(self.program, steps, self.floor, share)
            points.append(point.model_copy(update={"planned": point.placed} if self.options.with_plan else {}))
        return points

    def _fastest_steps(self, limit: int, control: Control) -> tuple[Step, ...] | None:
        """Return the fastest program found within `limit` bytes; None unless it is faster than the known ones."""
        known = min((row.extra_cost for row in self.known if row.live_peak <= limit), default=None)
        least = None if known is None else self.once + known
        goal = self.time_bound(limit)
        if goal is None or known == goal:
            return None
        best: tuple[Step, ...] | None = None
        with control.search_control(WORK_PER_S) as watched:
            tries = self._offload_attempts(limit, least, watched)
            if tries and (least is None or tries[0].time < least):
                best, least = tries[0].runs.steps_of_choice(tries[0].chosen), tries[0].time
            is_settled = least == self.once + goal
            if not is_settled and can_search(self.program):
                found, is_settled = self._search_fastest(limit, least, watched)
                best = found or best
                least = least if found is None else replay_steps(self.program, found).time
            if is_settled:
                return best
            better = self._improve_choices(tries, limit, self.once + goal, watched)
            if better is not None and (least is None or better.time < least):
                best = better.runs.steps_of_choice(better.chosen)
        return best

    def _offload_attempts(self, limit: int, least: int | None, control: Control) -> list[_Attempt]:
        """Choose tensors to offload for each sequence that may be fastest; return all choices, fastest first."""
        tries = list[_Attempt]()
        # The sequence without clones and sequences of peaks near the limit are most promising, so try them first.
        above = [runs for runs in self.sequences if runs.peak > limit]
        for runs in above[:1] + above[:0:-1]:
            if least is None or runs.time < least:
                chosen = runs.choose_within(limit, control)
                if chosen is not None:
                    tries.append(_Attempt(runs, chosen))
                    # A sequence that takes longer than `least` without transfers cannot win, so update `least`.
                    least = chosen.time if least is None else min(least, chosen.time)
        return sorted(tries, key=lambda row: row.time)

    def _improve_choices(self, tries: Sequence[_Attempt], limit: int, goal: int, control: Control) -> _Attempt | None:
        """Improve choices of offloaded tensors in rounds, each with fewer choices and more effort; return the best."""
        tries, idle, effort = [*tries[:_IMPROVED]], 0, Effort(limit, goal, 1, _WORK)
        while tries and idle < _IDLE and tries[0].time > goal and not control.is_over:
            before = tries[0].time
            tries = [_Attempt(runs, runs.improve_choice(chosen, effort, control)) for runs, chosen in tries]
            tries.sort(key=lambda row: row.time)
            tries[0] = self._change_choice(tries[0], effort, control)
            idle = 0 if len(tries) > 1 or tries[0].time < before else idle + 1
            tries = tries[: (len(tries) + 1) // 2]
            effort = effort._replace(seed=effort.seed + 1, work=2 * effort.work)
        return tries[0] if tries else None

    def _change_choice(self, best: _Attempt, effort: Effort, control: Control) -> _Attempt:
        """Return the fastest choice after random changes: recompute a fetched tensor, or remove a clone."""
        draw, effort = random.Random(effort.seed), effort._replace(work=effort.work // _CHANGES)
        for _ in range(_CHANGES):
            if control.is_over or best.time <= effort.goal:
                break
            sequence = best.runs.change_runs(best.chosen, self.again, draw)
            runs = None if sequence is None else Runs(self.program, sequence)
            chosen = None if runs is None or runs.time >= best.time else runs.choose_within(effort.limit, control)
            if runs is not None and chosen is not None:
                chosen = runs.improve_choice(chosen, effort, control)
                if chosen.time <= best.time:
                    best = _Attempt(runs, chosen)
        return best

    def _search_fastest(self, limit: int, time: int | None, control: Control) -> tuple[tuple[Step, ...] | None, bool]:
        """Search all programs of a small graph; return the fastest one within `limit`, and whether that is proved.

        The steps are None unless they take less than `time`. The search also records the proved bound on the time.
        """
        found = search_all(self.program, limit, None if time is None else time - 1, control, self.states)
        if found.bound is None:
            self.bounds[limit] = None if time is None else time - self.once
        else:
            self.bounds[limit] = (found.bound if time is None else min(found.bound, time)) - self.once
        if found.steps is None:
            return None, found.bound is None or (time is not None and found.bound >= time)
        # The search counts only one copy of a tensor that is recomputed while being sent, so replay the steps.
        is_within = replay_steps(self.program, found.steps).peak <= limit
        return found.steps if is_within else None, is_within
