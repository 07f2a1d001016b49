"""The fast memory of a schedule: every slot of every step as a buffer, planned, and verified by the planner's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memplan.capabilities.cascade.timing.figures import StepFigures
from memplan.capabilities.cascade.timing.target import Memory, Target
from memplan.capabilities.schedule.answer import ScheduleSlot
from memplan.planner.errors import InvalidPlanError
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve

Row = tuple[Any, ...]
"""A kind, a tensor, a size and a half-open lifetime."""


def slots_of(steps: Sequence[StepFigures]) -> list[Row]:
    """Return a kind, a tensor, a size and a half-open lifetime for each slot.

    What is retained lives in the step that makes it, and in those in which it is resident.
    """
    slots = []
    for i, step in enumerate(steps):
        for kind, tensor, size in step.buffers:
            end = i + 1
            while kind == "retained" and end < len(steps) and ("resident", tensor, size) in steps[end].buffers:
                end += 1
            if kind != "resident":  # the slot of the step that retained it
                slots.append((kind, tensor, size, i, end))
    return slots


def placed(
    rows: Sequence[Row], target: Target, time_limit_s: float, deterministic: bool, memory: int = 0
) -> list[ScheduleSlot] | None:
    """Return offsets for all slots within a memory; None without any, InvalidPlanError where a plan is no good.

    There is one in the bytes alive if what is retained lives two steps: it may lie at the two ends of the memory in
    turns, and all else between. What stays for several steps may leave gaps that are too small.
    """
    problem = _problem(rows, target.memories[memory])
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=deterministic)
    if len(plan.placements) < len(rows):
        return None
    if wrong := verify(problem, plan):
        raise InvalidPlanError(*(each.message for each in wrong[:5]))
    offsets = {each.id: each.offset for each in plan.placements}
    names = ("kind", "tensor", "size", "start", "end")
    return [ScheduleSlot(**dict(zip(names, row, strict=True)), offset=offsets[k]) for k, row in enumerate(rows)]


def misplaced(rows: Sequence[Row], target: Target, slots: Sequence[ScheduleSlot], memory: int = 0) -> str | None:
    """Return what is wrong with the places of slots that came from elsewhere; None where nothing is."""
    if sorted((slot.kind, slot.tensor, slot.size, slot.start, slot.end) for slot in slots) != sorted(rows):
        return "slots: must be those that the steps need"
    room = target.memories[memory]
    problem = _problem([(slot.kind, slot.tensor, slot.size, slot.start, slot.end) for slot in slots], room)
    offsets = np.array([slot.offset for slot in slots], np.int64)
    places = PlacementTable(problem.buffers.ids, (room.name,), np.zeros(len(slots), np.int64), offsets)
    wrong = verify(problem, Plan(placements=places))
    return f"slots: {wrong[0].message}" if wrong else None


def _problem(rows: Sequence[Row], room: Memory) -> Problem:
    """Return the problem of placing slots in a memory."""
    buffers = [
        Buffer(id=k, size=size, start=start, end=end, alignment=room.alignment)
        for k, (_, _, size, start, end) in enumerate(rows)
    ]
    return Problem(buffers=buffers, pools=[Pool(name=room.name, size=room.capacity)])
