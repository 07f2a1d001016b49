"""The question `count`: the buffers of a problem, counted."""

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import PROBLEM
from memplan.planner.model.problem import Problem


class CountOptions(CapabilityOptions):
    """Options of a count."""

    least: int = Field(0, ge=0, description="Count buffers of at least so many bytes.")


class Count(Answer):
    """The number of buffers."""

    buffers: int


def count(problem: Problem, options: CountOptions = CountOptions(), control: Control = Control()) -> Count:
    """Count buffers."""
    return Count(buffers=int((problem.buffers.size >= options.least).sum()))


CAPABILITY = Capability(
    count,
    inputs=(PROBLEM,),
    lines=lambda answer: [f"{answer.buffers} buffers"],
    example={"problem": {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}]}},
)
