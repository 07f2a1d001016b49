"""The question `liveness`: the problem of placing a program's buffers, derived from the program's operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any, Literal, get_args

from pydantic import Field

from memplan.planner.errors import count_text
from memplan.planner.extensions import Hook
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.plan import Plan, Status
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import PoolNames
from memplan.planner.model.sizes import size_text
from memplan.programs.inputs import OPERATIONS
from memplan.programs.lifetimes import Analysis, Reading, analyse, expand, problem_of, problem_of_timeline
from memplan.programs.lifetimes.activations import CallWorkspace
from memplan.programs.lifetimes.lifetimes import Liveness, Temporaries
from memplan.programs.lifetimes.shadow import Clobber, shadow
from memplan.programs.operations.operations import Operations
from memplan.questions.inputs import PLAN
from memplan.questions.question import Answer, Control, Question, QuestionOptions
from memplan.solvers.portfolio.solve import solve

Planning = Literal["global", "local"]


@dataclass(frozen=True)
class StorageToken(DescribedFields):
    """A storage of TVM's Relay."""

    storage_id: int
    """The number of the storage, from 0."""
    max_bytes: int
    """Its final size in bytes; 0 for a texture."""
    realloc: bool
    """False if it is never reused."""
    pools: PoolNames | None
    """The pools in which it may be; null for all pools."""
    texture: tuple[int, int] | None
    """The width and height of a texture, in texels; null for any other storage."""


@dataclass(frozen=True)
class StoragePlan(DescribedFields):
    """The storages that Relay assigns."""

    storage_ids: Mapping[str, tuple[int, ...]]
    """The storages of each buffer, and of each tuple, by its name."""
    expected_uses: Mapping[str, tuple[int, ...]]
    """The numbers of uses of each buffer, and of each tuple's buffers, before the assignment."""
    storages: tuple[StorageToken, ...]
    """The storages, by their numbers."""


@dataclass(frozen=True)
class PlannedPeak(DescribedFields):
    """The planned peak of one variant of lifetimes and planning."""

    liveness: Liveness
    """The rule for lifetimes, `usage` or `scope`, as in `reading`."""
    temporaries: Temporaries
    """The rule for temporaries, `nested` or `lifted`, as in `reading`."""
    planning: Planning
    """`global`: all buffers are planned together; `local`: the temporaries of each function are planned separately, and
    each call gets a single workspace of that size."""
    status: Status
    """The status of the plan."""
    peak: int | None
    """The peak in bytes; null if no plan was found."""
    lower_bound: int | None
    """The lower bound on the peak in bytes; null if unknown."""
    lost_bytes: int | None = None
    """The excess in bytes over the peak by usage with nested temporaries and global planning; null without one of these
    peaks."""


def compare_readings(operations: Operations, reading: Reading, control: Control) -> tuple[PlannedPeak, ...]:
    """Return the planned peak of a program for each way to read its lifetimes, and for separate planning.

    Lifetimes are by usage or scope, with nested or lifted temporaries. `reading` determines which inputs and outputs
    are planned. Each solve gets an equal share of the remaining time; a variant without time is `unknown`. Separate
    planning means a plan for each function; it is omitted if a called function has persistent buffers, since these
    belong to no single call. Raises OperationsError.
    """
    timeline = expand(operations)
    reached = {operations.entry}
    for name, callees in reversed(operations.callees.items()):
        reached.update(callees if name in reached else ())
    called = [name for name in operations.callees if name in reached and name != operations.entry]
    # A buffer that persists between calls outlives its function's workspace, so the functions need a common plan.
    is_local = not any(row.persistent for name in called for row in operations.functions[name].buffers)
    solves = iter(range(4 + (1 + len(called)) * is_local, 0, -1))

    def solve_variant(problem: Callable[[], Problem]) -> Plan:
        share = control.child(1 / next(solves))
        if control.is_over:
            return Plan(status="unknown", stop_reason="time_limit")
        return solve(problem(), time_limit_s=share.remaining_s, control=share.solve_control())

    def variant_peak(variant: Reading) -> PlannedPeak:
        return _planned_peak(
            variant, "global", solve_variant(lambda: problem_of_timeline(operations, timeline, variant))
        )

    peaks: list[PlannedPeak] = []
    for temporaries in get_args(Temporaries):
        for liveness in get_args(Liveness):
            variant = reading.model_copy(update={"liveness": liveness, "temporaries": temporaries})
            peaks.append(variant_peak(variant))
    if is_local:
        best = reading.model_copy(update={"liveness": "usage", "temporaries": "nested"})
        peaks.append(_planned_peak(best, "local", _plan_locally(operations, called, best, solve_variant)))
    least = peaks[0].peak
    return tuple(
        replace(row, lost_bytes=None if row.peak is None or least is None else row.peak - least) for row in peaks
    )


def _planned_peak(reading: Reading, planning: Planning, plan: Plan) -> PlannedPeak:
    return PlannedPeak(reading.liveness, reading.temporaries, planning, plan.status, plan.peak, plan.lower_bound)


def _rebase_pools(problem: Problem) -> Problem:
    pools = tuple(pool.model_copy(update={"base_address": 0, "reserved": ()}) for pool in problem.pools)
    return problem.model_copy(update={"pools": pools})


def _workspaces(problem: Problem, plan: Plan) -> Iterator[CallWorkspace]:
    table, placed = problem.buffers, plan.placements
    for pool in plan.pools:
        here = placed.pool == (placed.pool_names.index(pool.name) if pool.name in placed.pool_names else -1)
        if pool.used:
            yield CallWorkspace(pool.name, pool.used, lcm(*set(table.alignment[here].tolist())))


