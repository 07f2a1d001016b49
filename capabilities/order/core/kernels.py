"""Tables of the kernels that order operations; the C++ files beside."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import F64, Flags, Rows


class Moves(NamedTuple):
    """n macros in one direction: from the start (`is_forward`), or taken back from the end.

    Macro v runs the steps step_first[v]:step_first[v + 1]. At step j, `hill[j]` bytes more are alive meanwhile, and
    `net[j]` bytes more afterwards, less the bytes of the tensors free[free_first[j]:free_first[j + 1]] whose other
    readers have all run. Only a tensor with two readers or more, none of which must run before another one, is listed
    so; the readers of tensor t are reader[reader_first[t]:reader_first[t + 1]]. The macros next[next_first[v]:...] wait
    for v, and v waits for before[before_first[v]:...], both in the direction of the search.

    Outputs of step j may be written over inputs: it has the choices over_first[j]:over_first[j + 1], and choice c has
    the tensors over[input_first[c]:input_first[c + 1]]. Where those in the set of bits b have no other reader left,
    gain[gain_first[c] + b] bytes fewer are alive while the step runs.

    `group` and `code` give the key of a state, a sum over groups of sums over macros: macros that differ by their names
    only may have equal codes.
    """

    step_first: I64  # (n + 1,)
    hill: I64
    net: I64
    free_first: I64
    free: I64
    size: I64  # (m,): bytes of each tensor
    reader_first: I64  # (m + 1,)
    reader: I64
    over_first: I64
    input_first: I64
    over: I64
    gain_first: I64
    gain: I64
    next_first: I64  # (n + 1,)
    next: I64
    before_first: I64  # (n + 1,)
    before: I64
    group: I64  # (n,)
    code: Rows  # (n, 2)
    is_forward: bool


FOUND, EXHAUSTED, STOPPED = 1, 0, -1
BY_VALLEY, BY_HILL = 0, 1
"""Rules for the branch that comes first: it can end with the fewest bytes alive, or rises most above its end."""


class Budget(NamedTuple):
    """The question of a search, and its answer.

    Is there an order whose peak is at most `budget`, where `live` bytes are alive before the first macro in the
    direction of the search? Segments begin up to `depth` deep inside each other. `rule` says which branch comes first;
    with a `seed` above 0, by chance among similar ones. The search ends when flag[0] is set, or after `node_limit`
    nodes.
    """

    live: int
    budget: int
    depth: int
    rule: int
    seed: int
    node_limit: int
    order: I64  # (n,): filled, in the direction of the search, where one is found
    answer: I64  # (2,): nodes, and the least peak that was refused
    flag: I64  # (1,)


search_order = LIBRARY.kernel("search_order", tables=2)
"""`search_order(moves, budget)`: search for an order within a budget; return the outcome.

FOUND: `order` holds it. EXHAUSTED: there is none, nor is there one under any budget below answer[1]. STOPPED: by the
limit or the flag.
"""


CUT, CUT_STOPPED = 1, -1


class Network(NamedTuple):
    """A flow network of n nodes: a node that is chosen must have all nodes that its arcs lead to.

    `gain[v]` and `price[v]` are what choosing node v brings and costs; the flow uses them up. Arc k leads to `to[k]`
    and can take `rest[k]` more; `back[k]` is the arc the other way. Only nodes with `is_open` count. On return the
    nodes with `level[v] >= 0` are the smallest best choice.
    """

    first: I64  # (n + 1,)
    to: I64
    back: I64
    rest: I64
    gain: I64  # (n,)
    price: I64  # (n,)
    is_open: Flags  # (n,)
    level: I64  # (n,)
    flag: I64  # (1,)


close_cheaply = LIBRARY.kernel("close_cheaply", tables=1)
"""`close_cheaply(network)`: find the choice that brings most, less what it costs.

