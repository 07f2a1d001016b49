"""The fast memory of a schedule: every slot of every step as a buffer, planned, and verified by the planner's rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from memplan.capabilities.schedule.answer import ScheduleSlot
from memplan.capabilities.schedule.model.figures import StepFigures
from memplan.capabilities.schedule.model.target import Target
from memplan.planner.errors import InvalidPlanError
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve


def slots_of(steps: Sequence[StepFigures]) -> list[tuple[Any, ...]]:
    """Return a kind, a tensor, a size and a half-open lifetime for each slot.

    What is retained lives in the step that makes it, and in those in which it is resident.
    """
    found = []
    for i, step in enumerate(steps):
        for kind, tensor, size in step.buffers:
            end = i + 1
            while kind == "retained" and end < len(steps) and ("resident", tensor, size) in steps[end].buffers:
                end += 1
            if kind != "resident":  # the slot of the step that retained it
                found.append((kind, tensor, size, i, end))
    return found


def placed(
    steps: Sequence[StepFigures], target: Target, time_limit_s: float, deterministic: bool
) -> list[ScheduleSlot] | None:
    """Return offsets for all slots within the fast memory; None without any, InvalidPlanError where a plan is no good.

    There is one in the bytes alive if what is retained lives two steps: it may lie at the two ends of the memory in
    turns, and all else between. What stays for several steps may leave gaps that are too small.
    """
    rows = slots_of(steps)
    buffers = [
        Buffer(id=k, size=size, start=start, end=end, alignment=target.alignment)
        for k, (_, _, size, start, end) in enumerate(rows)
    ]
    problem = Problem(buffers=buffers, pools=[Pool(name=target.memories[0].name, size=target.capacity)])
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=deterministic)
    if len(plan.placements) < len(buffers):
        return None
    if wrong := verify(problem, plan):
        raise InvalidPlanError(*(each.message for each in wrong[:5]))
    offsets = {each.id: each.offset for each in plan.placements}
    names = ("kind", "tensor", "size", "start", "end")
    return [ScheduleSlot(**dict(zip(names, row, strict=True)), offset=offsets[k]) for k, row in enumerate(rows)]


def misplaced(steps: Sequence[StepFigures], target: Target, slots: Sequence[ScheduleSlot]) -> str | None:
    """Return what is wrong with the places of slots that came from elsewhere; None where nothing is."""
    if sorted((slot.kind, slot.tensor, slot.size, slot.start, slot.end) for slot in slots) != sorted(slots_of(steps)):
        return "slots: must be those that the steps need"
    alive: list[list[ScheduleSlot]] = [[] for _ in steps]
    for slot in slots:
        if slot.offset % target.alignment or not 0 <= slot.offset <= target.capacity - slot.size:
            return f"slots: must lie in {target.capacity} bytes, aligned to {target.alignment}, got {slot.offset}"
        for step in range(slot.start, slot.end):
            alive[step].append(slot)
    for step, here in enumerate(alive):
        here.sort(key=lambda slot: slot.offset)
        for one, other in pairwise(here):
            if one.offset + one.size > other.offset:
                return f"slots: must lie apart in step {step}, got tensors {one.tensor} and {other.tensor}"
    return None
