"""A program run in one order with tensors dropped on the way: what is alive, and what it costs; replay.cpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Flags

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
    flag: I64  # (1,)
    answer: I64  # (2,)


replay_drops = LIBRARY.kernel("replay_drops", tables=2)
"""`replay_drops(program, replay)`: try each change of the drops by itself.

Returns REPLAYED, or REPLAY_STOPPED where flag[0] was set.
"""
