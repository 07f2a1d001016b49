"""Shadow execution: whether operations can run on a plan's addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memplan.capabilities.capability import Answer
from memplan.capabilities.inputs import PLAN
from memplan.planner.liveness import problem_of
from memplan.planner.liveness.shadow import Clobber
from memplan.planner.liveness.shadow import shadow as clobbers_of
from memplan.planner.model.plan import Plan
from memplan.planner.operations.operations import Operations


class Shadow(Answer):
    """The verdict of a shadow execution, and the buffers that are overwritten before they are read."""

    intact: bool
    clobbered: tuple[Clobber, ...]

    def lines(self) -> Iterator[str]:
        """Yield the lines for people, one a buffer that is overwritten."""
        for entry in self.clobbered:
            low, high = entry.bytes
            what = f"{entry.path} needs {entry.buffer}, but {entry.overwritten_at} wrote {entry.by}"
            yield f"{what} over bytes {low} to {high} of {entry.pool}"
        if self.intact:
            yield "intact"


def shadow(operations: Operations, plan: Plan) -> Shadow:
    """Run operations on a plan's addresses, in every way, and find what is overwritten before it is read.

    This finds wrong lifetimes, which the verifier believes.
    """
    found = clobbers_of(operations, plan)
    return Shadow(intact=not found, clobbered=tuple(found))


PLAN_OF_OPERATIONS = replace(
    PLAN,
    help="A plan of the operations, JSON or CSV: run them on its addresses.",
    from_file=lambda reader, data, name, question: reader.plan(data, name, problem_of(question["operations"])),
    required=False,
    named_by_flag=True,
)
