"""The placement of a schedule: planned and verified slots in the fast memory, and the contents of slower memories.

A tensor in the second memory has an offset there as long as it is needed. A tensor in the last one passes over both
links, piece by piece, through a slot (buffer) in the second memory.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, combinations
from typing import Any

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.timing.figures import StepFigures
from memplan.extensions.cascade.timing.target import Memory, Target
from memplan.extensions.schedule.answer import ScheduleSlot
from memplan.planner.errors import InvalidPlanError
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve

Row = tuple[Any, ...]
"""The type of a slot without an offset: its kind, tensor, size, first step, and end (the step after its last one)."""


def slots_of(steps: Sequence[StepFigures]) -> list[Row]:
    """Return the slots (buffers) of the fast memory over all steps; their offsets are not yet set.

    A retained tensor is alive in the step that computes it, and in the following steps in which it is resident.
    """
    slots = []
    for i, step in enumerate(steps):
        for kind, tensor, size in step.buffers:
            end = i + 1
            while kind == "retained" and end < len(steps) and ("resident", tensor, size) in steps[end].buffers:
                end += 1
            if kind != "resident":  # The step that retained a resident tensor has already added its slot.
                slots.append((kind, tensor, size, i, end))
    return slots


def place_slots(
    rows: Sequence[Row], target: Target, time_limit_s: float, deterministic: bool, memory: int = 0
) -> list[ScheduleSlot] | None:
    """Place all slots in a memory; return them with offsets, or None without a plan.

    If each retained tensor is alive for only two steps, the slots fit whenever their live bytes fit, because retained
    tensors are placed at alternating ends of the memory, and all others between them. Tensors that stay longer may
    leave gaps that are too small. Raises InvalidPlanError if the verifier refuses the plan.
    """
    problem = _slot_problem(rows, target.memories[memory])
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=deterministic)
    if len(plan.placements) < len(rows):
        return None
    if wrong := verify(problem, plan):
        raise InvalidPlanError(*(each.message for each in wrong[:5]))
    offsets = {each.id: each.offset for each in plan.placements}
    names = ("kind", "tensor", "size", "start", "end")
    return [ScheduleSlot(**dict(zip(names, row, strict=True)), offset=offsets[k]) for k, row in enumerate(rows)]


def slot_violation(rows: Sequence[Row], target: Target, slots: Sequence[ScheduleSlot], memory: int = 0) -> str | None:
    """Return what is wrong with slots that another program chose, or None if they are valid."""
    if sorted((slot.kind, slot.tensor, slot.size, slot.start, slot.end) for slot in slots) != sorted(rows):
        return "slots: must be exactly the slots that the steps need"
    room = target.memories[memory]
    problem = _slot_problem([(slot.kind, slot.tensor, slot.size, slot.start, slot.end) for slot in slots], room)
    offsets = np.array([slot.offset for slot in slots], np.int64)
    places = PlacementTable(problem.buffers.ids, (room.name,), np.zeros(len(slots), np.int64), offsets)
    wrong = verify(problem, Plan(placements=places))
    return f"slots: {wrong[0].message}" if wrong else None


def _slot_problem(rows: Sequence[Row], room: Memory) -> Problem:
    buffers = [
        {"id": k, "size": size, "start": start, "end": end, "alignment": room.alignment}
        for k, (_, _, size, start, end) in enumerate(rows)
    ]
    return Problem(buffers=buffers, pools=[Pool(name=room.name, size=room.capacity)])


MOST_EXHAUSTED = 5
"""The maximum number of tensors and constants for which all subsets are tried as contents of the last memory."""
_ROUNDS = 12
Item = tuple[str, int]
"""The type of a tensor (`tensor`, t), or of the constants of the operation that first writes it (`constants`, t)."""


def items_of(graph: AccessGraph) -> dict[Item, int]:
    """Return all tensors and constants that occupy a slower memory, each with the number that `far` uses for it."""
    items: dict[Item, int] = {("tensor", t): t for t, row in enumerate(graph.tensors) if row.bytes}
    for v, operation in enumerate(graph.operations):
        if operation.weights and operation.outputs:
            items["constants", operation.outputs[0]] = -1 - v
    return items


def second_slots(graph: AccessGraph, target: Target, steps: Sequence[StepFigures]) -> list[Row]:
    """Return the slots in the second memory, for whole tensors and for staged pieces, in the form of `slots_of`."""
    first, last, far = dict[Item, int](), dict[Item, int](), set[Item]()
    for i, step in enumerate(steps):
        for kind, tensor, is_far, _, _ in step.transfers:
            item = ("constants" if kind == "constants" else "tensor"), tensor
            # A tensor that is loaded before it is stored is in the memory from the beginning.
            first.setdefault(item, i if kind == "output" else 0)
            last[item] = len(steps) if tensor in graph.kept and item[0] == "tensor" else i + 1
            far |= {item} if is_far else set()
    rows: list[Row] = []
    for item, start in first.items():
        kind, tensor = item
        maker = graph.maker[tensor]
        size = graph.tensors[tensor].bytes if kind == "tensor" else graph.operations[maker or 0].weights
        if item not in far:
            rows.append((kind, tensor, target.round_size(size, 1), start, last[item]))
    return rows + [(*slot, i, i + 1) for i, step in enumerate(steps) for slot in step.staged]


def homes(
    graph: AccessGraph,
    target: Target,
    run: Callable[[frozenset[int]], Sequence[StepFigures]],
    value: Callable[[Sequence[StepFigures]], float],
    is_over: Callable[[], bool],
) -> frozenset[int]:
    """Choose the items (tensors, constants) that go to the last memory, so that all others fit in the second memory.

    `run` simulates a choice, and `value` is its cost. For a few items, all choices are tried. If there are more, those
    with the fewest transferred bytes per size leave the second memory when it is fullest, and return if there is room.
    """
    numbers, room = items_of(graph), target.memories[1].capacity or 0
    if len(numbers) <= MOST_EXHAUSTED:
        best, least = frozenset(numbers.values()), float("inf")
        for size in range(len(numbers) + 1):
            for chosen in map(frozenset, combinations(numbers.values(), size)):
                steps = run(chosen)
                is_better = value(steps) < least
                if is_better and max(_live_bytes(second_slots(graph, target, steps)), default=0) <= room:
                    best, least = chosen, value(steps)
        return best
    far: frozenset[int] = frozenset()
    for _ in range(_ROUNDS):
        steps = run(far)
        rows, moved = second_slots(graph, target, steps), dict[Item, int]()
        for kind, tensor, is_far, bytes_, _ in (row for step in steps for row in step.transfers):
            item = ("constants" if kind == "constants" else "tensor"), tensor
            moved[item] = moved.get(item, 0) + (0 if is_far else bytes_)
        leaving = _evicted_items(rows, moved, room)
        if not leaving or is_over():
            return far if not leaving else frozenset(numbers.values())
        far |= {numbers[item] for item in leaving}
    return frozenset(numbers.values())


def _evicted_items(rows: Sequence[Row], moved: dict[Item, int], room: int) -> list[Item]:
    """Return the items that leave the second memory until it has room, fewest transferred bytes per size first."""
    rest, items = list(rows), list[Item]()
    while rest:
        alive = _live_bytes(rest)
        if max(alive) <= room:
            break
        step = alive.index(max(alive))
        there = [row for row in rest if row[3] <= step < row[4] and row[0] != "staged"]
        if not there:
            break
        least = min(there, key=lambda row: (moved[row[0], row[1]] / row[2], -row[2], row))
        rest.remove(least)
        items.append(least[:2])
    for item in reversed(items):
        back = [*rest, *(row for row in rows if row[:2] == item)]
        if max(_live_bytes(back)) <= room:
            rest = back
            items = [other for other in items if other != item]
    return items


def _live_bytes(rows: Iterable[Row]) -> list[int]:
    rows = list(rows)
    change = [0] * (max((row[4] for row in rows), default=0) + 1)
    for _, _, size, start, end in rows:
        change[start] += size
        change[end] -= size
    return list(accumulate(change))