def _plan_locally(
    operations: Operations, called: list[str], reading: Reading, solved: Callable[[Callable[[], Problem]], Plan]
) -> Plan:
    """Plan each called function separately, and return the entry function's plan with a workspace for each call."""
    workspaces: dict[str, tuple[CallWorkspace, ...]] = {}
    own = reading.model_copy(update={"plan_inputs": False, "plan_outputs": False})
    problems: dict[str, Problem] = {}

    def problem_of_call(name: str) -> Problem:
        problems[name] = _rebase_pools(
            problem_of_timeline(operations, expand(operations, name, workspaces=workspaces), own)
        )
        return problems[name]

    def plan_of(name: str) -> Plan:
        return solved(lambda: problem_of_call(name))

    for name in called:
        plan = plan_of(name)
        if plan.peak is None:
            return plan
        workspaces[name] = tuple(_workspaces(problems[name], plan))
    return solved(lambda: problem_of_timeline(operations, expand(operations, workspaces=workspaces), reading))


_plan_storages: Hook[[Operations, int], Any] = Hook("plan-storages")
_BRIEF = 2_000
"""The maximum number of statements and buffers of a program that is analysed faster than a worker starts."""


class LivenessOptions(Reading, QuestionOptions):
    """Options of the question `liveness`."""

    compare: bool = Field(
        False,
        description="Plan the buffers for each way to read lifetimes, and compare the peaks, within the time limit.",
    )
    match_range: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="Also assign storages as TVM's Relay does. A buffer may reuse a storage that is at most this "
        "many times smaller or larger; Relay uses 16, and 0 disables reuse.",
    )

    @property
    def reading(self) -> Reading:
        """The options that determine the lifetimes and the choice of planned buffers."""
        return Reading(**{name: getattr(self, name) for name in Reading.model_fields})


class Shadow(Answer):
    """The result of a shadow execution, which runs the operations on the addresses of a plan."""

    intact: bool
    """True if no buffer is overwritten before it is read."""
    clobbered: tuple[Clobber, ...]
    """The buffers that are overwritten before they are read."""


class LivenessAnswer(Analysis):
    """The analysis of operations, and the results of further options."""

    peaks: tuple[PlannedPeak, ...] | None = None
    """The planned peaks of all variants of lifetimes and planning; null without the option `compare`."""
    shadow: Shadow | None = Field(None, exclude_if=lambda shadow: shadow is None)
    """The result of running the operations on the given plan; omitted without a plan."""
    storages: StoragePlan | None = Field(None, exclude_if=lambda storages: storages is None)
    """The storages that Relay's planner assigns; omitted without the option `match_range`."""


def liveness(
    operations: Operations,
    plan: Plan | None = None,
    options: LivenessOptions = LivenessOptions(),
    control: Control = Control(),
) -> LivenessAnswer:
    """Find out when the buffers of a program are alive, from its operations, and make a problem of them that can be
    planned.

    A plan is made only to compare the peaks of different ways to read lifetimes. With a plan, the operations
    are run on its addresses, along every branch, and whatever is overwritten before it is read is reported. This finds
    wrong lifetimes, which the verifier takes for granted.
    """
    running = control.begin(options)
    analysis = analyse(operations, options.reading, lambda: running.is_over)
    answer = LivenessAnswer.model_construct(**{name: getattr(analysis, name) for name in Analysis.model_fields})
    parts: dict[str, Callable[[], Any]] = {}
    if plan is not None:
        parts["shadow"] = lambda: Shadow(intact=not (found := shadow(operations, plan)), clobbered=found)
    if options.compare:
        parts["peaks"] = lambda: compare_readings(operations, options.reading, running)
    if (match_range := options.match_range) is not None:
        parts["storages"] = lambda: _plan_storages(operations, match_range)
    for name, part in parts.items():
        if running.note is not None:
            running.note(answer)
        answer = answer.model_copy(update={name: part()})
    return answer


def answer_lines(found: LivenessAnswer) -> Iterator[str]:
    """Yield the lines of text that summarise an answer."""
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
    yield f"{count_text(len(found.problem.buffers), 'buffer')}, at most {_bytes_text(space.live_bytes)} alive{where}"
    if found.order == "tentative":
        yield f"the order is tentative; in any order, {_bytes_text(space.any_order_live_bytes)} are alive at once"
    for row in found.readings[1:]:
        if row.lost_bytes:
            yield f"{row.temporaries} by {row.liveness}: {_bytes_text(row.lost_bytes)} more alive"
    if found.storages is not None:
        sizes = [row.max_bytes for row in found.storages.storages]
        yield f"{count_text(len(sizes), 'storage')} of Relay's planner, together {_bytes_text(sum(sizes))}"
    for peak in found.peaks or ():
        planned = peak.status if peak.peak is None else f"peak {_bytes_text(peak.peak)}"
        yield f"{peak.temporaries} by {peak.liveness}, planned {peak.planning}: {planned}"


def _bytes_text(size: int) -> str:
    return f"{size:,} bytes ({size_text(size)})" if size >= 1024 else f"{size} bytes"


_PLAN = replace(
    PLAN,
    help="Run the operations on the addresses of this plan, a JSON or CSV file.",
    from_file=lambda reader, data, name, question: reader.plan(data, name, problem_of(question["operations"])),
    required=False,
    named_by_flag=True,
)
QUESTION = Question(
    liveness,
    inputs=(OPERATIONS, _PLAN),
    lines=answer_lines,
    exit_status=lambda found: 3 if found.shadow is not None and not found.shadow.intact else 0,
    exits={0: "there are lifetimes, and nothing is overwritten", 3: "something is overwritten"},
    is_brief=lambda extent, options: not options.compare and extent.n_expanded <= _BRIEF,
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
