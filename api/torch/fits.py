"""The answer whether a step of torch fits: bytes that are alive, of a plan, and that the allocator reserves.

Live bytes are those of storages, at the moment when most are alive. The plan puts all of them into one arena, with a
bound below which no placement ends; `reserved` is what torch's caching allocator holds, by its rules.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.api.torch.demand import has_products, is_within, live_peak_of, problem_of, reserved
from memplan.api.torch.device import APART, Allocator, FitsOptions
from memplan.api.torch.recording import ROLES, Recording, Storage
from memplan.api.torch.step import TorchStep
from memplan.api.torch.ways import Ways, sizes_of, ways
from memplan.api.torch.ways import lines as lines_of_ways
from memplan.capabilities.capability import Answer
from memplan.capabilities.plan.solving import solve
from memplan.capabilities.reading import validated
from memplan.capabilities.sizes import size_text
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_MOST_GROUPS = 12


class AliveGroup(Answer):
    """Storages that are alive at the peak for one purpose, made by one module at one line of the user's."""

    role: str
    module: str
    line: str
    operation: str
    bytes: int
    count: int


class Unknown(Answer):
    """Memory that a step needs and that no trace shows: the option that says how much, and what was counted."""

    name: str
    option: str
    bytes: int | None


class FitsAnswer(Answer):
    """The answer whether a step fits, and why; sizes are in bytes.

    `fits` is None where the plan may still get within the capacity. `proof` says what decides. `live_peak` is the most
    that storages take at once, `peak` what a plan of one arena needs and `lower_bound` what every such plan needs;
    `reserved` is what the caching allocator holds at most where memory does not end, None for allocators that are not
    simulated. `roles` are the bytes at the live peak by what they are for, `alive` the largest of them by module and
    line, `running` the operation.
    """

    fits: bool | None
    proof: str
    capacity: int | None
    allocator: Allocator
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
    ways: Ways | None = None
    problem: SkipJsonSchema[Problem | None] = Field(None, exclude=True, repr=False)
    plan: SkipJsonSchema[Plan | None] = Field(None, exclude=True, repr=False)


def fits(
    model: Any, inputs: Any, *, loss: Any = None, targets: Any = (), optimizer: Any = None, **options: Any
) -> FitsAnswer:
    """Say whether a step of a model fits into so many bytes: inference, or training where there is a loss or optimizer.

    The step is that of `TorchStep`, run eagerly on fake tensors, or on real values if `computed`. The options are those
    of `FitsOptions`: `capacity`, as in "24GiB"; `allocator`, that of CUDA with its default settings or with
    `expandable_segments`, that of CPUs, or `plan`, one arena by memplan; workspaces and what else torch's allocator
    does not see, which is taken off the capacity if it is given. With `suggest` and a capacity, `ways` are the largest
    sizes, the modules to checkpoint, and what a better order needs.
    Raises InputError, which names the module, for steps that cannot be run, and OptionError.
    """
    device = validated(FitsOptions, options)
    step = TorchStep(model, inputs, loss, targets, optimizer)
    run = partial(TorchStep.recorded, foreach=device.allocator != "cpu", is_computed=device.computed)
    recording = run(step)
    answer = judged(recording, device)
    if not device.suggest or device.usable is None:
        return answer
    changing = sizes_of(step) if device.sizes is None else device.sizes
    tries = partial(is_within, device=device)
    found = ways(step, recording, device.usable, tries, run, changing, 2 * device.time_limit_s)
    return answer.model_copy(update={"ways": found})


def judged(recording: Recording, device: FitsOptions) -> FitsAnswer:
    """Return the answer for a step that was recorded."""
    began = time.monotonic()
    live_peak, at = live_peak_of(recording, device)
    alive = [tensor for tensor in recording.tensors if device.counts(tensor) and _is_alive(tensor, at)]
    problem = problem_of(recording, device)
    plan = solve(problem, time_limit_s=device.time_limit_s, explain_s=0)
    held = reserved(recording, device, None)[0] if device.is_simulated else None
    decided, proof = _decided(recording, device, live_peak, plan)
    roles = Counter[str]()
    for tensor in alive:
        roles[tensor.role] += tensor.size
    workspace = device.cublas_workspace if device.is_simulated and has_products(recording) else 0
    return FitsAnswer(
        fits=decided,
        proof=proof,
        capacity=device.capacity,
        allocator=device.allocator,
        live_peak=live_peak,
        peak=plan.peak,
        lower_bound=plan.lower_bound,
        status=plan.status,
        reserved=held,
        roles={role: roles[role] for role in ROLES if roles[role]} | ({"workspaces": workspace} if workspace else {}),
        running=_running(recording, at),
        alive=_groups(alive),
        unknown=tuple(Unknown(name=said, option=name, bytes=getattr(device, name)) for name, said in APART.items()),
        wall_time_s=time.monotonic() - began,
        problem=problem,
        plan=plan,
    )


