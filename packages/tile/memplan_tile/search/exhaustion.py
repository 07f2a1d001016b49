"""The complete search over all schedules of a few operations, with recomputation: shortest paths between states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import product

from memplan.capabilities.schedule.form import EPSILON
from memplan_tile.search.downsets import Found, PlannedStep
from memplan_tile.search.ground import Ground
from memplan_tile.search.nests import bits

MOST_OPERATIONS = 5
"""The most operations: a step has 3^5 ways to leave what it makes, and any set of connected operations is a step."""
_State = tuple[int, int]
"""The tensors in the slow memory, and those that are resident, as masks."""


def exhausted(ground: Ground, known: Found) -> Found:
    """Return the best schedule, or `known` if none is better; it is complete if it is proved best and time sufficed.

    A state is what lies in the slow memory and what is resident; a step may write or retain each tensor that it makes,
    and leave those that it reads itself. It is not sure where steps might cost less than is counted.
    """
    start, open_from = (sum(1 << t for t in ground.graph.inputs), 0), float("inf")
    least: dict[_State, float] = {start: 0.0}
    ways: dict[_State, tuple[_State, PlannedStep]] = {}
    queue = [(0.0, start)]
    groups = [
        (mask, *_around(ground, mask)) for mask in range(1, ground.all + 1) if ground.relations.is_connected(mask)
    ]
    while queue:
        value, state = heappop(queue)
        if value >= known.value - EPSILON:
            break
        if value > least[state]:
            continue
        if not ground.relations.outputs & ~state[0]:
            known = Found(value, _traced(ways, state), False)
            break
        if ground.effort.is_over():
            return known
        for mask, reads, sinks, inner in groups:
            if reads & ~(state[0] | state[1]):
                continue
            ways_to_leave = _ways_to_leave(sinks, inner & ~state[0])
            for (written, new), retained_now in product(ways_to_leave, _kept(ground, state[1] & ~(sinks | inner))):
                ground.effort.spend(1)
                leaving, retained = written | new, new | retained_now
                masks = mask, state[1], leaving, retained
                cost = ground.costs.of(masks)
                if (bare := ground.costs.least_of(masks)) < (cost.value if cost else float("inf")) - EPSILON:
                    open_from = min(open_from, value + bare)
                if cost is None:
                    continue
                following, total = (state[0] | written, retained), value + cost.value
                if total < least.get(following, float("inf")) - EPSILON:
                    least[following] = total
                    ways[following] = state, PlannedStep(*masks, cost)
                    heappush(queue, (total, following))
    return replace(known, is_complete=not ground.costs.is_cut and open_from >= known.value - EPSILON)


def _around(ground: Ground, mask: int) -> tuple[int, int, int]:
    """Return the tensors that a step reads from outside, those that it makes and does not read, and all others."""
    read = made = 0
    for o in bits(mask):
        one = ground.graph.operations[o]
        made |= 1 << one.output
        for tensor in one.inputs:
            read |= 1 << tensor
    return read & ~made, made & ~read, made & read


def _ways_to_leave(sinks: int, inner: int) -> Iterator[tuple[int, int]]:
    """Yield the tensors that a step writes and those that it retains; outputs of the graph are one of the two."""
    ways = [((1 << t, 0), (0, 1 << t)) for t in bits(sinks)]
    more = [((0, 0), (1 << t, 0), (0, 1 << t)) for t in bits(inner)]
    for chosen in product(*ways, *more):
        yield sum(written for written, _ in chosen), sum(retained for _, retained in chosen)


def _kept(ground: Ground, resident: int) -> Iterator[int]:
    """Yield each set of resident tensors that may stay in the fast memory, as a mask."""
    for chosen in product(*((0, 1 << t) for t in bits(resident if ground.target.keeps else 0))):
        yield sum(chosen)


def _traced(ways: dict[_State, tuple[_State, PlannedStep]], state: _State) -> list[PlannedStep]:
    steps = []
    while state in ways:
        state, step = ways[state]
        steps.append(step)
    return steps[::-1]
