"""Arguments of the compiled searches for recomputation, whose C++ files are in this folder."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.recompute.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64

REPLAYED, REPLAY_STOPPED = 1, -1


class Reruns(NamedTuple):
    """A graph of n operations and m tensors, of which operations may run again, in any order.

    Operation v needs the tensors input[input_first[v]:input_first[v + 1]] in memory, and makes output[...] anew. It
    waits for the first run of before[...]. If `is_again` is set, it may run again until one of `behind` has run.
    `maker` is -1 for a given tensor; a tensor with `is_there` 0 takes no bytes before it is made.
    """

    input_first: I64  # (n + 1,)
    input: I64
    output_first: I64  # (n + 1,)
    output: I64
    before_first: I64  # (n + 1,)
    before: I64
    behind_first: I64  # (n + 1,)
    behind: I64
    is_again: I64  # (n,)
    work: I64  # (n,)
    cost: I64  # (n,)
    size: I64  # (m,)
    maker: I64  # (m,)
    is_there: I64  # (m,)
    is_kept: I64  # (m,)


class StayRows(NamedTuple):
    """The stays of a graph's tensors; those of tensor t are stay_first[t]:stay_first[t + 1].

    Each use of a tensor ends a stay and starts the next one; the last stay has no end.
    """

    stay_first: I64  # (m + 1,)
    tensor: I64  # by stays
    end: I64  # by stays: the operation that ends it, or n


class Replay(NamedTuple):
    """Changes of drops to try in an order of the operations, and the results.

    Try k changes the stays change[change_first[k]:change_first[k + 1]]. `drop[s]` is the kind of drop of stay s: see
    `Drop` in replay.hpp. Filled: `peak[k]`, `cost[k]` (of all runs) and `excess[k]` (the bytes above `budget`, summed
    over the steps) of each try. A peak is -1 if the program has more than len(run) steps. `run[:answer[0]]` are the
    operations of the last try as they run; answer[1] counts the steps of all tries.
    """

    budget: int
    order: I64  # (n,)
    drop: I64
    change_first: I64  # (tries + 1,)
    change: I64
    peak: I64  # (tries,)
    cost: I64  # (tries,)
    excess: F64  # (tries,)
    run: I64
    flag: I64  # (1,)
    answer: I64  # (2,)


replay_drops = LIBRARY.kernel("replay_drops", tables=3)
"""`replay_drops(reruns, stay_rows, replay)`: try each change of the drops separately.

Returns REPLAYED, or REPLAY_STOPPED if flag[0] was set.
"""


ANNEALED, ANNEAL_STOPPED = 1, -1


class Annealing(NamedTuple):
    """An order and drops to anneal, and the cheapest programs found.

    The search is for programs within `budget`, for `steps` steps of programs, from a temperature that is `heat` times
    the average cost of an operation. The stays in `stay` may be dropped; `begin` is where each begins in the order 0,
    1, ... For each of the rising bytes in `mark`, `cost`, `peak` and the rows of `orders` and `drops` describe the
    cheapest program whose peak is above the previous mark and at most this one.
    """

    budget: int
    seed: int
    steps: int
    heat: float
    order: I64  # (n,): changed
    drop: I64  # changed
    stay: I64
    begin: I64  # by stays
    run: I64
    mark: I64
    cost: I64  # by marks, and so are the rest: changed where something cheaper is found
    peak: I64
    orders: I64
    drops: I64
    flag: I64  # (1,)
    answer: I64  # (4,): filled with the steps, how often something cheaper was found, and peak and cost of `drop`


anneal = LIBRARY.kernel("anneal", tables=3)
"""`anneal(reruns, stay_rows, annealing)`: change an order and drops at random, accepting fewer and fewer losses.

Returns ANNEALED, or ANNEAL_STOPPED if flag[0] was set.
"""


MOST_IN_STATE = 128
"""The most operations, and the most tensors, of a graph whose states can be searched."""
LEAST, NONE = 1, 0


class LeastRuns(NamedTuple):
    """The arguments and the result of the search for the cheapest runs within `budget` bytes that cost at most `most`.

    The search ends once flag[0] is set, or at `node_limit` states.
    """

    budget: int
    most: int
    node_limit: int
    run: I64  # filled
    answer: I64  # (4,): steps of the run, the cost of repeated runs, the lower bound on that cost, states
    flag: I64  # (1,)


least_work = LIBRARY.kernel("least_work", tables=2)
"""`least_work(reruns, least_runs)`: search all states, the most promising first.

LEAST: run[:answer[0]] are runs of least cost. NONE: no runs cost at most `most`; if answer[2] is 2^60, none are within
the budget at any cost. STOPPED: by the limit or the flag; answer[2] is a valid lower bound.
"""


MOST_LINKED = 64
"""The most operations, and the most tensors, of a graph with a link whose programs are all searched."""


class LeastTime(NamedTuple):
    """The arguments and the result of the search for the fastest program within `budget` bytes, in at most `most` time.

    The search ends once flag[0] is set, or at `node_limit` states.
    """

    budget: int
    most: int
    node_limit: int
    transfer: I64  # (m,): the transfer time of each tensor; -1 if it cannot be sent
    kind: I64  # filled: 0 for runs, 1 for sent tensors, 2 for fetched ones
    what: I64  # filled
    start: I64  # filled
    answer: I64  # (4,): steps, the time, the lower bound on the time of all programs, states
    flag: I64  # (1,)


least_time = LIBRARY.kernel("least_time", tables=2)
"""`least_time(reruns, least_time)`: search all programs, the most promising first.

LEAST: the steps of a fastest program, in order. NONE: no program takes at most `most`; if answer[2] is 2^60, none is
within the budget. STOPPED: by the limit or the flag; answer[2] is a valid lower bound.
"""


CHOSEN = 1


class Sequence(NamedTuple):
    """A sequence of n runs, and the stays of tensors that may be offloaded during some of them.

    A stay is the time between two uses of a tensor, at the runs `begin` and `end`; -1 is the start, n the end. The
    tensor can be sent once the run `made` has ended.
    """

    before: I64  # (n + 1,): the time before each run, and after all, without waiting for transfers
    bytes: I64  # (n + 1,): during each run, and after all, if no tensor is offloaded
    tensor: I64  # by stays, and so are the rest
    size: I64
    made: I64
    begin: I64  # rising
    end: I64
    transfer: I64  # the time to send it, or to fetch it


class AwayChoice(NamedTuple):
    """The choice of tensors to offload in a sequence, so that it takes at most `limit` bytes and little time.

    Initially, a stay is offloaded during the runs `first` to `last`, unless these are -1. The search ends at a time of
    `goal`, after this much `work`, or after a long time without a better choice.
    """

    limit: int
    goal: int
    seed: int
    work: int
    first: I64  # by stays: changed
    last: I64  # changed
    send: I64  # by stays: filled with the start of the transfer, -1 for none
    fetch: I64
    late: I64  # (n + 1,): filled with each run's delay by transfers
    flag: I64  # (1,)
    answer: I64  # (3,): filled with the time, the work and the rounds


choose_away = LIBRARY.kernel("choose_away", tables=2)
"""`choose_away(sequence, away_choice)`: choose the tensors to offload, then try other stays at random.

CHOSEN: the best choice, which is within the limit. NONE: there is none. STOPPED: flag[0] was set before one was found.
"""