def _decided(recording: Recording, device: FitsOptions, live_peak: int, plan: Plan) -> tuple[bool | None, str]:
    """Return whether a step fits, if that is known, and the sentence that says why."""
    usable = device.usable
    if usable is None:
        return None, "no capacity is given"
    room = f"{size_text(usable)} for tensors"
    if live_peak > usable:
        return False, f"proved: {size_text(live_peak)} are alive at once, more than {room}, wherever they lie"
    if device.is_simulated:
        held, stopped = reserved(recording, device, usable)
        if stopped is None:
            return True, f"simulated: the allocator runs the step with {size_text(held)} reserved, within {room}"
        way = ""
        if plan.peak is not None and plan.peak <= usable:
            way = f"; a plan of one arena needs {size_text(plan.peak)} and fits"
        return False, f"simulated: {stopped} cannot be allocated within {room}, as memory is in pieces{way}"
    if device.allocator == "cpu":
        return True, f"counted: {size_text(live_peak)} are alive at once, within {room}"
    if plan.peak is not None and plan.peak <= usable:
        return True, f"planned: one arena of {size_text(plan.peak)}, verified, within {room}"
    if (plan.lower_bound or 0) > usable:
        return False, f"proved: no arena is below {plan.lower_bound:,} bytes, more than {room}"
    return None, f"open: an arena needs between {plan.lower_bound:,} and {plan.peak or 0:,} bytes, the plan's"


def _is_alive(tensor: Storage, at: int) -> bool:
    """Return True for a storage that is alive when so many events are over."""
    return (tensor.phase == "given" or tensor.start < at) and (tensor.end is None or tensor.end >= at)


def _running(recording: Recording, at: int) -> str:
    """Say what makes the last storage of the peak."""
    if not at:
        return "before the step"
    tensor = recording.tensors[recording.events[at - 1]]
    return f"{tensor.operation} of {tensor.module or 'the step'}, {tensor.phase}"


def _groups(alive: Collection[Storage]) -> tuple[AliveGroup, ...]:
    """Return the largest groups of what is alive, by role, module and line."""
    bytes_, count = Counter[tuple[str, str, str, str]](), Counter[tuple[str, str, str, str]]()
    for tensor in alive:
        key = tensor.role, tensor.module, tensor.line, tensor.operation
        bytes_[key] += tensor.size
        count[key] += 1
    return tuple(
        AliveGroup(role=key[0], module=key[1], line=key[2], operation=key[3], bytes=size, count=count[key])
        for key, size in bytes_.most_common(_MOST_GROUPS)
    )


def lines(answer: FitsAnswer) -> Iterator[str]:
    """Yield an answer for people."""
    said = {True: "fits", False: "does not fit", None: "open"}[answer.fits]
    yield f"{said}: {answer.proof}"
    rows = [("live peak", answer.live_peak), ("planned peak", answer.peak), ("lower bound", answer.lower_bound)]
    for name, size in (*rows, ("reserved", answer.reserved), ("capacity", answer.capacity)):
        if size is not None:
            yield f"{name:<14}{size:>20,} bytes  {size_text(size):>10}"
    yield f"at the peak: {answer.running}"
    for role, size in answer.roles.items():
        yield f"  {role:<14}{size:>18,} bytes  {size_text(size):>10}"
    for group in answer.alive:
        where = " ".join(filter(None, (group.module, group.operation, group.line)))
        yield f"  {group.bytes:>18,} bytes in {group.count:>4}  {group.role}: {where}"
    for unknown in answer.unknown:
        said = "not known and not counted" if unknown.bytes is None else f"{size_text(unknown.bytes)}, as given"
        yield f"{unknown.name}: {said} (--{unknown.option.replace('_', '-')})"
    if answer.ways is not None:
        yield from lines_of_ways(answer.ways)
