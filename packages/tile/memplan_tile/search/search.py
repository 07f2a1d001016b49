"""Schedules of a graph on a target: searched, simulated, placed, and compared with the estimates of the search.

The search starts by windows, takes the whole graph at once while that is small, and then looks for better windows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from memplan.capabilities.schedule.form import (
    EPSILON,
    Control,
    Objective,
    Proof,
    ScheduleAnswer,
    ScheduleSlot,
    Target,
    placed,
    point_of,
    slots_of,
)
from memplan.planner.errors import InvalidPlanError, ProblemError
from memplan_tile.graph import ScheduleStep, TileGraph
from memplan_tile.search.costs import StepCosts
from memplan_tile.search.downsets import Bounds, Found, PlannedStep, ScheduleEffort, StepWindow
from memplan_tile.search.exhaustion import MOST_OPERATIONS, exhausted
from memplan_tile.search.frontier import front_of, least_peak
from memplan_tile.search.ground import Ground
from memplan_tile.search.groups import grown
from memplan_tile.search.improvement import Improvement, rebuilt
from memplan_tile.search.nests import bits
from memplan_tile.simulator import Simulation, simulate

_SMALL = 10
"""The most operations of a graph that is searched as a whole from the beginning."""
_FIRST = Bounds(groups=3000, longest=6, beam=60)
_WHOLE = Bounds(groups=6200, longest=99, beam=5000, retained=3)
_PASSES = (
    Bounds(groups=1000, longest=3, beam=30),
    Bounds(groups=3000, longest=6, beam=60),
    Bounds(groups=6200, longest=9, beam=200),
    Bounds(groups=6200, longest=13, beam=600),
    _WHOLE,
)
"""Passes over the whole graph, the last may be complete."""
_START, _AT_ONCE, _QUICK, _PASSING, _PASS = 0.1, 0.12, 0.2, 0.3, 0.45
"""The shares of the effort by which the start and first improvements end, no pass begins, and a pass has to end."""
_MOST_GROUPS = 6000


def in_order(graph: TileGraph, order: Sequence[int]) -> TileGraph:
    """Return the graph with its operations in the given order."""
    return replace(graph, operations=tuple(graph.operations[o] for o in order))


def depth_first(graph: TileGraph, rng: random.Random | None = None) -> list[int]:
    """Return the operations depth first from the outputs back, so that those of one operand are adjacent."""
    order: dict[int, None] = {}
    roots = [o for o, one in enumerate(graph.operations) if one.output not in graph.readers]
    if rng is not None:
        rng.shuffle(roots)
    waiting = [(o, False) for o in reversed(roots)]
    while waiting:
        o, is_ready = waiting.pop()
        if o in order:
            continue
        if is_ready:
            order[o] = None
            continue
        before = sorted(graph.predecessors[o])
        if rng is not None:
            rng.shuffle(before)
        waiting.append((o, True))
        waiting += [(each, False) for each in reversed(before) if each not in order]
    return list(order)


class ScheduleSearch:
    """The search for a schedule: starting schedules, passes over the whole graph, and improvements in windows."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.effort = ground, ground.effort

    def run(self) -> Found:
        """Return the best schedule within the effort; raises ProblemError if an operation fits with no tiling."""
        ground, best = self.ground, self._start()
        ground.report(best.value)
        is_small = len(ground.graph.operations) <= _SMALL
        if ground.wants_more(best) and not is_small:
            best = Improvement(ground, best).run(_AT_ONCE)
        if ground.wants_more(best) and not is_small:
            best = self._passed(best, _PASSES[0], 1.0)
        if ground.wants_more(best) and not is_small:
            best = Improvement(ground, best).run(_QUICK)
        for bounds in (_WHOLE,) if is_small else _PASSES[1:]:
            if not ground.wants_more(best) or self.effort.is_over(_PASSING):
                break
            relations, every = self.ground.relations, self.ground.all
            if bounds.longest > 6 and len(grown(relations, every, _MOST_GROUPS, bounds.longest)[0]) >= _MOST_GROUPS:
                break
            best = self._passed(best, bounds, _PASS)
        if ground.wants_more(best):
            best = Improvement(ground, best).run(1.0)
        proof: Proof | None = "bound" if best.value <= ground.lower_bound + EPSILON else None
        if proof is None and len(ground.graph.operations) <= MOST_OPERATIONS:
            least = exhausted(ground, best)
            proof = "exhaustion" if least.is_complete else None
            best = replace(least, is_complete=least.is_complete or (best.is_complete and best.steps == least.steps))
        return replace(best, proof=proof, is_complete=proof is not None or best.is_complete)

    def _start(self) -> Found:
        """Return the best starting schedule: windows along depth-first orders, and single operations."""
        ground = self.ground
        best = self._first()
        orders = [list(range(len(ground.graph.operations))), depth_first(ground.graph, ground.rng)]
        for length in (4, 6):
            for order in orders:
                if self.effort.is_over(_START):
                    return best
                chunks = [order[i : i + length] for i in range(0, len(order), length)]
                steps = [self._chunk(sum(1 << o for o in chunk)) for chunk in chunks]
                rows = [step for part in steps for step in part or ()]
                if None not in steps and (value := ground.value(rows)) < best.value:
                    best = Found(value, rows, False)
        return best

    def _first(self) -> Found:
        """Return a schedule of single operations, or of larger steps if some operations do not fit alone."""
        ground = self.ground
        steps = ground.alone(ground.all)
        if steps is not None:
            return Found(ground.value(steps), steps, False)
        first_steps = ground.window(StepWindow(ground.all), _FIRST, float("inf"), 1.0, set())
        if first_steps is None:
            stuck = next(o for o in bits(ground.all) if ground.alone(1 << o) is None)
            sentence = f"must hold what an element of tensor {ground.graph.operations[stuck].output} needs"
            raise ProblemError(f"fast_memory_capacity: {sentence}, got {ground.target.capacity}")
        return replace(first_steps, is_complete=False)

    def _chunk(self, operations: int) -> list[PlannedStep] | None:
        steps = self.ground.window(StepWindow(operations), Bounds(), float("inf"), _START, set())
        return self.ground.alone(operations) if steps is None else steps.steps

    def _passed(self, best: Found, bounds: Bounds, share: float) -> Found:
        """Return the best steps from a search over the whole graph that are better than the known ones."""
        ground = self.ground
        limits = {"below": best.value + EPSILON, "least": ground.least}
        search = ground.search(StepWindow(ground.all), bounds, share=share, **limits)
        schedule = search.found()
        if schedule is not None and schedule.value < best.value - EPSILON:
            best = schedule
            ground.report(best.value)
        return replace(best, is_complete=not search.is_cut and not ground.costs.is_cut)


