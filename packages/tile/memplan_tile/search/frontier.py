"""The front of schedules over the size of the fast memory, found by the cut points of cascades.

States of the search are cuts, and a step is a region between two of them, once for each of its tilings that none is as
good as in peak and value. The front of chains of regions is then that of schedules: the peak is a maximum, the value is
a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memplan.capabilities.schedule.form import FOUND_RUNS, FOUND_TO, N_FOUND, Proof, front
from memplan_tile.search.downsets import (
    Bounds,
    Found,
    OperationLine,
    PlannedStep,
    StepWindow,
)
from memplan_tile.search.exhaustion import MOST_OPERATIONS, exhausted
from memplan_tile.search.ground import Ground
from memplan_tile.search.nests import bits

_WHOLE = Bounds(groups=2000, longest=99, beam=2000, retained=3)
_ALONG = Bounds(beam=4, retained=1)
_LONGEST = 8
"""The operations of a step along a line, beside the steps of the schedule that is known."""
_WHOLE_PART = 0.75
_NEVER = float("inf")
_MOST_SUM = 2.0**60
"""Values are rounded so that no chain has more, as those of cut points are whole numbers."""


def front_of(ground: Ground, best: Sequence[PlannedStep]) -> tuple[list[list[PlannedStep]], bool]:
    """Return schedules of falling peaks, the first as good as the best one, and whether all groupings were tried.

    Graphs with few states are tried as a whole, others along the line of the best schedule.
    """
    arcs, is_complete = _arcs(ground, None, _WHOLE_PART)
    if not is_complete:
        arcs, _ = _arcs(ground, _line_of(ground, best), 1.0)
    # However early the time is over, the best schedule is a chain of its own steps.
    done, chain = 0, list[tuple[int, PlannedStep]]()
    for step in best:
        chain.append((done, step))
        done |= step.operations
    arcs += chain
    nodes = {(0, 0): 0}
    behind = {(done | step.operations, step.retained) for done, step in arcs}
    for node in sorted(behind, key=lambda node: (node[0].bit_count(), node)):
        nodes[node] = len(nodes)
    masks = {step.masks for step in best}
    ways = list(chain)
    for done, step in sorted(arcs, key=lambda arc: arc[1].masks not in masks):
        if step.masks in masks or not ground.effort.is_over():
            ways += ((done, replace(step, cost=cost)) for cost in ground.costs.ways(step.masks))
        else:
            is_complete = False
    unit = max(step.cost.value for _, step in ways) * len(ground.graph.operations) / _MOST_SUM or 1.0
    rows = np.zeros((len(ways), N_FOUND), np.int64)
    for k, (done, step) in enumerate(ways):
        ends = nodes[done, step.resident], nodes[done | step.operations, step.retained]
        other = step.cost.latency if ground.costs.objective == "traffic" else step.cost.traffic
        rows[k, :FOUND_RUNS] = *ends, step.cost.peak, step.cost.value / unit, other
    order = np.argsort(rows[:, FOUND_TO], kind="stable")
    chains = front(rows[order], len(nodes) - 1)
    return [[ways[order[row]][1] for row in each.rows] for each in chains] or [list(best)], is_complete


def _arcs(ground: Ground, line: OperationLine | None, share: float) -> tuple[list[tuple[int, PlannedStep]], bool]:
    """Return the steps between the states of the graph or of an ordered part, and whether they are complete."""
    bounds = _WHOLE if line is None else _ALONG
    search = ground.search(StepWindow(ground.all), bounds, share=share, line=line, arcs=[])
    search.found()
    return search.arcs or [], not search.is_cut and not ground.costs.is_cut


def _line_of(ground: Ground, best: Sequence[PlannedStep]) -> OperationLine:
    """Return the operations in the order of a schedule, with its steps and short ranges as candidates for groups."""
    order = [o for step in best for o in bits(step.operations)]
    ranges = dict.fromkeys(step.operations for step in best)
    for first in range(len(order)):
        mask = 0
        for o in order[first : first + _LONGEST]:
            mask |= 1 << o
            if ground.relations.is_connected(mask):
                ranges[mask] = None
    return OperationLine(tuple(order), tuple(ranges))


def peak_of(steps: Sequence[PlannedStep]) -> int:
    """Return the most bytes that any step has in the fast memory."""
    return max(step.cost.peak for step in steps)


def least_peak(ground: Ground, steps: list[PlannedStep], is_complete: bool) -> Found:
    """Return the best schedule among those of the least peak, starting from the last one of a front.

    Up to a few operations, schedules that run operations again are tried in less and less memory.
    """
    proof: Proof | None = None
    if len(ground.graph.operations) <= MOST_OPERATIONS:
        capacity = peak_of(steps)
        while True:
            tight = Ground(ground.graph, ground.target.with_capacity(capacity), ground.costs.objective, ground.effort)
            best = exhausted(tight, Found(_NEVER, [], False))
            if not best.steps:
                proof = "exhaustion" if best.is_complete else None
                break
            steps = best.steps
            capacity = peak_of(steps) - 1
    proof = "bound" if peak_of(steps) <= ground.bounds.peak else proof
    return Found(float(peak_of(steps)), steps, is_complete or proof is not None, proof)
