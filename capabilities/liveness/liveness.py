"""The capability `liveness`: from operations to the problem that they pose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.extent import Extent
from memplan.capabilities.graph_inputs import OPERATIONS
from memplan.capabilities.inputs import PLAN
from memplan.capabilities.liveness.comparison import PlannedPeak, compare_readings
from memplan.capabilities.sizes import size_text
from memplan.planner.errors import counted
from memplan.planner.liveness import Analysis, Reading, analyse, problem_of
from memplan.planner.liveness.shadow import Clobber, shadow
from memplan.planner.model.plan import Plan
from memplan.planner.operations.operations import Operations

_BRIEF = 2_000
"""The statements and buffers that are analysed in less time than it takes to find a worker."""


class LivenessOptions(Reading, CapabilityOptions):
    """Options for reading lifetimes."""

    compare: bool = Field(False, description="Plan what each way to read lifetimes needs, within the time limit.")

    @property
    def reading(self) -> Reading:
        """The options that are about lifetimes."""
        return Reading(**{name: getattr(self, name) for name in Reading.model_fields})


class Shadow(Answer):
    """The verdict of a shadow execution, and the buffers that are overwritten before they are read."""

    intact: bool
    clobbered: tuple[Clobber, ...]


class LivenessAnswer(Analysis):
    """The analysis of operations; `peaks` where ways to read them were compared, `shadow` where there is a plan."""

    peaks: tuple[PlannedPeak, ...] | None = None
    shadow: Shadow | None = Field(None, exclude_if=lambda shadow: shadow is None)


def liveness(
    operations: Operations,
    plan: Plan | None = None,
    options: LivenessOptions = LivenessOptions(),
    control: Control = Control(),
) -> LivenessAnswer:
    """Find when the buffers of a program are alive, from its operations: a problem to plan, and facts about it.

    Nothing is solved, unless the peaks of the ways to read lifetimes are to be compared. With a plan, the operations
    run on its addresses, in every way, which finds what is overwritten before it is read: wrong lifetimes, which the
    verifier believes.
    """
    running = control.begun(options)
    found = analyse(operations, options.reading)
    peaks = compare_readings(operations, options.reading, running) if options.compare else None
    clobbered = None if plan is None else shadow(operations, plan)
    return LivenessAnswer.model_construct(
        **{name: getattr(found, name) for name in Analysis.model_fields},
        peaks=peaks,
        shadow=None if clobbered is None else Shadow(intact=not clobbered, clobbered=clobbered),
    )


def lines(found: LivenessAnswer) -> Iterator[str]:
    """Yield the most important of it for people."""
    if found.shadow is not None:
        for entry in found.shadow.clobbered:
            low, high = entry.bytes
            what = f"{entry.path} needs {entry.buffer}, but {entry.overwritten_at} wrote {entry.by}"
            yield f"{what} over bytes {low} to {high} of {entry.pool}"
        if found.shadow.intact:
            yield "intact"
        return
    for warning in found.warnings:
        yield f"warning: {warning.rule}: {warning.message}"
    space = found.workspace
    where = "" if space.path is None else f", at {space.path}"
    yield f"{counted(len(found.problem.buffers), 'buffer')}, at most {_written(space.live_bytes)} alive{where}"
    if found.order == "tentative":
        yield f"the order is tentative; in any order, {_written(space.any_order_live_bytes)} are alive at once"
    for row in found.readings[1:]:
        if row.lost_bytes:
            yield f"{row.temporaries} by {row.liveness}: {_written(row.lost_bytes)} more alive"
    for peak in found.peaks or ():
        planned = peak.status if peak.peak is None else f"peak {_written(peak.peak)}"
        yield f"{peak.temporaries} by {peak.liveness}, planned {peak.planning}: {planned}"


def _written(size: int) -> str:
    return f"{size:,} bytes ({size_text(size)})" if size >= 1024 else f"{size} bytes"


def _is_brief(extent: Extent, options: LivenessOptions) -> bool:
    return not options.compare and extent.n_expanded <= _BRIEF


_PLAN = replace(
    PLAN,
    help="A plan of the operations, JSON or CSV: run them on its addresses.",
    from_file=lambda reader, data, name, question: reader.plan(data, name, problem_of(question["operations"])),
    required=False,
    named_by_flag=True,
)
CAPABILITY = Capability(
    liveness,
    inputs=(OPERATIONS, _PLAN),
    lines=lines,
    exit_status=lambda found: 3 if found.shadow is not None and not found.shadow.intact else 0,
    exits={0: "there are lifetimes, and nothing is overwritten", 3: "something is overwritten"},
    is_brief=_is_brief,
    example={
        "operations": {
            "functions": {
                "main": {
                    "params": ["image"],
                    "results": ["scores"],
                    "buffers": [
                        {"id": "image", "dtype": "int8", "shape": [1, 96, 96, 3]},
                        {"id": "features", "dtype": "int8", "shape": [1, 48, 48, 8]},
                        {"id": "columns", "size": 2304},
                        {"id": "scores", "dtype": "float32", "shape": [1, 10]},
                    ],
                    "body": [
                        {"op": "conv", "inputs": ["image"], "outputs": ["features"], "temporaries": ["columns"]},
                        {"op": "classify", "inputs": ["features"], "outputs": ["scores"]},
                    ],
                }
            }
        },
        "options": {"compare": True, "time_limit_s": 2},
    },
)
