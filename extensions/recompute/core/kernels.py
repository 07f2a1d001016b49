"""The tables that pass data to the compiled searches for recomputation; the C++ files are in this folder."""

from typing import NamedTuple

from memplan.extensions.recompute.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64

REPLAYED, REPLAY_STOPPED = 1, -1


class Reruns(NamedTuple):
    """A graph of n operations and m tensors whose operations may run again, in any order.

    Operation v needs the tensors input[input_first[v]:input_first[v + 1]] in memory; likewise, it writes new values of
    tensors in `output`, and waits for the first run of operations in `before`. If its `is_again` is set, it may run
    again until one of its operations in `behind` has run. A tensor that no operation writes has the `maker` -1.
    """

    input_first: I64  # (n + 1,): start of each operation's inputs, then the end of the last operation's inputs
    input: I64
    output_first: I64  # (n + 1,): start of each operation's outputs, then the end of the last operation's outputs
    output: I64
    before_first: I64  # (n + 1,): start of each operation's entries in `before`, then the end of the last entries
    before: I64
    behind_first: I64  # (n + 1,): start of each operation's entries in `behind`, then the end of the last entries
    behind: I64
    is_again: I64  # (n,): 1 for each operation that may run again, else 0
    work: I64  # (n,): bytes of each operation's workspace
    cost: I64  # (n,): cost of one run of each operation
    size: I64  # (m,): bytes of each tensor
    maker: I64  # (m,): number of the operation that writes each tensor, or -1 for a given tensor
    is_there: I64  # (m,): 1 for each tensor that takes bytes before it is written, else 0
    is_kept: I64  # (m,): 1 for each tensor that is needed at the end, else 0


class StayRows(NamedTuple):
    """The stays of a graph's tensors; a stay is the time between two uses of a tensor.

    Tensor t has the stays stay_first[t]:stay_first[t + 1]. Its last stay begins with its last use and has no end.
    """

    stay_first: I64  # (m + 1,): start of each tensor's stays, then the end of the last tensor's stays
    tensor: I64  # (stays,): tensor of each stay
    end: I64  # (stays,): operation that ends each stay, or n for the last stay of a tensor


class Replay(NamedTuple):
    """The input and output of a replay, which computes the peak and cost of a program after each of several changes.

    A stay is the time between two uses of a tensor; if it is dropped, the tensor is not kept meanwhile. Try k changes
    the stays change[change_first[k]:change_first[k + 1]]. `drop[s]` is the kind of drop of stay s, one of `Drop` in
    replay.hpp. Each try has the outputs `peak[k]`, `cost[k]` (of all runs), and `excess[k]` (the bytes above `budget`,
    summed over the steps). If a program has more than len(run) steps, its peak is -1. The last try runs the operations
    `run[:answer[0]]`, in this order; answer[1] counts the steps of all tries.
    """

    budget: int
    order: I64  # (n,): operations in the order of their first runs
    drop: I64
    change_first: I64  # (tries + 1,): start of each try's changes, then the end of the last try's changes
    change: I64
    peak: I64  # (tries,): output, peak of each try in bytes, or -1 if its program has too many steps
    cost: I64  # (tries,): output, total cost of all runs of each try
    excess: F64  # (tries,): output, bytes of each try above the budget, summed over the steps
    run: I64
    flag: I64  # (1,): flag that another thread sets to stop the replays
    answer: I64  # (2,): output, number of steps of the last try, and number of steps of all tries


replay_drops = LIBRARY.kernel("replay_drops", tables=3)
"""`replay_drops(reruns, stay_rows, replay)`: try each change of drops (times without a tensor).

Return REPLAYED, or REPLAY_STOPPED if another thread set flag[0].
"""


ANNEALED, ANNEAL_STOPPED = 1, -1


class Annealing(NamedTuple):
    """The input and output of simulated annealing, which makes programs cheaper.

    It changes the order of operations and the drops, the times in which a tensor is not kept. The search makes `steps`
    steps towards programs within `budget`, from a temperature of `heat` times the average cost of an operation. The
    stays in `stay` may be dropped; `begin` has their starts in the order 0, 1, ... of operations. Each of the ascending
    peaks in `mark` has the cheapest program whose peak is above the previous mark and at most this one: its `cost`, its
    `peak`, and its rows of `orders` and `drops`.
    """

    budget: int
    seed: int
    steps: int
    heat: float
    order: I64  # (n,): operations in the order of their first runs, which the kernel changes
    drop: I64  # (all stays,): kind of drop of each stay; the kernel changes it
    stay: I64
    begin: I64  # (all stays,): position at which each stay begins if the operations run in the order 0, 1, ...
    run: I64
    mark: I64
    cost: I64  # (marks,): cost of the cheapest program at each mark; the kernel replaces programs by cheaper ones
    peak: I64
    orders: I64
    drops: I64
    flag: I64  # (1,): flag that another thread sets to stop the search
    answer: I64  # (4,): output, number of steps, number of improvements, and peak and cost of the final `drop`