Returns CUT, or CUT_STOPPED where flag[0] was set.
"""


FOLLOWED, FOLLOW_STOPPED = 1, -1


class Follow(NamedTuple):
    """A known order within a budget, and the order to stay near, both in the direction of the search.

    `live` bytes are alive before the first operation. near[v] is the place of operation v in the order to stay near.
    After `work` operations run, what is left runs as known.
    """

    live: int
    budget: int
    work: int
    order: I64  # (n,)
    near: I64  # (n,)
    followed: I64  # (n,): filled
    flag: I64  # (1,)


follow_order = LIBRARY.kernel("follow_order", tables=2)
"""`follow_order(moves, follow)`: at each place comes, within the budget, what is first in the order to stay near.

Returns FOLLOWED, or FOLLOW_STOPPED where flag[0] was set.
"""


REPLAYED, REPLAY_STOPPED = 1, -1


class Program(NamedTuple):
    """n operations and m tensors, and the stays of the tensors.

    Operation v uses the tensors input[input_first[v]:input_first[v + 1]], each once, makes output[output_first[v]:...]
    and waits for before[before_first[v]:...]. Where `is_again`, it may run again until one of
    behind[behind_first[v]:...] has run. The uses of tensor t end its stays stay_first[t]:stay_first[t + 1], the last
    of which nothing ends. `maker` is -1 for a tensor that is given; one with `is_there` 0 takes no bytes before it is
    made.
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
    stay_first: I64  # (m + 1,)
    tensor: I64  # by stays
    end: I64  # by stays: the operation that ends it, or n


class Replay(NamedTuple):
    """Drops to try in an order of the operations, and what comes of each.

    Try k changes the stays change[change_first[k]:change_first[k + 1]]. `drop[s]` says of each stay how the tensor is
    dropped in it: see `Drop` in replay.hpp. Filled: `peak[k]`, `cost[k]` (of what runs again) and `excess[k]` (the
    bytes above `budget`, summed over the steps) of each try; -1 for a peak where more than len(run) steps would be
    needed. `run[:answer[0]]` are the operations of the last try as they run; answer[1] counts the steps of all.
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


replay_drops = LIBRARY.kernel("replay_drops", tables=2)
"""`replay_drops(program, replay)`: try each change of the drops by itself.

Returns REPLAYED, or REPLAY_STOPPED where flag[0] was set.
"""


ANNEALED, ANNEAL_STOPPED = 1, -1


class Annealing(NamedTuple):
    """An order and drops to change by chance, and the cheapest programs that come of it.

    The search is for programs within `budget`, during `steps` steps of programs, from a temperature that is `heat`
    times the cost of what runs again. Those stays `stay` may be dropped, and `begin` is where each begins in
    the order 0, 1, ... For each of the rising bytes `mark`, `cost` and `peak` are of the cheapest
    program above the mark before and within this one, with the rows of `orders` and `drops`.
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


anneal = LIBRARY.kernel("anneal", tables=2)
"""`anneal(program, annealing)`: change an order and drops by chance, ever more seldom for the worse.

Returns ANNEALED, or ANNEAL_STOPPED where flag[0] was set.
"""


MOST_IN_STATE = 128
"""The most operations, and the most tensors, of a graph whose states are searched."""
LEAST, NONE = 1, 0


class Reruns(NamedTuple):
    """n operations and m tensors, of which operations may run again in any order.

    Operation v needs the tensors input[input_first[v]:input_first[v + 1]] in memory, and makes output[...] anew. It
    waits for the first run of before[...], and, where `is_again`, may run again until one of behind[...] has run.
    `maker` is -1 for a tensor that is given; one with `is_there` 0 takes no bytes.
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


class LeastRuns(NamedTuple):
    """The question for the runs of least cost within `budget` bytes that cost at most `most`, and its answer.

    The search ends when flag[0] is set, or with `node_limit` states.
    """

    budget: int
    most: int
    node_limit: int
    run: I64  # filled
    answer: I64  # (4,): steps of the run, the cost of what runs again, what no runs cost less than, states
    flag: I64  # (1,)


least_work = LIBRARY.kernel("least_work", tables=2)
"""`least_work(reruns, least_runs)`: search all states, those first that may be part of the cheapest runs.

LEAST: run[:answer[0]] are runs of least cost. NONE: none cost at most `most`; where answer[2] is 2^60, none are within
the budget at any cost. STOPPED: by the limit or the flag; answer[2] holds.
"""
