"""The capability `shadow`: whether operations can run on a plan's addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import OPERATIONS, PLAN
from memplan.planner.liveness import problem_of
from memplan.planner.liveness.shadow import Clobber
from memplan.planner.liveness.shadow import shadow as clobbers_of
from memplan.planner.model.plan import Plan
from memplan.planner.operations.operations import Operations


class Shadow(Answer):
    """The verdict of a shadow execution, and the buffers that are overwritten before they are read."""

    intact: bool
    clobbered: tuple[Clobber, ...]


def shadow(
    operations: Operations,
    plan: Plan,
    options: CapabilityOptions = CapabilityOptions(),
    control: Control = Control(),
) -> Shadow:
    """Run operations on a plan's addresses, in every way, and find what is overwritten before it is read.

    This finds wrong lifetimes, which the verifier believes.
    """
    found = clobbers_of(operations, plan)
    return Shadow(intact=not found, clobbered=tuple(found))


def lines(found: Shadow) -> Iterator[str]:
    """Yield the lines for people, one a buffer that is overwritten."""
    for entry in found.clobbered:
        low, high = entry.bytes
        what = f"{entry.path} needs {entry.buffer}, but {entry.overwritten_at} wrote {entry.by}"
        yield f"{what} over bytes {low} to {high} of {entry.pool}"
    if found.intact:
        yield "intact"


_PLAN_OF_OPERATIONS = replace(
    PLAN, from_file=lambda reader, data, name, question: reader.plan(data, name, problem_of(question["operations"]))
)
_BUFFERS = [{"id": "image", "size": 64}, {"id": "scores", "size": 8}]
_BODY = [{"op": "classify", "inputs": ["image"], "outputs": ["scores"]}]
_MAIN = {"params": ["image"], "results": ["scores"], "buffers": _BUFFERS, "body": _BODY}
_PLACEMENTS = [
    {"id": "main/image", "pool": "default", "offset": 0},
    {"id": "main/scores", "pool": "default", "offset": 64},
]
CAPABILITY = Capability(
    shadow,
    inputs=(OPERATIONS, _PLAN_OF_OPERATIONS),
    lines=lines,
    exit_status=lambda found: 0 if found.intact else 3,
    exits={0: "nothing is overwritten", 3: "something is"},
    example={"operations": {"functions": {"main": _MAIN}}, "plan": {"placements": _PLACEMENTS}},
)
