"""The search for schedules: a start by windows, the whole graph at once while that is small, then better windows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from memplan.capabilities.schedule.answer import Proof
from memplan.capabilities.schedule.model.graph import TileGraph
from memplan.capabilities.schedule.search.downsets import EPSILON, Bounds, Found, PlannedStep, StepWindow
from memplan.capabilities.schedule.search.exhaustion import MOST_OPERATIONS, exhausted
from memplan.capabilities.schedule.search.ground import Ground
from memplan.capabilities.schedule.search.groups import grown
from memplan.capabilities.schedule.search.improvement import Improvement
from memplan.capabilities.schedule.search.nests import bits
from memplan.planner.errors import ProblemError

_SMALL = 10
"""Graphs of so many operations are searched as a whole at once."""
_FIRST = Bounds(groups=3000, longest=6, beam=60)
_WHOLE = Bounds(groups=6200, longest=99, beam=5000, retained=3)
_PASSES = (
    Bounds(groups=1000, longest=3, beam=30),
    Bounds(groups=3000, longest=6, beam=60),
    Bounds(groups=6200, longest=9, beam=200),
    Bounds(groups=6200, longest=13, beam=600),
    _WHOLE,
)
"""Passes over the whole graph, each guided by the prices of the one before; the last may be complete."""
_START, _AT_ONCE, _QUICK, _PASSING, _PASS = 0.1, 0.12, 0.2, 0.3, 0.45
"""The shares of the effort by which the start and first improvements end, no pass begins, and a pass has to end."""
_MOST_GROUPS = 6000


def in_order(graph: TileGraph, order: Sequence[int]) -> TileGraph:
    """Return the graph whose operations are in an order."""
    return replace(graph, operations=tuple(graph.operations[o] for o in order))


def depth_first(graph: TileGraph, rng: random.Random | None = None) -> list[int]:
    """Return the operations from the outputs back, so that what makes an operand stays together."""
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
    """A search on a ground: the start, passes over the whole graph, and improvements in windows."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.effort = ground, ground.effort

    def run(self) -> Found:
        """Return the best schedule within the effort; raises ProblemError where an operation fits in no tile."""
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
        """Return the best of some schedules by windows along orders from the outputs back, and of single operations."""
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
        """Return a schedule of single operations, or one of larger steps where not all of them fit by themselves."""
        ground = self.ground
        steps = ground.alone(ground.all)
        if steps is not None:
            return Found(ground.value(steps), steps, False)
        first_steps = ground.window(StepWindow(ground.all), _FIRST, float("inf"), {}, 1.0, set())
        if first_steps is None:
            stuck = next(o for o in bits(ground.all) if ground.alone(1 << o) is None)
            sentence = f"must hold what an element of tensor {ground.graph.operations[stuck].output} needs"
            raise ProblemError(f"fast_memory_capacity: {sentence}, got {ground.target.capacity}")
        return replace(first_steps, is_complete=False)

    def _chunk(self, operations: int) -> list[PlannedStep] | None:
        steps = self.ground.window(StepWindow(operations), Bounds(), float("inf"), {}, _START, set())
        return self.ground.alone(operations) if steps is None else steps.steps

    def _passed(self, best: Found, bounds: Bounds, share: float) -> Found:
        """Return the best steps after a search over the whole graph, guided by the prices of those that are known."""
        ground = self.ground
        limits = {"below": best.value + EPSILON, "prices": ground.prices(best.steps), "least": ground.least}
        search = ground.search(StepWindow(ground.all), bounds, share=share, **limits)
        schedule = search.found()
        if schedule is not None and schedule.value < best.value - EPSILON:
            best = schedule
            ground.report(best.value)
        return replace(best, is_complete=not search.is_cut and not ground.costs.is_cut)
