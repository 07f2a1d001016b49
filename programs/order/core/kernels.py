"""The tables that pass data to the compiled searches for orders of operations; the C++ files are in this folder."""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.programs.order.core import LIBRARY
from memplan.solvers.core.tables import Flags, Rows


class Moves(NamedTuple):
    """The n macros (fixed sequences of operations) of a part in one direction: forward, or backward from the end.

    Macro v has the steps step_first[v]:step_first[v + 1]. While step j runs, `hill[j]` more bytes are alive. After it,
    `net[j]` more are alive, minus the bytes of those tensors in free[free_first[j]:free_first[j + 1]] whose other
    readers have all run. These lists omit a tensor if it has one reader, or if one of its readers must run before
    another. The readers of tensor t are reader[reader_first[t]:reader_first[t + 1]]. The macros next[next_first[v]:...]
    wait for v, and v waits for before[before_first[v]:...], both in the direction of the search. If outputs of step j
    may overwrite inputs, it has the choices over_first[j]:over_first[j + 1]. Choice c has the tensors
    over[input_first[c]:input_first[c + 1]]. If the tensors in the bit set b have no other remaining reader,
    gain[gain_first[c] + b] fewer bytes are alive while the step runs. `group` and `code` define the key of a state, a
    sum over groups of sums over macros. Macros that differ only in their names may have equal codes.
    """

    step_first: I64  # (n + 1,): start of each macro's steps, then the end of the last macro's steps
    hill: I64
    net: I64
    free_first: I64
    free: I64
    size: I64  # (m,): bytes of each tensor
    reader_first: I64  # (m + 1,): start of each tensor's readers, then the end of the last tensor's readers
    reader: I64
    over_first: I64
    input_first: I64
    over: I64
    gain_first: I64
    gain: I64
    next_first: I64  # (n + 1,): start of the macros that wait for each macro, then the end of the last entries
    next: I64
    before_first: I64  # (n + 1,): start of the macros for which each macro waits, then the end of the last entries
    before: I64
    group: I64  # (n,): group of each macro, for the keys of states
    code: Rows  # (n, 2): code of each macro in two 64-bit halves, for the keys of states
    is_forward: bool


FOUND, EXHAUSTED, STOPPED = 1, 0, -1
BY_VALLEY, BY_HILL = 0, 1
"""Branching rules: first try the macro that can end with the fewest live bytes, or that rises most above its end."""


class Budget(NamedTuple):
    """The input and output of a search for an order whose peak is at most `budget` bytes.

    `live` bytes are alive before the first macro in the direction of the search. Segments (forced sequences of macros)
    nest at most `depth` deep. `rule` determines which branch is tried first; a `seed` above 0 chooses at random among
    similar branches. The search ends after `node_limit` states, or once another thread sets flag[0].
    """

    live: int
    budget: int
    depth: int
    rule: int
    seed: int
    node_limit: int
    order: I64  # (n,): output, the order that was found, in the direction of the search
    answer: I64  # (2,): output, number of visited states, and lowest peak above the budget
    flag: I64  # (1,): flag that another thread sets to stop the search


search_order = LIBRARY.kernel("search_order", tables=2)
"""`search_order(moves, budget)`: search for an order within a budget; return how the search ended.

FOUND: `order` has the order. EXHAUSTED: no order has a peak below answer[1]. STOPPED: the limit or the flag ended it.
"""


CUT, CUT_STOPPED = 1, -1


class Network(NamedTuple):
    """A flow network of n nodes for a closure problem: choosing a node requires all nodes to which its arcs lead.

    `gain[v]` and `price[v]` are the benefit and the cost of choosing node v; the flow reduces them. Arc k leads to
    `to[k]`, with the remaining capacity `rest[k]`; `back[k]` is its reverse arc. Only nodes with `is_open` count. On
    return, the nodes with `level[v] >= 0` are the smallest optimal choice.
    """

    first: I64  # (n + 1,): start of each node's arcs, then the end of the last node's arcs
    to: I64
    back: I64
    rest: I64
    gain: I64  # (n,): benefit of choosing each node
    price: I64  # (n,): cost of choosing each node
    is_open: Flags  # (n,): True for each node that takes part in the problem
    level: I64  # (n,): output, number of at least 0 for each chosen node, below 0 for the others
    flag: I64  # (1,): flag that another thread sets to stop the search


close_cheaply = LIBRARY.kernel("close_cheaply", tables=1)
"""`close_cheaply(network)`: find the closed set of nodes with the largest total of gains minus prices.

Return CUT, or CUT_STOPPED if another thread set flag[0].
"""


FOLLOWED, FOLLOW_STOPPED = 1, -1


class Follow(NamedTuple):
    """A search for an order near a preferred order, within a peak budget, by changes of a known order.

    All orders are in the search direction. `live` bytes are alive before the first operation. near[v] is the position
    of operation v in the preferred order. After `work` steps of search, the remaining operations run in the known
    order.
    """

    live: int
    budget: int
    work: int
    order: I64  # (n,): operations in the known order
    near: I64  # (n,): position of each operation in the order to approach
    followed: I64  # (n,): output, operations in the resulting order
    flag: I64  # (1,): flag that another thread sets to stop the search


follow_order = LIBRARY.kernel("follow_order", tables=2)
"""`follow_order(moves, follow)`: at each position, run the first operation of the order to approach that fits.

Return FOLLOWED, or FOLLOW_STOPPED if another thread set flag[0].
"""
