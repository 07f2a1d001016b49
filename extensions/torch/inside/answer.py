"""The answer whether a torch step fits: its live bytes, the bytes of a plan, and the bytes that the allocator reserves.

Live bytes are the sizes of all storages at the live peak. The plan places all storages in one arena and has a lower
bound on the peak of every plan; reserved bytes are those of the segments of torch's simulated caching allocator.
"""

import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.torch.inside.advice import Advice, advice_of
from memplan.extensions.torch.inside.captures import refuse_unknown_graphs
from memplan.extensions.torch.inside.demand import (
    Simulation,
    add_workspace,
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
from memplan.runtimes.torch.snapshot import graph_of, lifetime, recorded_steps
from memplan.runtimes.torch.storages import ROLES, StepMemory, Storage
from memplan.solvers.portfolio.solve import solve

_MOST_GROUPS = 12


class AliveGroup(Answer):
    """Storages that are alive at the live peak and share purpose, module, source line and operation."""

    role: str
    module: str
    line: str
    operation: str
    bytes: int
    count: int


class Unknown(Answer):
    """Memory that a step needs but no trace shows, with the option that sets its size and the bytes assumed."""

    name: str
    option: str
    bytes: int | None


class LargestSize(Answer):
    """The largest size at which the step fits, or None if it never fits, and the number of sizes tried."""

    name: str
    size: int | None
    tried: int


class Checkpointed(Answer):
    """Modules whose activations `torch.utils.checkpoint` recomputes so that a step fits.

    `extra_cost` is the cost of the repeated operations, as a fraction of the cost of all. `modules` is None if no
    choice fits.
    """

    modules: tuple[str, ...] | None
    extra_cost: float
    tried: int


class BetterOrder(Answer):
    """The memory of the step in one arena, in the best order found, if each storage is freed after its last reader.

    `peak` is the peak of a plan in that order. `recomputed` is the peak if single operations run again, and
    `extra_cost` the fraction of the cost that they add; `recomputed` is None if this was not needed. torch.compile uses
    such orders with the backend memplan.
    """

    given_peak: int
    peak: int
    lower_bound: int
    recomputed: int | None
    extra_cost: float


class Ways(Answer):
    """Changes with which a step fits: smaller sizes such as the batch, modules to checkpoint, or a better order."""

    sizes: tuple[LargestSize, ...]
    checkpoint: Checkpointed | None
    order: BetterOrder


class Left(Answer):
    """The bytes of a capacity that remain free during the whole step, for example for a cache.

    `most` is the capacity minus the live peak, an upper bound for every allocator. `total` is the capacity minus the
    allocator's blocks, and `contiguous` the largest piece of it; `planned` is the capacity minus a planned arena.
    """

    most: int
    total: int
    contiguous: int
    planned: int | None


class Recorded(Answer):
    """The memory of a device as a snapshot recorded it, and as the simulated allocator uses it for the same requests.

    `misplaced` counts blocks with a different address in the simulation; `is_equal` is True if both end with equal
    segments. `notes` are sentences on what the snapshot does not show.
    """

    device: int
    reserved: int
    simulated: int
    misplaced: int
    is_equal: bool
    notes: tuple[str, ...] = ()


class Turns(Answer):
    """The private pools of CUDA graphs, compared with one arena for graphs that run in turns.

    `peak` is that of a plan in which all outputs stay; `peak_in_turns` is that of a plan in which the outputs of a
    graph are read before another graph runs. Each entry of `together` names graphs that may run at the same time.
    """

    graphs: int
    reserved: int
    peak: int | None
    lower_bound: int | None
    peak_in_turns: int | None = None
    together: tuple[tuple[str, ...], ...] = ()


class Compared(Answer):
    """A comparison of a snapshot's live peak with that of a traced step.

    `only_recorded` and `only_traced` map the size of storages that are alive at one of the two peaks only to their
    number, for the largest sizes.
    """

    live_peak: int
    reserved: int
    only_recorded: dict[int, int]
    only_traced: dict[int, int]


class FitsAnswer(Answer):
    """The answer whether a step fits, and why; sizes are in bytes.

    `fits` is None without a capacity, if a better plan may fit, or if an operator keeps memory that is not counted.
    `proof` states the evidence. `live_peak` is the peak sum of live storages, `peak` the bytes of a plan in one arena,
    and `lower_bound` the bytes that every such plan needs; `reserved` is the peak that the caching allocator reserves
    without a limit, None for allocators that are not simulated, and `reserved_most` the same with the most scratch
    memory that convolutions of cuDNN are taken to allocate. `roles` gives the bytes at the live peak by purpose,
    `alive` their largest groups by module and line, `running` the operation. `left` is set if a step surely fits,
    `recorded` and `turns` for snapshots, `compared` if a snapshot was given with the model.
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
    reserved_most: int | None = None
    left: Left | None = None
    recorded: Recorded | None = None
    turns: Turns | None = None
    compared: Compared | None = None
    ways: Ways | None = None
    advice: Advice | None = None
    problem: SkipJsonSchema[Problem | None] = Field(None, exclude=True, repr=False)
    plan: SkipJsonSchema[Plan | None] = Field(None, exclude=True, repr=False)
    graph: SkipJsonSchema[Any] = Field(None, exclude=True, repr=False)


class SnapshotAnswer(Answer):
    """The answer for a snapshot: whether the recorded step of each device fits its memory."""

    fits: bool | None
    devices: tuple[FitsAnswer, ...]


def fits_of_snapshot(data: bytes, **options: Any) -> SnapshotAnswer:
    """Decide whether the recorded step of an allocator snapshot fits, and return the bytes left; torch is not imported.

    The options are the fields of `FitsOptions`; the allocator `cuda` uses the settings stored in the snapshot. Raises
    FormatError for data that are not a snapshot, and OptionError.
    """
    device = validate_options(FitsOptions, options)
    device.refuse_workspace("for a snapshot, whose blocks contain the workspace")
    answers = []
    steps = recorded_steps(data)
    for step in steps.values():
        refuse_unknown_graphs(step, device.together)
    for number, step in steps.items():
        answer, simulated = judge_step(step, device), simulate(step, device, None)
        recorded = Recorded(
            device=number,
            reserved=step.most_reserved or 0,
            simulated=simulated.allocator.peak,
            misplaced=simulated.misplaced,
            is_equal=simulated.allocator.segments == {row.address: row.size for row in step.last_segments},
            notes=step.notes,
        )
        answers.append(answer.model_copy(update={"recorded": recorded, "turns": _graphs_in_turns(step, device)}))
    verdicts = [answer.fits for answer in answers]
    return SnapshotAnswer(
        fits=False if False in verdicts else None if None in verdicts else True, devices=tuple(answers)
    )


def judge_step(step: StepMemory, device: FitsOptions) -> FitsAnswer:
    """Return the answer whether a recorded step fits a device."""
    began, step = time.monotonic(), add_workspace(step, device)
    live_peak, at = live_peak_of(step, device)
    alive = _alive_at(step, device, at)
    problem = problem_of(step, device)
    plan = solve(problem, time_limit_s=device.time_limit_s)
    unlimited = simulate(step, device, None) if device.is_simulated else None
    most = simulate(step, device, None, has_scratch=True) if device.is_simulated else None
    decided, proof = _verdict(step, device, live_peak, plan)
    if decided and (unsure := unsure_operators(step, device)):
        rule = f"open: what {', '.join(unsure)} keeps on the device is not counted, say it as kernel_workspace"
        decided, proof = None, f"{rule}; else {proof}"
    roles = Counter[str]()
    for tensor in alive:
        roles[tensor.role] += tensor.size
    return FitsAnswer(
        advice=advice_of(step, device) if device.advise else None,
        fits=decided,
        proof=proof,
        capacity=device.capacity,
        allocator=device.allocator,
        live_peak=live_peak,
        peak=plan.peak,
        lower_bound=plan.lower_bound,
        status=plan.status,
        reserved=unlimited and unlimited.allocator.peak,
        reserved_most=most and most.allocator.peak,
        roles={role: roles[role] for role in ROLES if roles[role]},
        running=_operation_text(step, at),
        alive=_largest_groups(alive),
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
    """Compare a traced step with the snapshot's step on the device with the highest live peak.

    Sizes are rounded up to the blocks of the allocator.
    """
    recorded, step = max(steps.values(), key=lambda each: live_peak_of(each, device)[0]), add_workspace(step, device)
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
    """Return the usable bytes that a fitting step leaves free, with a plan and with the simulated allocator."""
    free, inside, piece = usable - live_peak, 0, 0
    if unlimited is not None:
        free, (inside, piece) = max(0, usable - unlimited.allocator.peak), unlimited.idle_bytes
    return Left(
        most=usable - live_peak,
        total=free + inside,
        contiguous=max(free, piece),
        planned=None if plan.peak is None else max(0, usable - plan.peak),
    )


def _graphs_in_turns(step: StepMemory, device: FitsOptions) -> Turns | None:
    """Return the bytes that a snapshot's CUDA graphs need if they run one after another; None without graphs."""
    held = sum(segment.size for segment in step.last_segments if segment.private)
    rows: dict[str, list[Buffer]] = {}
    outputs = []
    for k, tensor in enumerate(step.tensors):
        if tensor.private and tensor.size:
            name = graph_of(tensor)
            start, end = lifetime(tensor, len(step.events))
            buffer = Buffer(id=k, size=tensor.size, start=start, end=end, alignment=device.alignment)
            rows.setdefault(name, []).append(buffer)
            outputs += [f"{name}/{k}"] if tensor.end is None else []
    models = {name: Problem(buffers=own) for name, own in rows.items()}
    if not models:
        return None
    groups = tuple(tuple(name for name in group if name in models) for group in device.together)
    kept, read = (
        solve(Application(models=models, persistent=names, together=groups).problem, time_limit_s=device.time_limit_s)
        for names in (tuple(outputs), ())
    )
    return Turns(
        graphs=len(models),
        reserved=held,
        peak=kept.peak,
        lower_bound=kept.lower_bound,
        peak_in_turns=read.peak,
        together=groups,
    )


def _verdict(step: StepMemory, device: FitsOptions, live_peak: int, plan: Plan) -> tuple[bool | None, str]:
    """Return whether a step fits, or None if that is unknown, and a sentence that gives the reason."""
    usable = device.usable_bytes
    if usable is None:
        return None, "no capacity is given"
    room = f"{size_text(usable)} for tensors"
    if live_peak > usable:
        own = sum(tensor.size for tensor in step.tensors if tensor.role == "workspaces")
        part = f", {size_text(own)} of it cuBLAS's workspace (--cublas-workspace)" if own else ""
        return False, f"proved: {size_text(live_peak)} are alive at once{part}, more than {room}, wherever they lie"
    if device.is_simulated:
        result = simulate(step, device, usable)
        most = simulate(step, device, usable, has_scratch=True)
        held = size_text(result.allocator.peak)
        if result.stopped is None and most.stopped is not None:
            rule = (
                f"open: the step runs with {held} reserved, but not with two copies of the tensors of each convolution"
            )
            return None, f"{rule} as scratch memory; cuDNN may take less: say its most as kernel_workspace"
        if result.stopped is None:
            return True, f"simulated: the allocator runs the step with {held} reserved, within {room}"
        way = ""
        if plan.peak is not None and plan.peak <= usable:
            way = f"; a plan of one arena needs {size_text(plan.peak)} and fits"
        return False, f"simulated: {result.stopped} cannot be allocated within {room}, as memory is in pieces{way}"
    if device.allocator == "cpu":
        return True, f"counted: storages of {size_text(live_peak)} at once, within {room}; scratch of kernels is not"
    if plan.peak is not None and plan.peak <= usable:
        return True, f"planned: one arena of {size_text(plan.peak)}, verified, within {room}"
    if (plan.lower_bound or 0) > usable:
        return False, f"proved: no arena is below {plan.lower_bound:,} bytes, more than {room}"
    return None, f"open: an arena needs between {plan.lower_bound:,} and {plan.peak or 0:,} bytes, the plan's"


def _alive_at(step: StepMemory, device: FitsOptions, at: int) -> list[Storage]:
    return [
        tensor
        for tensor in step.tensors
        if device.is_counted(tensor)
        and (tensor.phase == "given" or tensor.start < at)
        and (tensor.end is None or tensor.end >= at)
    ]


def _operation_text(step: StepMemory, at: int) -> str:
    if not at:
        return "before the step"
    tensor = step.tensors[step.events[at - 1]]
    return f"{tensor.operation or tensor.line or 'a storage'} of {tensor.module or 'the step'}, {tensor.phase}"


def _largest_groups(alive: Collection[Storage]) -> tuple[AliveGroup, ...]:
    """Return the largest groups of live storages by role, module, line and operation."""
    bytes_, count = Counter[tuple[str, str, str, str]](), Counter[tuple[str, str, str, str]]()
    for tensor in alive:
        key = tensor.role, tensor.module, tensor.line, tensor.operation
        bytes_[key] += tensor.size
        count[key] += 1
    return tuple(
        AliveGroup(role=key[0], module=key[1], line=key[2], operation=key[3], bytes=size, count=count[key])
        for key, size in bytes_.most_common(_MOST_GROUPS)
    )
