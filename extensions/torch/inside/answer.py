"""The answer whether a step of torch fits: live bytes, bytes of a plan, and bytes that the allocator reserves.

Live bytes are those of storages, at the moment when most are alive. The plan puts all of them into one arena, with a
bound below which no placement ends; `reserved` is what torch's caching allocator holds, by its rules.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.torch.files.snapshot import graph_name, lifetime, steps_of
from memplan.extensions.torch.files.storages import ROLES, StepMemory, Storage
from memplan.extensions.torch.inside.advice import Advice, advice_of
from memplan.extensions.torch.inside.demand import (
    Simulation,
    has_products,
    live_peak_of,
    problem_of,
    simulate,
    unsure_operators,
)
from memplan.extensions.torch.inside.device import APART, FitsOptions
from memplan.planner.model.application import Application
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.planner.model.sizes import size_text
from memplan.questions.question import Answer
from memplan.questions.reading import validate_options
from memplan.solvers.portfolio.solve import solve

_MOST_GROUPS = 12


class AliveGroup(Answer):
    """Storages alive at the peak with the same purpose, module and source line."""

    role: str
    module: str
    line: str
    operation: str
    bytes: int
    count: int


class Unknown(Answer):
    """Memory that a step needs but no trace shows, with the option that states it and the bytes assumed for it."""

    name: str
    option: str
    bytes: int | None


class LargestSize(Answer):
    """The largest size that fits, and the next size that was tried and does not; None if no size fits."""

    name: str
    size: int | None
    tried: int


class Checkpointed(Answer):
    """Modules whose activations are recomputed by `torch.utils.checkpoint`, so that a step fits.

    `extra_cost` is the part of the cost of all operations that runs twice. `modules` is None where no choice fits.
    """

    modules: tuple[str, ...] | None
    extra_cost: float
    tried: int


class BetterOrder(Answer):
    """The memory of the step in the best order found, in one arena, if each storage is freed after its last reader.

    `peak` is that of a plan. `recomputed` is the peak, and `extra_cost` the part of the cost, where single operations
    run again; None where that was not needed. It is what torch.compile with the backend memplan does.
    """

    given_peak: int
    peak: int
    lower_bound: int
    recomputed: int | None
    extra_cost: float


class Ways(Answer):
    """Ways to make a step fit: smaller sizes such as the batch, modules to checkpoint, a better order."""

    sizes: tuple[LargestSize, ...]
    checkpoint: Checkpointed | None
    order: BetterOrder


class Left(Answer):
    """The bytes of a capacity that remain free during the whole step, for example for a cache.

    `most` is beside the live peak: no allocator leaves more. `total` is beside the blocks that the allocator gives out,
    `contiguous` of it in one piece; `planned` is behind one arena.
    """

    most: int
    total: int
    contiguous: int
    planned: int | None


class Recorded(Answer):
    """The recorded memory of a device in a snapshot, and that of the simulated allocator for the same requests.

    `misplaced` are the blocks that it gives out elsewhere, `is_equal` says that it ends with the same segments.
    """

    device: int
    reserved: int
    simulated: int
    misplaced: int
    is_equal: bool


class Turns(Answer):
    """The private pools of CUDA graphs, compared with one arena for graphs that take turns and keep their outputs."""

    graphs: int
    reserved: int
    peak: int | None
    lower_bound: int | None


class Compared(Answer):
    """A step compared with its snapshot: the largest storages that are alive at the peak in only one of the two."""

    live_peak: int
    reserved: int
    only_recorded: dict[int, int]
    only_traced: dict[int, int]


class FitsAnswer(Answer):
    """The answer whether a step fits, and why; sizes are in bytes.

    `fits` is None if a better plan may fit, or if an operator keeps memory that is not counted. `proof` says how the
    answer is known. `live_peak` is the most that storages take at once, `peak` what a plan of one arena needs and
    `lower_bound` what every such plan needs; `reserved` is what the caching allocator holds at most where memory does
    not end, None for allocators that are not simulated. `roles` are the bytes at the live peak by what they are for,
    `alive` the largest of them by module and line, `running` the operation. `left` is there where a step surely fits,
    `recorded` and `turns` for snapshots, `compared` where a snapshot was given beside the model.
    """

    fits: bool | None
    proof: str
    capacity: int | None
    allocator: str
    live_peak: int
    peak: int | None
    lower_bound: int | None
    status: str
    reserved: int | None
    roles: dict[str, int]
    running: str
    alive: tuple[AliveGroup, ...]
    unknown: tuple[Unknown, ...]
    wall_time_s: float
    left: Left | None = None
    recorded: Recorded | None = None
    turns: Turns | None = None
    compared: Compared | None = None
    ways: Ways | None = None
    advice: Advice | None = None
    problem: SkipJsonSchema[Problem | None] = Field(None, exclude=True, repr=False)
    plan: SkipJsonSchema[Plan | None] = Field(None, exclude=True, repr=False)


class SnapshotAnswer(Answer):
    """The answer for a snapshot: whether the memory of each device suffices."""

    fits: bool | None
    devices: tuple[FitsAnswer, ...]


def fits_of_snapshot(data: bytes, **options: Any) -> SnapshotAnswer:
    """Return whether the recorded step of an allocator snapshot fits, and the bytes left; torch is not imported.

    The options are those of `FitsOptions`; `cuda` are the settings that the snapshot holds. Raises FormatError for data
    that are none, and OptionError.
    """
    device = validate_options(FitsOptions, options)
    answers = []
    for number, step in steps_of(data).items():
        answer, simulated = judge_step(step, device), simulate(step, device, None)
        recorded = Recorded(
            device=number,
            reserved=step.most_reserved or 0,
            simulated=simulated.allocator.peak,
            misplaced=simulated.misplaced,
            is_equal=simulated.allocator.segments == {row.address: row.size for row in step.last_segments},
        )
        answers.append(answer.model_copy(update={"recorded": recorded, "turns": _turns(step, device)}))
    verdicts = [answer.fits for answer in answers]
    return SnapshotAnswer(
        fits=False if False in verdicts else None if None in verdicts else True, devices=tuple(answers)
    )


def judge_step(step: StepMemory, device: FitsOptions) -> FitsAnswer:
    """Return the answer for a recorded step."""
    began = time.monotonic()
    live_peak, at = live_peak_of(step, device)
    alive = _alive_at(step, device, at)
    problem = problem_of(step, device)
    plan = solve(problem, time_limit_s=device.time_limit_s)
    unlimited = simulate(step, device, None) if device.is_simulated else None
    decided, proof = _decide(step, device, live_peak, plan)
    if decided and (unsure := unsure_operators(step, device)):
        rule = f"open: what {', '.join(unsure)} keeps on the device is not counted, say it as kernel_workspace"
        decided, proof = None, f"{rule}; else {proof}"
    roles = Counter[str]()
    for tensor in alive:
        roles[tensor.role] += tensor.size
    workspace = device.cublas_workspace if device.is_simulated and has_products(step) else 0
    least = plan.status == "optimal"
    return FitsAnswer(
        advice=advice_of(step, device, plan.peak, is_least=least) if device.advise else None,
        fits=decided,
        proof=proof,
        capacity=device.capacity,
        allocator=device.allocator,
        live_peak=live_peak,
        peak=plan.peak,
        lower_bound=plan.lower_bound,
        status=plan.status,
        reserved=unlimited and unlimited.allocator.peak,
        roles={role: roles[role] for role in ROLES if roles[role]} | ({"workspaces": workspace} if workspace else {}),
        running=_operation_text(step, at),
        alive=_groups(alive),
        unknown=tuple(
            Unknown(name=unknown_name, option=name, bytes=getattr(device, name)) for name, unknown_name in APART.items()
        ),
        wall_time_s=time.monotonic() - began,
        left=_remaining_bytes(device.usable_bytes, live_peak, plan, unlimited)
        if decided and device.usable_bytes is not None
        else None,
        problem=problem,
        plan=plan,
    )


def compare_with_snapshot(step: StepMemory, device: FitsOptions, steps: Mapping[int, StepMemory]) -> Compared:
    """Compare the peak of a step with that of the fullest device of a snapshot, in sizes of allocator blocks."""
    recorded = max(steps.values(), key=lambda each: live_peak_of(each, device)[0])
    sizes = []
    for each in (recorded, step):
        round_up = device.settings(each).round_size
        alive = _alive_at(each, device, live_peak_of(each, device)[1])
        sizes.append(Counter(round_up(tensor.size) for tensor in alive))
    only = [dict(sorted((a - b).items(), reverse=True)[:_MOST_GROUPS]) for a, b in (sizes, sizes[::-1])]
    return Compared(
        live_peak=live_peak_of(recorded, device)[0],
        reserved=recorded.most_reserved or 0,
        only_recorded=only[0],
        only_traced=only[1],
    )


def _remaining_bytes(usable: int, live_peak: int, plan: Plan, unlimited: Simulation | None) -> Left:
    """Return how many of the usable bytes a fitting step leaves."""
    free, inside, piece = usable - live_peak, 0, 0
    if unlimited is not None:
        free, (inside, piece) = max(0, usable - unlimited.allocator.peak), unlimited.idle_bytes
    return Left(
        most=usable - live_peak,
        total=free + inside,
        contiguous=max(free, piece),
        planned=None if plan.peak is None else max(0, usable - plan.peak),
    )


def _turns(step: StepMemory, device: FitsOptions) -> Turns | None:
    """Return the bytes that the CUDA graphs of a snapshot need if they take turns; None if it has none."""
    held = Counter[str]()
    for segment in step.last_segments:
        if segment.private:
            held[graph_name(segment.private)] += segment.size
    rows: dict[str, list[Buffer]] = {name: [] for name in held}
    outputs = []
    for k, tensor in enumerate(step.tensors):
        if tensor.private and tensor.size:
            name = graph_name(tensor.private)
            start, end = lifetime(tensor, len(step.events))
            rows[name].append(Buffer(id=k, size=tensor.size, start=start, end=end, alignment=device.alignment))
            outputs += [f"{name}/{k}"] if tensor.end is None else []
    models = {name: Problem(buffers=own) for name, own in rows.items() if own}
    if not models:
        return None
    problem = Application(models=models, persistent=tuple(outputs)).problem
    plan = solve(problem, time_limit_s=device.time_limit_s)
    return Turns(graphs=len(models), reserved=sum(held.values()), peak=plan.peak, lower_bound=plan.lower_bound)


def _decide(step: StepMemory, device: FitsOptions, live_peak: int, plan: Plan) -> tuple[bool | None, str]:
    """Return whether a step fits, if that is known, and the sentence that says why."""
    usable = device.usable_bytes
    if usable is None:
        return None, "no capacity is given"
    room = f"{size_text(usable)} for tensors"
    if live_peak > usable:
        return False, f"proved: {size_text(live_peak)} are alive at once, more than {room}, wherever they lie"
    if device.is_simulated:
        result = simulate(step, device, usable)
        if result.stopped is None:
            held = size_text(result.allocator.peak)
            return True, f"simulated: the allocator runs the step with {held} reserved, within {room}"
        way = ""
        if plan.peak is not None and plan.peak <= usable:
            way = f"; a plan of one arena needs {size_text(plan.peak)} and fits"
        return False, f"simulated: {result.stopped} cannot be allocated within {room}, as memory is in pieces{way}"
    if device.allocator == "cpu":
        return True, f"counted: {size_text(live_peak)} are alive at once, within {room}"
    if plan.peak is not None and plan.peak <= usable:
        return True, f"planned: one arena of {size_text(plan.peak)}, verified, within {room}"
    if (plan.lower_bound or 0) > usable:
        return False, f"proved: no arena is below {plan.lower_bound:,} bytes, more than {room}"
    return None, f"open: an arena needs between {plan.lower_bound:,} and {plan.peak or 0:,} bytes, the plan's"


def _alive_at(step: StepMemory, device: FitsOptions, at: int) -> list[Storage]:
    """Return the storages of a device that are alive after `at` events."""
    return [
        tensor
        for tensor in step.tensors
        if device.counts(tensor)
        and (tensor.phase == "given" or tensor.start < at)
        and (tensor.end is None or tensor.end >= at)
    ]


def _operation_text(step: StepMemory, at: int) -> str:
    """Describe the operation that makes the last storage of the peak."""
    if not at:
        return "before the step"
    tensor = step.tensors[step.events[at - 1]]
    return f"{tensor.operation or tensor.line or 'a storage'} of {tensor.module or 'the step'}, {tensor.phase}"


def _groups(alive: Collection[Storage]) -> tuple[AliveGroup, ...]:
    """Return the largest groups of live storages by role, module and line."""
    bytes_, count = Counter[tuple[str, str, str, str]](), Counter[tuple[str, str, str, str]]()
    for tensor in alive:
        key = tensor.role, tensor.module, tensor.line, tensor.operation
        bytes_[key] += tensor.size
        count[key] += 1
    return tuple(
        AliveGroup(role=key[0], module=key[1], line=key[2], operation=key[3], bytes=size, count=count[key])
        for key, size in bytes_.most_common(_MOST_GROUPS)
    )