PLACEMENT_S = 2.0
"""The most seconds for the plan of the fast memory: that of 500 slots takes less than one."""
_SEARCH = 0.75
"""The part of the time that the search has; the rest is for the simulator, which takes 3 s for large tensors."""
_BEFORE_FRONT = 0.5
"""The part of the effort until a front is searched, where one is wanted."""
_Verified = tuple[Simulation, list[ScheduleStep], tuple[ScheduleSlot, ...]]
MOST_POINTS = 24
"""The points of a front that are verified, evenly many of all."""


def schedule_tiles(
    graph: TileGraph, target: Target, objective: Objective, running: Control, *, wants_front: bool = False
) -> ScheduleAnswer:
    """Return the best schedule found in time, verified; raises ProblemError if none is found.

    Operations alone come first, and are noted. Points of a front that come when time is over are left out.
    """
    if target.has_three:
        raise ProblemError("target.memories: must be two, as operations on matrices are scheduled between these, got 3")
    effort = ScheduleEffort(running.within(_SEARCH * running.left_s))
    ordered = in_order(graph, depth_first(graph))
    ground = Ground(ordered, target, objective, effort, lambda value: running.report({objective: round(value, 3)}))
    has_front = wants_front or objective == "peak"
    verifier = _Verifier(graph, target, ground.costs, running.counts_work)
    bound = float(ground.bounds.peak) if objective == "peak" else ground.lower_bound

    def answer(verified: _Verified, best: Found, points: Sequence[Simulation] = ()) -> ScheduleAnswer:
        run, steps, slots = verified
        return ScheduleAnswer.of_run(
            *(run, target, objective, bound, best.proof),
            is_exhausted=best.is_complete,
            subgraphs=tuple(step.operations for step in steps),
            granularities=tuple((step.width, step.height, step.depth) for step in steps),
            tensors_to_retain=tuple(step.retained for step in steps),
            traversal_orders=tuple(step.order for step in steps),
            slots=slots,
            alternatives=_unless_empty([step.alternatives for step in steps]),
            tensors_to_roll=_unless_empty([step.rolls for step in steps]),
            frontier=tuple(map(point_of, points)),
        )

    alone = None if running.note is None else ground.alone(ground.all)
    if running.note is not None and alone is not None and (verified := verifier.verified(alone)) is not None:
        first = answer(verified, Found(ground.value(alone), alone, False))
        running.note(first)
        if running.is_over:
            return first
    effort.within = _BEFORE_FRONT if has_front else 1.0
    best, front = ScheduleSearch(ground).run(), list[list[PlannedStep]]()
    effort.within = 1.0
    if has_front:
        front, is_complete = front_of(ground, best.steps)
        if objective == "peak":
            best = least_peak(ground, front[-1], is_complete)
        elif (value := ground.value(front[0])) < best.value - EPSILON:
            proof: Proof | None = "bound" if value <= ground.lower_bound + EPSILON else None
            best = replace(best, steps=front[0], value=value, proof=proof)
    while (verified := verifier.verified(best.steps)) is None:
        best = cut_off(ground, best)
    count, points = min(len(front), MOST_POINTS) if wants_front else 0, list[Simulation]()
    for place in dict.fromkeys(round(k * (len(front) - 1) / max(1, count - 1)) for k in range(count)):
        if not running.is_over and (point := verifier.verified(front[place], is_tight=True)) is not None:
            points.append(point[0])
    return answer(verified, best, points)