anneal = LIBRARY.kernel("anneal", tables=3)
"""`anneal(reruns, stay_rows, annealing)`: change an order and drops (times without a tensor) at random.

Return ANNEALED, or ANNEAL_STOPPED if another thread set flag[0].
"""


MOST_IN_STATE = 128
"""The maximum number of operations, and of tensors, of a graph for a search over states."""
LEAST, NONE = 1, 0


class LeastRuns(NamedTuple):
    """The input and output of the search for the cheapest runs within `budget` bytes and a cost of at most `most`.

    Output over_output[k] of operation v may overwrite its input over_input[k], for k in over_first[v]:over_first[v +
    1], if no later run needs this copy of the input. The search ends once another thread sets flag[0], or after
    `node_limit` states.
    """

    budget: int
    most: int
    node_limit: int
    over_first: I64  # (n + 1,): start of each operation's pairs, then the end of the last operation's pairs
    over_output: I64
    over_input: I64
    run: I64  # (most runs,): output, the operations of the cheapest runs found, in order
    answer: I64  # (4,): output, number of runs, cost of repeated runs, lower bound on that cost, number of states
    flag: I64  # (1,): flag that another thread sets to stop the search


least_work = LIBRARY.kernel("least_work", tables=2)
"""`least_work(reruns, least_runs)`: search over all states, the most promising ones first.

LEAST: run[:answer[0]] are runs of least cost. NONE: no runs cost at most `most`; if answer[2] is 2^60, no runs are
within the budget at any cost. STOPPED: the limit or the flag ended the search; answer[2] is a valid lower bound.
"""


MOST_LINKED = 64
"""The maximum number of operations, and of tensors, of a graph with a link whose programs can all be searched."""


class LeastTime(NamedTuple):
    """The input and output of the search for the fastest program within `budget` bytes and a time of at most `most`.

    The search ends once another thread sets flag[0], or after `node_limit` states.
    """

    budget: int
    most: int
    node_limit: int
    transfer: I64  # (m,): transfer time of each tensor, or -1 if the tensor cannot be sent
    kind: I64  # (most steps,): output, kind of each step: 0 runs an operation, 1 sends a tensor, 2 fetches one
    what: I64  # (most steps,): output, the operation or tensor of each step
    start: I64  # (most steps,): output, the start time of each step
    answer: I64  # (4,): output, number of steps, time, lower bound on the time of all programs, number of states
    flag: I64  # (1,): flag that another thread sets to stop the search


least_time = LIBRARY.kernel("least_time", tables=2)
"""`least_time(reruns, least_time)`: search all programs, the most promising ones first.

LEAST: the steps of a fastest program, in order. NONE: no program takes at most `most` time; if answer[2] is 2^60, no
program is within the budget. STOPPED: the limit or the flag ended the search; answer[2] is a valid lower bound.
"""


CHOSEN = 1


class Sequence(NamedTuple):
    """A sequence of n runs, and the stays of tensors that may be offloaded during some of these runs.

    A stay is the time between two uses of a tensor, at the runs `begin` and `end`; -1 is the start, n the end. The
    tensor can be sent once the run `made`, which writes it, has ended.
    """

    before: I64  # (n + 1,): start time of each run, then time of the end, if no run waits for a transfer
    bytes: I64  # (n + 1,): bytes during each run, then at the end, if no tensor is offloaded
    tensor: I64  # (stays,): tensor of each stay; the columns that follow also have one entry per stay
    size: I64
    made: I64
    begin: I64  # (stays,): run with which each stay begins, ascending
    end: I64
    transfer: I64  # (stays,): time to send each stay's tensor, which is also the time to fetch it


class AwayChoice(NamedTuple):
    """The input and output of the search for tensors to offload in a sequence, within `limit` bytes in the least time.

    At the start, a stay is offloaded during the runs `first` to `last`, unless these are -1. The search ends at a time
    of `goal`, after `work` units of work, or after a long time without improvement.
    """

    limit: int
    goal: int
    seed: int
    work: int
    first: I64  # (stays,): first run during which each stay is offloaded, or -1; the kernel changes it
    last: I64  # (stays,): last run during which each stay is offloaded, or -1; the kernel changes it
    send: I64  # (stays,): output, time at which the send of each stay's tensor starts, or -1 without a send
    fetch: I64
    late: I64  # (n + 1,): output, delay by transfers of each run, then of the end
    flag: I64  # (1,): flag that another thread sets to stop the search
    answer: I64  # (3,): output, time, work units, and number of rounds


choose_away = LIBRARY.kernel("choose_away", tables=2)
"""`choose_away(sequence, away_choice)`: choose the tensors to offload, then try other stays (times between uses).

CHOSEN: a choice within the limit was found. NONE: no choice is within the limit. STOPPED: flag[0] was set before that.
"""
