"""A program run in one order with tensors dropped on the way: what is made again, what is alive, what it costs."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.order.kernels import GROUP
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import F64, Flags, Rows, step

REPLAYED, REPLAY_STOPPED = 1, -1


class Program(NamedTuple):
    """n operations in the order in which they run, and m tensors.

    Operation v uses the tensors input[input_first[v]:input_first[v + 1]], each once, and makes the tensors
    output[output_first[v]:...]. It may run again before operation until[v], which is 0 where it may not. The uses of
    tensor t end its stays stay_first[t]:stay_first[t + 1], the last of which nothing ends. `maker` is -1 for a tensor
    that is given; one with `is_there` 0 takes no bytes before it is made.
    """

    input_first: I64  # (n + 1,)
    input: I64
    output_first: I64  # (n + 1,)
    output: I64
    work: I64  # (n,)
    cost: I64  # (n,)
    until: I64  # (n,)
    size: I64  # (m,)
    maker: I64  # (m,)
    is_there: I64  # (m,)
    is_kept: I64  # (m,)
    stay_first: I64  # (m + 1,)


class Replay(NamedTuple):
    """Drops to try, and what comes of each: try k changes the stays change[change_first[k]:change_first[k + 1]].

    `is_dropped[s]` says of each stay whether the tensor is dropped in it. Filled: `peak[k]`, `cost[k]` (of what runs
    again) and `excess[k]` (the bytes above `budget`, summed over the steps) of each try; -1 for a peak where more than
    len(run) steps would be needed. `run[:answer[0]]` are the operations of the last try as they run; answer[1] counts
    the steps of all.
    """

    budget: int
    is_dropped: Flags
    change_first: I64  # (tries + 1,)
    change: I64
    peak: I64  # (tries,)
    cost: I64  # (tries,)
    excess: F64  # (tries,)
    run: I64
    delta: I64  # (len(run) + 1,): scratch
    tensor: Rows  # (m, 4): scratch, see below
    wanted: Rows  # (n, 2): scratch: operations to run again, and the next input of each to look at
    flag: I64  # (1,)
    answer: I64  # (2,)


USES, SINCE, LAST, FRESH = range(4)
"""The columns of `tensor`: uses so far; the step that made it last, or -1; its last use since; made in this stay."""


@step
def is_at_hand(program: Program, replay: Replay, tensor: int, now: int) -> bool:
    """Return True if a tensor need not be made again for a use while operation `now` is due."""
    row, maker = replay.tensor[tensor], program.maker[tensor]
    stay = program.stay_first[tensor] + row[USES]
    return bool(row[FRESH] or not replay.is_dropped[stay] or maker < 0 or now >= program.until[maker])


@step
def execute(program: Program, replay: Replay, operation: int, at: int, is_again: int) -> None:
    """Run an operation at a step: its inputs are used, its outputs begin anew."""
    replay.run[at] = operation
    tensors, delta = replay.tensor, replay.delta
    for k in range(program.input_first[operation], program.input_first[operation + 1]):
        tensors[program.input[k], LAST] = at
    for k in range(program.output_first[operation], program.output_first[operation + 1]):
        tensor = program.output[k]
        if tensors[tensor, SINCE] >= 0:
            delta[tensors[tensor, SINCE]] += program.size[tensor]
            delta[tensors[tensor, LAST] + 1] -= program.size[tensor]
        tensors[tensor, SINCE] = at
        tensors[tensor, LAST] = at
        tensors[tensor, FRESH] = is_again


@step
def replay_all(program: Program, replay: Replay) -> int:
    """Run the operations in order, those that are needed again first; return the steps, -1 where they are too many."""
    n, most = len(program.work), len(replay.run)
    wanted, tensors = replay.wanted, replay.tensor
    at = 0
    for now in range(n):
        depth = 0
        wanted[0, 0] = now
        wanted[0, 1] = program.input_first[now]
        while depth >= 0:
            operation, k = wanted[depth, 0], wanted[depth, 1]
            end = program.input_first[operation + 1]
            while k < end and is_at_hand(program, replay, program.input[k], now):
                k += 1
            if k < end:
                wanted[depth, 1] = k + 1
                depth += 1
                maker = program.maker[program.input[k]]
                wanted[depth, 0] = maker
                wanted[depth, 1] = program.input_first[maker]
                continue
            if at >= most:
                return -1
            execute(program, replay, operation, at, 1 if depth > 0 else 0)
            at += 1
            depth -= 1
        for k in range(program.input_first[now], program.input_first[now + 1]):
            tensors[program.input[k], USES] += 1
            tensors[program.input[k], FRESH] = 0
    return at


@step
def start_replay(program: Program, replay: Replay) -> None:
    """Forget the last try."""
    for k in range(len(replay.delta)):
        replay.delta[k] = 0
    for tensor in range(len(program.size)):
        replay.tensor[tensor, USES] = 0
        replay.tensor[tensor, SINCE] = 0 if program.maker[tensor] < 0 and program.is_there[tensor] else -1
        replay.tensor[tensor, LAST] = 0
        replay.tensor[tensor, FRESH] = 0


@step
def count_bytes(program: Program, replay: Replay, trial: int, steps: int) -> None:
    """Count the bytes alive at each step, and what the operations that ran again cost."""
    cost = 0
    for tensor in range(len(program.size)):
        if replay.tensor[tensor, SINCE] >= 0:
            last = steps - 1 if program.is_kept[tensor] else replay.tensor[tensor, LAST]
            replay.delta[replay.tensor[tensor, SINCE]] += program.size[tensor]
            replay.delta[max(last, 0) + 1] -= program.size[tensor]
    live, peak, excess = 0, 0, 0.0
    for at in range(steps):
        operation = replay.run[at]
        live += replay.delta[at]
        here = live + program.work[operation]
        peak = max(peak, here)
        if here > replay.budget:
            excess += here - replay.budget
        cost += program.cost[operation]
    replay.peak[trial] = peak
    replay.cost[trial] = cost
    replay.excess[trial] = excess


@partial(Kernel, group=GROUP)
def replay_drops(program: Program, replay: Replay) -> int:
    """Try each change of the drops by itself; return REPLAYED, or REPLAY_STOPPED where flag[0] was set."""
    replay.answer[1] = 0
    for trial in range(len(replay.peak)):
        if replay.flag[0] != 0:
            return REPLAY_STOPPED
        first, end = replay.change_first[trial], replay.change_first[trial + 1]
        for k in range(first, end):
            replay.is_dropped[replay.change[k]] = not replay.is_dropped[replay.change[k]]
        start_replay(program, replay)
        steps = replay_all(program, replay)
        replay.answer[0] = steps
        if steps >= 0:
            count_bytes(program, replay, trial, steps)
        else:
            replay.peak[trial] = -1
        replay.answer[1] += max(steps, 0) + 1
        for k in range(first, end):
            replay.is_dropped[replay.change[k]] = not replay.is_dropped[replay.change[k]]
    return REPLAYED