def _unless_empty(rows: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the rows of all steps; an empty list if all rows are empty."""
    return tuple(rows) if any(rows) else ()


def cut_off(ground: Ground, found: Found) -> Found:
    """Return the improved schedule without the largest tensor that stays over the fullest step, which is excluded.

    What is resident has no place there, though it fits by its bytes; raises InvalidPlanError where nothing stays.
    """
    full = [(step.cost.peak, k) for k, step in enumerate(found.steps) if step.resident & step.retained]
    if not full:
        raise InvalidPlanError("slots: must have places, as nothing stays for several steps")
    fullest = found.steps[max(full)[1]]
    ground.costs.cuts.add(fullest.masks)
    gone = max(bits(fullest.resident & fullest.retained), key=lambda tensor: ground.costs.sizes[tensor])
    masks = [step.operations for step in found.steps]
    fewer = rebuilt(ground, masks, [step.retained & ~(1 << gone) for step in found.steps])
    fewer = fewer or rebuilt(ground, masks, [0] * len(masks))
    if fewer is None:
        raise InvalidPlanError("slots: must have places, also with nothing resident")
    return Improvement(ground, Found(ground.value(fewer), fewer, False)).run(1.0)


class _Verifier:
    """Simulates and places schedules in the operation order of the user, which differs from that of the search."""

    def __init__(self, graph: TileGraph, target: Target, costs: StepCosts, is_counted: bool) -> None:
        self.graph, self.target, self.costs, self.is_counted = graph, target, costs, is_counted
        self.order = depth_first(graph)

    def verified(self, planned: Sequence[PlannedStep], *, is_tight: bool = False) -> _Verified | None:
        """Return the simulated run after comparing it with the search's estimates, with its steps and slots.

        None without places in the fast memory, or in its peak where that `is_tight`.
        """
        lowered = (self.costs.step_of(step.masks, step.cost) for step in planned)
        steps = [replace(step, operations=tuple(self.order[o] for o in step.operations)) for step in lowered]
        run = simulate(self.graph, self.target, steps)
        if run.violations:
            raise InvalidPlanError(*run.violations[:5])
        total = sum(step.cost.latency for step in planned)
        if abs(run.latency - total) > total * EPSILON:
            raise InvalidPlanError(f"latency: must be what the search says, {total}, got {run.latency}")
        target = self.target.with_capacity(run.peak) if is_tight else self.target
        slots = placed(slots_of(run.figures), target, PLACEMENT_S, self.is_counted)
        return None if slots is None else (run, steps, tuple(slots))
